//! Changes of files that other tools write or take, line by line and byte by byte: job files of fio, and rows.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use bakeoff_workloads::RowsFile;
use flate2::Compression;
use flate2::write::GzEncoder;
use rand::RngExt;

use super::fuzz::{self, Extent, NUMBERS, Random, TEXTS, one};

const SEEDS: u64 = 1_000;

#[test]
#[ignore = "slow: make test-slow"]
fn no_change_of_a_foreign_file_is_too_much() {
    changed(
        "untrusted::foreign_files::no_change_of_a_foreign_file_is_too_much",
        Extent::Seeds(SEEDS),
    );
}

#[test]
#[ignore = "soak: about 10 min"]
fn no_change_of_a_foreign_file_is_too_much_soak() {
    changed("untrusted::foreign_files::no_change_of_a_foreign_file_is_too_much_soak", Extent::Soak);
}

/// Lines of job files: settings given twice in other words, comments, forms that bakeoff does not take, further jobs.
const JOB: &str = "[global]|[job] ; name|[other]|[global2]|[job|rw=randrw|readwrite=read ; why|rwmixread=70|\
    rwmixwrite=70|bs=4k # pages|blocksize=64k|bs=4KiB|bs=0x1000|bs=4k,8k|size=64m|size=64MiB|size=80%|size=1.5g|\
    runtime=1|timeout=1M|runtime=1500ms|direct=1|buffered=1|numjobs=2|nrfiles=3|nr_files=0x2|iodepth=1k|\
    ioengine=io_uring|fsync=1|sync=dsync|stonewall|wait_for_previous=0|rate_iops=100,50|verify=md5|include x|bs=${B}";

/// Files of rows, and their names.
const ROWS: [(&str, &[u8]); 5] = [
    ("odd.tsv", b"Ape\tAn ape.\nBee\tA bee.\n"),
    ("odd.tsv", b"title\ttext\nApe\tAn ape.\n"),
    ("odd.csv", b"title, text\nApe,\"An \"\"ape\"\"\"\n"),
    ("odd.csv", b"Ape,An ape\n"),
    ("odd.jsonl", b"{\"title\": \"Ape\", \"text\": \"An ape\"}\n"),
];

/// What stands in files that hold no rows, or others.
const ODD: [&[u8]; 12] = [
    b"\xfd7zXZ\0\0\x04",
    b"BZh91AY&SY",
    b"PK\x03\x04\x14\0",
    b"\xff\xfeA\0\t\0b\0",
    b"\x28\xb5\x2f\xfd\x00\x90\x01\x00\x00",
    b"\x50\x2a\x4d\x18\x03\0\0\0\x07\x07\x07",
    b"\0\0\0\0",
    b"\x1f\x8b",
    b"title,text,text\n",
    b"\\u0000",
    b"[\"Ape\", \"An ape\"]\n",
    b"\"\t,\n",
];

fn changed(test: &str, extent: Extent) {
    fuzz::run(test, extent, |random, folder| {
        // A command takes longer than the reading of rows.
        if random.random_bool(0.1) { plan_job(random, folder) } else { read_rows(random, folder) }
    });
}

fn plan_job(random: &mut Random, folder: &Path) -> &'static str {
    let all: Vec<&str> = JOB.split('|').collect();
    let mut lines: Vec<String> =
        "[j]\nrw=randread\nsize=64m\nruntime=1".lines().map(str::to_owned).collect();
    for _ in 0..random.random_range(0..4) {
        let line = match random.random_range(0..8) {
            0 => format!(
                "{}={}",
                one(random, &["bs", "size", "numjobs", "rwmixread"]),
                one(random, NUMBERS)
            ),
            1 => format!("{}={}", one(random, &["rw", "runtime", "direct"]), one(random, TEXTS)),
            _ => one(random, &all).to_owned(),
        };
        lines.insert(random.random_range(0..=lines.len()), line);
    }
    let mut bytes = lines.join("\n").into_bytes();
    change_bytes(random, &mut bytes);
    fs::write(folder.join("odd.fio"), &bytes).unwrap();
    let mut plan = Command::new(env!("CARGO_BIN_EXE_bakeoff"));
    let done = plan.args(["run", "odd.fio", "--dry-run"]).current_dir(folder).output().unwrap();
    let said = String::from_utf8(done.stderr).expect("UTF-8");
    match done.status.code() {
        Some(0) => "planned",
        // No file can be larger than the disk.
        Some(4) => "too large",
        Some(2) if said.contains("error: ") => "refused",
        code => panic!("{code:?}: {said}"),
    }
}

fn read_rows(random: &mut Random, folder: &Path) -> &'static str {
    let (name, rows) = one(random, &ROWS);
    let mut bytes = rows.repeat(random.random_range(1..4));
    if random.random_bool(0.5) {
        let at = random.random_range(0..=bytes.len());
        drop(bytes.splice(at..at, one(random, &ODD).iter().copied()));
    }
    if random.random_bool(0.3) {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&bytes).unwrap();
        bytes = gzip.finish().unwrap();
        bytes.extend_from_slice(one(random, &[&b""[..], b"", b"\0\0\0", b"more"]));
    }
    change_bytes(random, &mut bytes);
    let path = folder.join(name);
    fs::write(&path, &bytes).unwrap();
    match RowsFile::survey(&path) {
        Ok(file) => {
            assert!(file.describe(&[]).contains("rows from"));
            "read"
        }
        Err(error) => {
            assert!(error.to_string().contains("odd."), "{error}");
            "refused"
        }
    }
}

fn change_bytes(random: &mut Random, bytes: &mut Vec<u8>) {
    if random.random_bool(0.3) && !bytes.is_empty() {
        let at = random.random_range(0..bytes.len());
        bytes[at] = random.random();
    }
    if random.random_bool(0.1) {
        bytes.truncate(random.random_range(0..=bytes.len()));
    }
}
