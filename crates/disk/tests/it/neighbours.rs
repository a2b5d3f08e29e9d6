//! Neighbours at work on the disk that this is built on: what they do, and in what order. How fast
//! they are is in `benches/disk`.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use bakeoff_devices::neighbour::{MOST_STREAMS, NeighbourLevel};
use bakeoff_disk::neighbour::{
    Error, LEAST_BYTES, NeighbourFile, RunningNeighbours, measure_alone,
};
use bakeoff_testkit::{PATIENCE, Since, wait_until};
use tempfile::TempDir;

/// There is one disk that all is built on, and one list of this process's files.
pub static ALONE: Mutex<()> = Mutex::new(());

/// A folder on the disk that is built on: the system's temporary one may have none.
fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn prepare(folder: &TempDir) -> NeighbourFile {
    NeighbourFile::prepare(folder.path(), LEAST_BYTES).unwrap()
}

/// Neighbours that have done at least so many requests.
fn at_work(
    file: &NeighbourFile,
    level: NeighbourLevel,
    alone_rate: f64,
    requests: u64,
) -> RunningNeighbours {
    let neighbours = RunningNeighbours::start(file, level, alone_rate, 42);
    let start = neighbours.snapshot();
    let done = || neighbours.snapshot().since(&start);
    wait_until("their requests", || done().requests >= requests || done().error.is_some());
    neighbours
}

#[test]
fn streams_read_and_write_by_halves_and_touch_nothing_else() {
    let _alone = ALONE.lock();
    let folder = folder();
    let other = folder.path().join("somebody's");
    fs::write(&other, "untouched").unwrap();
    let before = fs::metadata(&other).unwrap();
    let file = prepare(&folder);
    assert_eq!(file.bytes().unwrap(), LEAST_BYTES);
    let neighbours = at_work(&file, NeighbourLevel::Streams(2), 0.0, 100);
    let first = neighbours.snapshot();
    wait_until("more requests", || neighbours.snapshot().since(&first).requests > 10);
    let (between, report) = (neighbours.snapshot().since(&first), neighbours.finish());

    assert_eq!((&report.error, report.intended_per_second, report.late), (&None, None, 0));
    assert_eq!(report.requests, report.reads + report.writes);
    assert!(between.requests > 10 && between.requests + 100 <= report.requests, "{report:?}");
    assert!(between.seconds > 0.0 && between.seconds < report.seconds, "{between:?} {report:?}");
    let none = first.since(&first);
    assert_eq!((none.requests, none.achieved_per_second), (0, 0.0));
    // Five standard deviations of a fair coin.
    let (share, requests) = (report.reads as f64 / report.requests as f64, report.requests as f64);
    assert!((share - 0.5).abs() < 2.5 / requests.sqrt(), "{report:?}");
    assert!((report.achieved_per_second * report.seconds / requests - 1.0).abs() < 1e-9);
    // Two closed streams never wait for more than two requests: Little's law.
    let busy = report.mean_s * report.achieved_per_second;
    assert!(busy > 0.0 && busy <= 2.01, "{busy}: {report:?}");

    assert_eq!(file.bytes().unwrap(), LEAST_BYTES);
    let after = fs::metadata(&other).unwrap();
    assert_eq!(fs::read_to_string(&other).unwrap(), "untouched");
    assert_eq!((before.mtime_nsec(), before.ino()), (after.mtime_nsec(), after.ino()));
    // Its own has no name, not even while it is there.
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(names, [other]);
}

#[test]
fn a_share_is_meant_to_be_that_share_of_one_stream_alone() {
    let _alone = ALONE.lock();
    let folder = folder();
    let file = prepare(&folder);
    let alone = measure_alone(&file, Duration::from_secs(1)).unwrap();
    let report = at_work(&file, NeighbourLevel::Share(0.25), alone, 20).finish();
    assert!(report.intended_per_second.is_some_and(|rate| (rate / alone - 0.25).abs() < 1e-9));
    assert_eq!(report.error, None);
}

#[test]
fn one_that_is_due_earlier_than_the_disk_can_is_late_and_not_left_out() {
    let _alone = ALONE.lock();
    let folder = folder();
    let file = prepare(&folder);
    // No disk does a hundred million requests a second: all that are done are due near the start.
    let neighbours = at_work(&file, NeighbourLevel::Share(1.0), 1e8, 100);
    let since = Since::now();
    wait_until("a tenth of a second's end", || since.at_least(Duration::from_millis(150)));
    let first = neighbours.snapshot();
    let between = || neighbours.snapshot().since(&first);
    wait_until("more requests", || between().requests > 50);
    let report = between();
    assert!(report.late > report.requests / 2 && report.error.is_none(), "{report:?}");
    // Latency counts from when a request was due.
    assert!(report.mean_s > 0.1, "{report:?}");
    assert!(report.achieved_per_second < 1e7, "{report:?}");
}

/// Open files of this process that lie in a folder, with the blocks of 512 bytes that they have.
fn open_in(folder: &Path) -> Vec<u64> {
    let here = fs::canonicalize(folder).unwrap();
    let descriptors = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let ours =
        descriptors.filter(|it| fs::read_link(it.path()).is_ok_and(|to| to.starts_with(&here)));
    ours.filter_map(|it| fs::metadata(it.path()).ok()).map(|it| it.blocks()).collect()
}

#[test]
fn the_file_goes_with_the_last_who_uses_it() {
    let _alone = ALONE.lock();
    let folder = folder();
    let file = prepare(&folder);
    let neighbours = RunningNeighbours::start(&file, NeighbourLevel::Streams(1), 0.0, 1);
    let blocks = open_in(folder.path());
    assert!(blocks.len() == 1 && blocks[0] >= LEAST_BYTES / 512, "not sparse: {blocks:?}");
    drop(file);
    let start = neighbours.snapshot();
    wait_until("a request", || neighbours.snapshot().since(&start).requests > 0);
    assert_eq!(neighbours.finish().error, None);
    assert!(open_in(folder.path()).is_empty());
}

#[test]
fn a_folder_in_memory_or_nowhere_is_refused() {
    let error = |folder: &Path| NeighbourFile::prepare(folder, LEAST_BYTES).unwrap_err();
    let memory = Path::new("/dev/shm");
    let refused = error(memory);
    assert!(matches!(&refused, Error::NotDirect(folder) if folder == memory), "{refused:?}");
    assert!(refused.to_string().contains("/dev/shm"), "{refused}");
    let missing = error(&folder().path().join("missing"));
    assert!(matches!(missing, Error::Io { .. }), "{missing:?}");
    assert!(missing.to_string().contains("missing"), "{missing}");
}

#[test]
fn stopping_waits_for_no_arrival_at_any_level() {
    let _alone = ALONE.lock();
    let folder = folder();
    let file = prepare(&folder);
    // At one arrival in an hour all threads wait.
    for level in
        [NeighbourLevel::None, NeighbourLevel::Streams(MOST_STREAMS), NeighbourLevel::Share(0.25)]
    {
        let works = level == NeighbourLevel::Streams(MOST_STREAMS);
        let neighbours = at_work(&file, level, 4.0 / 3600.0, u64::from(works));
        thread::sleep(Duration::from_millis(50));
        let (told, heard) = mpsc::channel();
        thread::spawn(move || drop(told.send(neighbours.finish())));
        let report = heard.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{level} goes on"));
        assert_eq!(report.error, None);
        assert_eq!(report.requests > 0, works, "{level}");
    }
}
