//! The file system without a device against bindfs, which only hands on, too; and the daemon's
//! memory.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bakeoff_disk::mount::{MountOptions, Mounted};

use crate::fio::Job;
use crate::{BAKEOFF, Bench, Row, Table, write_file};

/// How often each takes its turn.
const TURNS: usize = 5;
/// Bytes of the file that is read and written.
const SIZE: u64 = 256 << 20;
/// Files that are made and removed in a turn.
const NAMES: usize = 2000;

/// Runs each job on both, in turns, and holds the medians against each other.
pub(crate) fn against_bindfs(bench: &Bench, table: &mut Table) {
    let (place, seconds) = (bench.place.join("speed"), bench.seconds);
    let (backing, null, bindfs) = (place.join("files"), place.join("null"), place.join("bindfs"));
    for folder in [&backing, &null, &bindfs] {
        fs::create_dir_all(folder).expect("a folder");
    }
    write_file(&backing.join("data"), SIZE);
    let jobs: [(&str, &[&str]); 6] = [
        ("random read, depth 1", &["rw=randread", "bs=4k", "ioengine=libaio", "iodepth=1"]),
        ("random read, depth 16", &["rw=randread", "bs=4k", "ioengine=libaio", "iodepth=16"]),
        ("random write, depth 1", &["rw=randwrite", "bs=4k", "ioengine=libaio", "iodepth=1"]),
        ("random write, depth 16", &["rw=randwrite", "bs=4k", "ioengine=libaio", "iodepth=16"]),
        ("sequential read, 1 MiB", &["rw=read", "bs=1m", "ioengine=psync"]),
        ("sequential write, 1 MiB", &["rw=write", "bs=1m", "ioengine=psync"]),
    ];
    // Each job and file system; the last job makes and removes files.
    let mut figures = vec![[Vec::new(), Vec::new()]; jobs.len() + 1];
    for turn in 0..TURNS {
        for side in if turn % 2 == 0 { [0, 1] } else { [1, 0] } {
            let mounted = if side == 0 { ours(&backing, &null) } else { theirs(&backing, &bindfs) };
            for (figures, (_, words)) in figures.iter_mut().zip(&jobs) {
                let words = [*words, &["direct=1"]].concat();
                let seconds = seconds / 7.5;
                let folder = mounted.path();
                let job = Job { folder, file: "data", size: SIZE, seconds, words: &words };
                figures[side].push(job.run().per_second);
            }
            figures[jobs.len()][side].push(names(mounted.path()));
        }
    }
    println!(
        "\n{:<46} {:>10} {:>10}  {:<12} expected",
        "null, direct, against bindfs, a second", "null", "bindfs", "times"
    );
    let name = ["create and unlink"];
    for (name, [ours, theirs]) in jobs.iter().map(|job| job.0).chain(name).zip(figures) {
        let (ours, theirs) = (median(ours), median(theirs));
        let ok = ours >= theirs;
        let word = if ok { "ok" } else { "MISSED" };
        println!(
            "{name:<46} {ours:>10.0} {theirs:>10.0}  {:<12.2} {:<14} {word}",
            ours / theirs,
            "≥ 1"
        );
        table.good &= ok;
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// A file system that is mounted until this is dropped.
enum Hands {
    Ours(Mounted),
    Theirs(PathBuf, Child),
}

impl Hands {
    fn path(&self) -> &Path {
        match self {
            Self::Ours(mounted) => mounted.path(),
            Self::Theirs(path, _) => path,
        }
    }
}

impl Drop for Hands {
    fn drop(&mut self) {
        if let Self::Theirs(path, daemon) = self {
            let _ = Command::new("fusermount3").arg("-u").arg(path).status();
            let _ = daemon.wait();
        }
    }
}

fn ours(backing: &Path, at: &Path) -> Hands {
    let options = MountOptions::new(backing, at, "null");
    let mounted = Mounted::start(Path::new(BAKEOFF), &options);
    Hands::Ours(mounted.unwrap_or_else(|error| panic!("{error}")))
}

fn theirs(backing: &Path, at: &Path) -> Hands {
    let mut bindfs = Command::new("bindfs");
    let daemon = bindfs.arg("-f").arg(backing).arg(at).stdin(Stdio::null()).spawn();
    let daemon = daemon.expect("bindfs starts");
    let start = Instant::now();
    while !at.join("data").exists() {
        assert!(start.elapsed() < Duration::from_secs(10), "bindfs does not mount");
        std::thread::sleep(Duration::from_millis(10));
    }
    Hands::Theirs(at.to_owned(), daemon)
}

/// Files a second that are made and removed again.
fn names(folder: &Path) -> f64 {
    let start = Instant::now();
    for number in 0..NAMES {
        let path = folder.join(format!("file-{number}"));
        fs::File::create(&path).expect("a file");
        fs::remove_file(&path).expect("its end");
    }
    NAMES as f64 / start.elapsed().as_secs_f64()
}

/// Bytes of the files in the test of memory.
const FILES: u64 = 10 << 30;

/// The daemon's memory after 10 GB of files were looked at and read.
pub(crate) fn memory(bench: &Bench, table: &mut Table) {
    let backing = bench.place.join("large");
    fs::create_dir(&backing).expect("a folder");
    for number in 0..10 {
        // Sparse: their bytes are read as zeros, through the daemon all the same.
        let file = fs::File::create(backing.join(format!("file-{number}"))).expect("a file");
        file.set_len(FILES / 10).expect("a sparse file");
    }
    let disk = bench.mount("large", "null", "0");
    let mut buffer = vec![0; 1 << 20];
    for entry in fs::read_dir(disk.path()).expect("the files") {
        let path = entry.expect("a file").path();
        let length = fs::metadata(&path).expect("its size").len();
        let mut file = fs::File::open(path).expect("the file");
        let mut read = 0;
        while let count @ 1.. = file.read(&mut buffer).expect("its bytes") {
            read += count as u64;
        }
        assert_eq!(read, length);
    }
    let stat = disk.control().stat().expect("the daemon answers");
    table.section("memory of the daemon, MB");
    let achieved = Some((stat.memory_bytes - stat.pending_bytes) as f64 / 1e6);
    table.row(
        "10 GB of files read",
        &Row { modelled: None, achieved, published: "", limits: 0.0..=64.0 },
    );
}
