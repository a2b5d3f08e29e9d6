//! Many at once.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::Duration;

use bakeoff_testkit::{Since, wait_until};

use super::reality::{self, Way};
use crate::disk::{Disk, PAGE};

const THREADS: usize = 8;

#[test]
fn threads_write_one_file_and_make_move_and_remove_others() {
    let Some(disk) = Disk::mount("null") else { return };
    File::create(disk.path("shared")).unwrap();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let disk = &disk;
            scope.spawn(move || {
                let shared = reality::open(&disk.path("shared"), Way::Direct).unwrap();
                let old = thread.to_string();
                for n in 0..100 {
                    let offset = (n * THREADS + thread) * PAGE;
                    reality::write(&shared, Way::Direct, offset, &[thread as u8 + 1; PAGE])
                        .unwrap();
                    let new = format!("{thread}-{n}");
                    fs::write(disk.path(&new), &new).unwrap();
                    fs::rename(disk.path(&new), disk.path(&old)).unwrap();
                    assert_eq!(fs::read_to_string(disk.path(&old)).unwrap(), new);
                    assert!(fs::read_dir(disk.path("")).unwrap().count() <= 2 * THREADS + 1);
                }
                fs::remove_file(disk.path(&old)).unwrap();
            });
        }
    });
    assert_eq!(fs::read_dir(disk.path("")).unwrap().count(), 1);
    let data = fs::read(disk.path("shared")).unwrap();
    assert_eq!(data.len(), 100 * THREADS * PAGE);
    for (n, page) in data.chunks(PAGE).enumerate() {
        assert!(page.iter().all(|byte| usize::from(*byte) == n % THREADS + 1), "page {n}");
    }
}

#[test]
fn a_long_listing_is_whole_and_stays_so_while_files_go() {
    let Some(disk) = Disk::mount("null") else { return };
    for n in 0..3000 {
        File::create(disk.path(format!("a-name-of-some-length-{n}"))).unwrap();
    }
    let mut seen = 0;
    for entry in fs::read_dir(disk.path("")).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
        seen += 1;
    }
    assert_eq!(seen, 3000);
    assert_eq!(fs::read_dir(disk.path("")).unwrap().count(), 0);
}

#[test]
fn a_slow_disk_is_slow_and_a_queue_is_deep() {
    let Some(disk) = Disk::mount("hdd-7200") else { return };
    let path = disk.path("file");
    reality::write(&create(&path), Way::Buffered, 0, &vec![1; 4 << 20]).unwrap();
    let file = reality::open(&path, Way::Direct).unwrap();
    let read = |offset| {
        let mut room = vec![0u8; 8192];
        let at = room.as_ptr().align_offset(4096);
        file.read_exact_at(&mut room[at..at + 4096], offset).unwrap();
    };
    let offsets = (0..20).map(|n| n * 7919 % 1000 * 4096);
    file.sync_all().unwrap();
    let since = Since::now();
    let before = disk.executor.counts().busy_ns;
    offsets.clone().for_each(read);
    let alone = disk.executor.counts().busy_ns - before;
    assert!(alone > 40_000_000 && since.at_least(Duration::from_millis(40)), "{alone} ns");
    // Those of many threads wait in the disk's own queue, not before it.
    wait_until("a deep queue", || {
        thread::scope(|scope| {
            let reads = offsets.clone().map(|at| scope.spawn(move || read(at)));
            let reads: Vec<_> = reads.collect();
            let mut most = 0;
            while !reads.iter().all(thread::ScopedJoinHandle::is_finished) {
                most = most.max(disk.executor.counts().in_queue);
                thread::yield_now();
            }
            most >= 15
        })
    });
}

fn create(path: &std::path::Path) -> File {
    File::create_new(path).unwrap();
    reality::open(path, Way::Buffered).unwrap()
}
