//! The file system without a device against bindfs, which only hands on, too.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use bakeoff_disk::mount::{MountOptions, Mounted};
use bakeoff_testkit::wait_until;

use crate::fio::Job;
use crate::pairs::{self, Limit, Pairs};
use crate::{Bench, Table, launcher, write_file};

/// How often each takes its turn.
const TURNS: usize = 5;
/// Bytes of the file that is read and written.
const SIZE: u64 = 256 << 20;
/// Files that are made and removed in a turn.
const NAMES: usize = 2000;
/// Where files lie in memory.
const MEMORY: &str = "/dev/shm";

/// What is done on both, by name: fio's words, or none for making and removing files.
type Speed<'a> = (&'a str, &'a [&'a str]);

const NAMING: Speed<'_> = ("create and unlink", &[]);
const DATA: [Speed<'_>; 6] = [
    ("random read, depth 1", &["rw=randread", "bs=4k", "ioengine=libaio", "iodepth=1"]),
    ("random read, depth 16", &["rw=randread", "bs=4k", "ioengine=libaio", "iodepth=16"]),
    ("random write, depth 1", &["rw=randwrite", "bs=4k", "ioengine=libaio", "iodepth=1"]),
    ("random write, depth 16", &["rw=randwrite", "bs=4k", "ioengine=libaio", "iodepth=16"]),
    ("sequential read, 1 MiB", &["rw=read", "bs=1m", "ioengine=psync"]),
    ("sequential write, 1 MiB", &["rw=write", "bs=1m", "ioengine=psync"]),
];

/// Runs each job on both, in turns, on files of the disk and on files in memory.
///
/// Names are made and removed in memory only: how fast a disk's file system finds a free inode
/// depends on what was removed before, and so on whose turn it was. An ext4 without a journal
/// passes over all that were removed in the last minutes, one by one.
pub(crate) fn against_bindfs(bench: &Bench, table: &mut Table) {
    pairs::heading("null, direct, a second", "bindfs");
    let seconds = bench.seconds / 15.0;
    compare("disk", &bench.place.join("speed"), seconds, &DATA, table);
    let memory = tempfile::tempdir_in(MEMORY).expect("a folder in memory");
    let all: Vec<Speed<'_>> = DATA.into_iter().chain([NAMING]).collect();
    compare("memory", memory.path(), seconds, &all, table);
}

/// Runs jobs on both over files in `place`. What counts are the turns' ratios: a machine changes its pace during a
/// run, above all by which processors a client and the one who answers it run on.
fn compare(kind: &str, place: &Path, seconds: f64, jobs: &[Speed<'_>], table: &mut Table) {
    let folder = |name: &str| {
        let path = place.join(name);
        fs::create_dir_all(&path).expect("a folder");
        path
    };
    let backings = [folder("files"), folder("their-files")];
    for backing in &backings {
        write_file(&backing.join("data"), SIZE);
    }
    let both = [ours(&backings[0], &folder("null")), theirs(&backings[1], &folder("bindfs"))];
    for (name, words) in jobs {
        let mut figures = Pairs::default();
        for turn in 0..TURNS {
            let [ours, theirs] = both.each_ref().map(|it| || speed(it.path(), words, seconds));
            figures.add(pairs::turns(turn, theirs, ours));
        }
        let least = Limit::Least { ratio: 1.0, low: None };
        table.good &= figures.row(&format!("{name}, {kind}"), least);
    }
}

/// What a job reaches in a folder, a second.
fn speed(folder: &Path, words: &[&str], seconds: f64) -> f64 {
    if words.is_empty() {
        return names(folder);
    }
    let words = [words, &["direct=1"]].concat();
    Job { folder, file: "data", size: SIZE, seconds, words: &words }.run().per_second
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
    let mounted = Mounted::start(&launcher(), &options);
    Hands::Ours(mounted.unwrap_or_else(|error| panic!("{error}")))
}

fn theirs(backing: &Path, at: &Path) -> Hands {
    let mut bindfs = Command::new("bindfs");
    let daemon = bindfs.arg("-f").arg(backing).arg(at).stdin(Stdio::null()).spawn();
    let daemon = daemon.expect("bindfs starts");
    wait_until("the mount of bindfs", || at.join("data").exists());
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
