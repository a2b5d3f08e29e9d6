//! The memory that a disk's daemon takes, which is a process of its own.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use bakeoff_disk::mount::Mounted;

use super::{launcher, options, place};

const FILES: u64 = 256;

/// Bytes of backing files; `BAKEOFF_BACKING_GB` sets another number of gigabytes.
fn total() -> u64 {
    std::env::var("BAKEOFF_BACKING_GB").map_or(1, |gb| gb.parse::<u64>().unwrap()) * 1_000_000_000
}

/// Bytes of memory that a process takes, without the files it maps.
fn memory(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

pub fn large_files_take_little_memory() {
    let place = place();
    let size = (total() / FILES).next_multiple_of(1 << 20);
    let name = |n: u64| format!("file{n}");
    for n in 0..FILES {
        let file = File::create(place.path().join("b").join(name(n))).unwrap();
        file.write_all_at(&[1; 4096], size - 4096).unwrap();
    }
    let mounted = Mounted::start(&launcher(), &options(place.path(), "null")).unwrap();
    let mut room = vec![0u8; (1 << 20) + 4096];
    let at = room.as_ptr().align_offset(4096);
    for n in 0..FILES {
        let path = mounted.path().join(name(n));
        assert_eq!(fs::metadata(&path).unwrap().len(), size);
        let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
        let file = File::options().read(true).custom_flags(direct).open(&path).unwrap();
        for offset in (0..size).step_by(1 << 20) {
            file.read_exact_at(&mut room[at..at + (1 << 20)], offset).unwrap();
        }
        assert_eq!(room[at + (1 << 20) - 1], 1);
    }
    let stat = mounted.control().stat().unwrap();
    assert_eq!(stat.pending_bytes, 0);
    let megabytes = memory(stat.pid) >> 20;
    assert!(megabytes <= 64, "{megabytes} MB");
    println!("{megabytes} MB after {} GB", FILES * size / 1_000_000_000);
    mounted.unmount().unwrap();
}
