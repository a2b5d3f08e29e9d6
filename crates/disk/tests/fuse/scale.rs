//! Many at once.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::Duration;

use bakeoff_testkit::{Since, wait_until};

use crate::common::Disk;
use crate::reality::{self, Way};

const THREADS: usize = 8;

#[test]
fn threads_write_one_file_each_in_its_own_places() {
    let Some(disk) = Disk::mount("null") else { return };
    File::create(disk.path("shared")).unwrap();
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let path = disk.path("shared");
            scope.spawn(move || {
                let file = reality::open(&path, Way::Direct).unwrap();
                for n in 0..100 {
                    let offset = (n * THREADS + thread) * 4096;
                    reality::write(&file, Way::Direct, offset, &[thread as u8 + 1; 4096]).unwrap();
                }
            });
        }
    });
    let data = fs::read(disk.path("shared")).unwrap();
    assert_eq!(data.len(), 100 * THREADS * 4096);
    for (n, page) in data.chunks(4096).enumerate() {
        assert!(page.iter().all(|byte| usize::from(*byte) == n % THREADS + 1), "page {n}");
    }
}

#[test]
fn threads_make_and_move_and_remove_files() {
    let Some(disk) = Disk::mount("null") else { return };
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let disk = &disk;
            scope.spawn(move || {
                for n in 0..100 {
                    let (new, old) = (format!("{thread}-{n}"), format!("{thread}"));
                    fs::write(disk.path(&new), &new).unwrap();
                    fs::rename(disk.path(&new), disk.path(&old)).unwrap();
                    assert_eq!(fs::read_to_string(disk.path(&old)).unwrap(), new);
                    assert!(fs::read_dir(disk.path("")).unwrap().count() <= 2 * THREADS);
                }
                fs::remove_file(disk.path(format!("{thread}"))).unwrap();
            });
        }
    });
    assert_eq!(fs::read_dir(disk.path("")).unwrap().count(), 0);
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
