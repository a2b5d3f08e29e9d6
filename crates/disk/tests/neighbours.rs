//! Neighbours at work on the disk that this is built on: what they do, and in what order. How fast
//! they are is in `benches/disk`.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::Duration;

use bakeoff_devices::neighbour::{MOST_STREAMS, NeighbourLevel};
use bakeoff_disk::neighbour::{
    Error, LEAST_BYTES, NeighbourFile, NeighbourReport, RunningNeighbours, measure_alone,
};
use bakeoff_testkit::{PATIENCE, Since, wait_until};
use tempfile::TempDir;

/// There is one disk, and one list of this process's files.
static ALONE: Mutex<()> = Mutex::new(());

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

fn run(
    file: &NeighbourFile,
    level: NeighbourLevel,
    alone_rate: f64,
    requests: u64,
) -> NeighbourReport {
    at_work(file, level, alone_rate, requests).finish()
}

#[test]
fn streams_read_and_write_by_halves() {
    let _alone = ALONE.lock();
    let folder = folder();
    let file = prepare(&folder);
    let report = run(&file, NeighbourLevel::Streams(2), 0.0, 100);
    assert_eq!((&report.error, report.intended_per_second, report.late), (&None, None, 0));
    assert_eq!(report.requests, report.reads + report.writes);
    assert!(report.requests >= 100, "{report:?}");
    // Five standard deviations of a fair coin.
    let (share, requests) = (report.reads as f64 / report.requests as f64, report.requests as f64);
    assert!((share - 0.5).abs() < 2.5 / requests.sqrt(), "{report:?}");
    assert!((report.achieved_per_second * report.seconds / requests - 1.0).abs() < 1e-9);
    // Two closed streams never wait for more than two requests: Little's law.
    let busy = report.mean_s * report.achieved_per_second;
    assert!(busy > 0.0 && busy <= 2.01, "{busy}: {report:?}");
}

#[test]
fn a_share_is_meant_to_be_that_share_of_one_stream_alone() {
    let _alone = ALONE.lock();
    let folder = folder();
    let file = prepare(&folder);
    let alone = measure_alone(&file, Duration::from_secs(1)).unwrap();
    let report = run(&file, NeighbourLevel::Share(0.25), alone, 20);
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

#[test]
fn snapshots_tell_what_was_done_between_them() {
    let _alone = ALONE.lock();
    let folder = folder();
    let neighbours = at_work(&prepare(&folder), NeighbourLevel::Streams(1), 0.0, 10);
    let first = neighbours.snapshot();
    thread::sleep(Duration::from_millis(20));
    wait_until("more requests", || neighbours.snapshot().since(&first).requests > 10);
    let second = neighbours.snapshot();
    let (between, whole) = (second.since(&first), neighbours.finish());
    assert!(between.seconds >= 0.02 && between.seconds < whole.seconds, "{between:?} {whole:?}");
    assert!(between.requests > 10, "{between:?}");
    assert!(between.requests + 10 <= whole.requests, "{between:?} {whole:?}");
    assert_eq!(first.since(&first).requests, 0);
    assert_eq!(first.since(&first).achieved_per_second, 0.0);
}

#[test]
fn the_file_is_written_in_full_and_its_streams_touch_nothing_else() {
    use std::os::unix::fs::MetadataExt as _;
    let _alone = ALONE.lock();
    let folder = folder();
    let other = folder.path().join("somebody's");
    fs::write(&other, "untouched").unwrap();
    let before = fs::metadata(&other).unwrap();
    let file = prepare(&folder);
    assert_eq!(file.bytes().unwrap(), LEAST_BYTES);
    let report = run(&file, NeighbourLevel::Streams(4), 0.0, 100);
    assert!(report.writes > 0);
    assert_eq!(file.bytes().unwrap(), LEAST_BYTES);
    let after = fs::metadata(&other).unwrap();
    assert_eq!(fs::read_to_string(&other).unwrap(), "untouched");
    assert_eq!((before.mtime_nsec(), before.ino()), (after.mtime_nsec(), after.ino()));
    // Its own has no name, not even while it is there.
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().path()).collect();
    assert_eq!(names, [other]);
}

/// Open files of this process that lie in a folder, with the blocks of 512 bytes that they have.
fn open_in(folder: &Path) -> Vec<u64> {
    use std::os::unix::fs::MetadataExt as _;
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
fn a_file_system_in_memory_is_refused() {
    let memory = Path::new("/dev/shm");
    let error = NeighbourFile::prepare(memory, LEAST_BYTES).unwrap_err();
    assert!(matches!(&error, Error::NotDirect(folder) if folder == memory), "{error:?}");
    assert!(error.to_string().contains("/dev/shm"), "{error}");
}

#[test]
fn a_folder_that_is_missing_is_named() {
    let folder = folder();
    let error = NeighbourFile::prepare(&folder.path().join("missing"), LEAST_BYTES).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error:?}");
    assert!(error.to_string().contains("missing"), "{error}");
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
