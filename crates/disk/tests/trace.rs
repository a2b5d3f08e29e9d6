//! Traces of what a disk's device is asked for, without FUSE.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use bakeoff_devices::device::RequestKind;
use bakeoff_devices::ext4::{Mode, SyncScope};
use bakeoff_devices::models::Models;
use bakeoff_devices::station::Station;
use bakeoff_devices::trace::{Trace, Traced, Waits};
use bakeoff_disk::executor::{self, Executor};
use bakeoff_disk::volume::{DataAccess, InodeNumber, ROOT, Volume, VolumeOptions};
use bakeoff_testkit::{PATIENCE, Since};
use tempfile::TempDir;

const PAGE: usize = 4096;
const BUFFERED: DataAccess =
    DataAccess { mode: Mode::Buffered, sync: None, drop_privileges: false };
const DIRECT: DataAccess = DataAccess { mode: Mode::Direct, sync: None, drop_privileges: false };

/// A disk over a new folder with two files; its work takes time, or not.
fn disk(timing: bool) -> (TempDir, Arc<Volume>) {
    let folders = tempfile::tempdir().unwrap();
    let backing = folders.path().join("backing");
    fs::create_dir_all(backing.join("logs")).unwrap();
    fs::write(backing.join("data"), vec![0; 16 * PAGE]).unwrap();
    fs::write(backing.join("logs/one"), vec![0; 16 * PAGE]).unwrap();
    let spec = Models::standard().parse("ssd-sata").unwrap();
    let station = Station::new(spec.build(1), 1);
    let executor = Executor::start(station, executor::ExecutorOptions { timing, null: false });
    let volume = Volume::open(&backing, VolumeOptions::new(Arc::new(executor), &spec)).unwrap();
    (folders, volume)
}

fn open(volume: &Volume, path: &str) -> InodeNumber {
    let mut ino = ROOT;
    for name in path.split('/') {
        ino = volume.lookup(ino, OsStr::new(name)).unwrap().st_ino;
    }
    volume.open_file(ino, Mode::Buffered, true).unwrap();
    ino
}

fn write(volume: &Arc<Volume>, ino: InodeNumber, page: usize, access: DataAccess) {
    let (done, end) = mpsc::channel();
    let at = (page * PAGE) as u64;
    volume.write(ino, at, &[7; PAGE], access, move |wrote| done.send(wrote).unwrap());
    assert_eq!(end.recv().unwrap(), Ok(PAGE));
}

fn read(volume: &Arc<Volume>, ino: InodeNumber) {
    let (done, end) = mpsc::channel();
    volume.read(ino, 0, PAGE, DIRECT, move |read| done.send(read.map(<[u8]>::len)).unwrap());
    assert_eq!(end.recv().unwrap(), Ok(PAGE));
}

fn begin_sync(volume: &Arc<Volume>, ino: InodeNumber) -> mpsc::Receiver<()> {
    let (done, end) = mpsc::channel();
    volume.fsync(ino, SyncScope::All, move |synced| {
        assert_eq!(synced, Ok(()));
        done.send(()).unwrap();
    });
    end
}

/// Begins a trace; what there is of it in the end.
fn traced(volume: &Arc<Volume>, to: &Path, hold: Duration, work: impl FnOnce()) -> Vec<u8> {
    volume.begin_trace(to, hold).unwrap();
    work();
    let bytes = volume.end_trace().unwrap();
    let trace = fs::read(to).unwrap();
    assert_eq!(trace.len() as u64, bytes);
    trace
}

/// What was asked for, whoever asked for it: of a disk that takes no time, too.
#[test]
fn a_trace_has_every_request_of_the_device_and_whose_file_it_is() {
    for timing in [false, true] {
        let (folders, volume) = disk(timing);
        let (data, log) = (open(&volume, "data"), open(&volume, "logs/one"));
        let before = volume.counts();
        // What is before it and after it is not in it.
        write(&volume, log, 0, BUFFERED);
        begin_sync(&volume, log).recv().unwrap();
        let bytes = traced(&volume, &folders.path().join("trace"), Duration::ZERO, || {
            write(&volume, log, 1, BUFFERED);
            begin_sync(&volume, log).recv().unwrap();
            read(&volume, data);
            write(&volume, data, 3, DIRECT);
        });
        begin_sync(&volume, log).recv().unwrap();
        let trace = Trace::read(&bytes).unwrap();
        assert_eq!(trace.files, [&b"logs/one"[..], b"data"]);
        let works: Vec<Traced> = trace.works().collect();
        let asked: Vec<_> = works.iter().map(|it| (it.waits, it.file)).collect();
        let (log, data) = (Some(0), Some(1));
        let expected = [(Waits::Writer, log), (Waits::Reader, data), (Waits::Writer, data)];
        assert_eq!(asked, expected, "timing {timing}");
        let of = |n: usize, kind| {
            let all = works[n].steps.iter().flatten();
            all.filter(|request| request.kind == kind).map(|request| request.length).sum::<u64>()
        };
        assert!(of(0, RequestKind::Write) >= 2 * PAGE as u64, "a page, and a commit of its time");
        assert!(works[0].steps.iter().flatten().any(|request| request.kind == RequestKind::Flush));
        assert_eq!(
            (of(1, RequestKind::Read), of(2, RequestKind::Write)),
            (PAGE as u64, PAGE as u64)
        );
        assert!(trace.span > 0 && volume.counts() != before);
    }
}

/// Holds syncs for so long; whether others were answered meanwhile, and none is held afterwards. On a
/// busy machine a short time may be over before.
fn keeps_nobody_else_waiting(hold: Duration) -> bool {
    let (folders, volume) = disk(false);
    let (data, log) = (open(&volume, "data"), open(&volume, "logs/one"));
    let (mut meanwhile, mut last) = (false, None);
    traced(&volume, &folders.path().join("trace"), hold, || {
        write(&volume, log, 0, BUFFERED);
        let since = Since::now();
        let synced = begin_sync(&volume, log);
        write(&volume, data, 1, DIRECT);
        read(&volume, data);
        meanwhile = synced.try_recv().is_err();
        synced.recv_timeout(PATIENCE).unwrap();
        assert!(since.at_least(hold), "before its time");
        write(&volume, log, 0, BUFFERED);
        last = Some(begin_sync(&volume, log));
    });
    assert_eq!(last.unwrap().try_recv(), Ok(()), "it is answered before the trace has ended");
    let since = Since::now();
    write(&volume, log, 0, BUFFERED);
    begin_sync(&volume, log).recv_timeout(PATIENCE).unwrap();
    meanwhile && !since.at_least(hold)
}

/// What several wait for at once shares the next sync: nobody would wait on a disk without time.
#[test]
fn a_held_sync_is_answered_late_and_keeps_nobody_else_waiting() {
    let mut longer = (0..5).map(|times| Duration::from_millis(300) * (1 << times));
    assert!(longer.any(keeps_nobody_else_waiting));
}

#[test]
fn there_is_one_trace_at_a_time_into_a_file_that_is_new() {
    let (folders, volume) = disk(false);
    let (one, other) = (folders.path().join("one"), folders.path().join("other"));
    assert!(volume.end_trace().unwrap_err().to_string().contains("not traced"));
    volume.begin_trace(&one, Duration::ZERO).unwrap();
    let twice = volume.begin_trace(&other, Duration::ZERO).unwrap_err().to_string();
    assert!(twice.contains("already") && !other.exists(), "{twice}");
    volume.end_trace().unwrap();
    assert!(Trace::read(&fs::read(&one).unwrap()).is_ok());
    let again = volume.begin_trace(&one, Duration::ZERO).unwrap_err();
    assert_eq!(again.kind(), std::io::ErrorKind::AlreadyExists);
}
