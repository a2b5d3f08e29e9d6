//! The memory that a mounted disk takes, in a process that does nothing else.

#[path = "fuse/common.rs"]
mod common;

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use common::Disk;

const FILES: u64 = 256;

/// Bytes of backing files; `BAKEOFF_BACKING_GB` sets another number of gigabytes.
fn total() -> u64 {
    std::env::var("BAKEOFF_BACKING_GB").map_or(1, |gb| gb.parse::<u64>().unwrap()) * 1_000_000_000
}

/// Bytes of memory that this process takes, without the files it maps.
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[test]
fn large_files_take_little_memory() {
    let Some(mut disk) = Disk::mount("null") else { return };
    let size = (total() / FILES).next_multiple_of(1 << 20);
    for n in 0..FILES {
        let file = File::create(disk.path(format!("file{n}"))).unwrap();
        file.write_all_at(&[1; 4096], size - 4096).unwrap();
    }
    disk.remount();
    let mut room = vec![0u8; (1 << 20) + 4096];
    let at = room.as_ptr().align_offset(4096);
    for n in 0..FILES {
        let path = disk.path(format!("file{n}"));
        assert_eq!(fs::metadata(&path).unwrap().len(), size);
        let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
        let file = File::options().read(true).custom_flags(direct).open(&path).unwrap();
        for offset in (0..size).step_by(1 << 20) {
            file.read_exact_at(&mut room[at..at + (1 << 20)], offset).unwrap();
        }
        assert_eq!(room[at + (1 << 20) - 1], 1);
    }
    assert_eq!(disk.volume.pending_bytes(), 0);
    let megabytes = memory() >> 20;
    assert!(megabytes <= 64, "{megabytes} MB");
    println!("{megabytes} MB after {} GB", FILES * size / 1_000_000_000);
}
