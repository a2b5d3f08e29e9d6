//! Neighbours at work on the disk that this is built on.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bakeoff_devices::neighbour::{Level, MOST_STREAMS};
use bakeoff_disk::neighbour::{Error, File, LEAST_BYTES, Neighbours, Report, measure_alone};
use tempfile::TempDir;

/// Rates would disturb each other.
static ALONE: Mutex<()> = Mutex::new(());

/// A folder on the disk that is built on: the system's temporary one may have none.
fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn prepare(folder: &TempDir) -> File {
    File::prepare(folder.path(), LEAST_BYTES).unwrap()
}

fn run(file: &File, level: Level, alone_rate: f64, milliseconds: u64) -> Report {
    let neighbours = Neighbours::start(file, level, alone_rate, 42);
    sleep(Duration::from_millis(milliseconds));
    neighbours.finish()
}

#[test]
fn streams_read_and_write_by_halves() {
    let _alone = ALONE.lock();
    let folder = folder();
    let file = prepare(&folder);
    let report = run(&file, Level::Streams(2), 0.0, 500);
    assert_eq!((&report.error, report.intended_per_second, report.late), (&None, None, 0));
    assert_eq!(report.requests, report.reads + report.writes);
    assert!(report.requests > 20, "{report:?}");
    // Five standard deviations of a fair coin.
    let (share, requests) = (report.reads as f64 / report.requests as f64, report.requests as f64);
    assert!((share - 0.5).abs() < 2.5 / requests.sqrt(), "{report:?}");
    assert!((report.achieved_per_second * report.seconds / requests - 1.0).abs() < 1e-9);
    // Two closed streams are always waiting for a request: Little's law.
    let busy = report.mean_s * report.achieved_per_second;
    assert!((1.0..=2.01).contains(&busy), "{busy}: {report:?}");
}

#[test]
fn a_share_is_that_share_of_one_stream_alone() {
    let _alone = ALONE.lock();
    let folder = folder();
    let file = prepare(&folder);
    let alone = measure_alone(&file, Duration::from_millis(400)).unwrap();
    let report = run(&file, Level::Share(0.25), alone, 1000);
    let share = report.achieved_per_second / alone;
    assert!((0.20..=0.30).contains(&share), "{share} of {alone}: {report:?}");
    assert!(report.intended_per_second.is_some_and(|rate| (rate / alone - 0.25).abs() < 1e-9));
    assert_eq!(report.error, None);
}

#[test]
fn one_that_is_due_earlier_than_the_disk_can_is_late_and_not_left_out() {
    let _alone = ALONE.lock();
    let folder = folder();
    let file = prepare(&folder);
    // No disk does a hundred million requests a second.
    let report = run(&file, Level::Share(1.0), 1e8, 400);
    assert!(report.late > report.requests / 2, "{report:?}");
    // Latency counts from when a request was due, which was near the start for all of them.
    assert!(report.mean_s > 0.1 && report.mean_s < 0.5, "{report:?}");
    assert!(report.achieved_per_second < 1e7, "{report:?}");
}

#[test]
fn snapshots_tell_what_was_done_between_them() {
    let _alone = ALONE.lock();
    let folder = folder();
    let neighbours = Neighbours::start(&prepare(&folder), Level::Streams(1), 0.0, 1);
    sleep(Duration::from_millis(100));
    let first = neighbours.snapshot();
    sleep(Duration::from_millis(200));
    let second = neighbours.snapshot();
    let (between, whole) = (second.since(&first), neighbours.finish());
    assert!((0.2..0.4).contains(&between.seconds), "{between:?}");
    assert!(between.requests > 0 && between.requests < whole.requests, "{between:?} {whole:?}");
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
    let report = run(&file, Level::Streams(4), 0.0, 100);
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
    let neighbours = Neighbours::start(&file, Level::Streams(1), 0.0, 1);
    let blocks = open_in(folder.path());
    assert!(blocks.len() == 1 && blocks[0] >= LEAST_BYTES / 512, "not sparse: {blocks:?}");
    drop(file);
    sleep(Duration::from_millis(50));
    assert_eq!(neighbours.finish().error, None);
    assert!(open_in(folder.path()).is_empty());
}

#[test]
fn a_file_system_in_memory_is_refused() {
    let memory = Path::new("/dev/shm");
    let error = File::prepare(memory, LEAST_BYTES).unwrap_err();
    assert!(matches!(&error, Error::NotDirect(folder) if folder == memory), "{error:?}");
    assert!(error.to_string().contains("/dev/shm"), "{error}");
}

#[test]
fn a_folder_that_is_missing_is_named() {
    let folder = folder();
    let error = File::prepare(&folder.path().join("missing"), LEAST_BYTES).unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error:?}");
    assert!(error.to_string().contains("missing"), "{error}");
}

#[test]
fn stopping_is_quick_at_every_level() {
    let _alone = ALONE.lock();
    let folder = folder();
    let file = prepare(&folder);
    // At one arrival in an hour all threads wait.
    for level in [Level::None, Level::Streams(MOST_STREAMS), Level::Share(0.25)] {
        let neighbours = Neighbours::start(&file, level, 4.0 / 3600.0, 1);
        sleep(Duration::from_millis(50));
        let asked = Instant::now();
        let report = neighbours.finish();
        assert!(asked.elapsed() < Duration::from_millis(250), "{level}: {:?}", asked.elapsed());
        assert_eq!(report.error, None);
        assert_eq!(report.requests > 0, level == Level::Streams(MOST_STREAMS), "{level}");
    }
}
