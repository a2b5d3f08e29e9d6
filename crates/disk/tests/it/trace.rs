//! Traces of what a disk's device is asked for, without FUSE.

use std::fs;
use std::sync::mpsc;
use std::time::Duration;

use bakeoff_devices::device::RequestKind;
use bakeoff_devices::ext4::SyncScope;
use bakeoff_devices::trace::{Trace, Traced, Waits};
use bakeoff_disk::volume::InodeNumber;
use bakeoff_testkit::{PATIENCE, Since};

use crate::disk::{BUFFERED, DIRECT, Disk, PAGE};

/// A disk with two files; its work takes time, or not.
fn disk(timing: bool) -> Disk {
    let files = [("data", &[0; 16 * PAGE][..]), ("logs/one", &[0; 16 * PAGE])];
    Disk::with_options("ssd-sata", &files, timing, |_| {})
}

/// Writes a page and syncs.
fn commit(disk: &Disk, ino: InodeNumber, page: usize) {
    disk.write(ino, page * PAGE, &[7; PAGE], BUFFERED).unwrap();
    disk.sync(ino, SyncScope::All).unwrap();
}

fn read_page(disk: &Disk, ino: InodeNumber) {
    let (done, end) = mpsc::channel();
    disk.volume.read(ino, 0, PAGE, DIRECT, move |read| done.send(read.map(<[u8]>::len)).unwrap());
    assert_eq!(end.recv().unwrap(), Ok(PAGE));
}

/// Begins a trace; what there is of it in the end.
fn traced(disk: &Disk, hold: Duration, work: impl FnOnce()) -> Vec<u8> {
    let to = disk.folders.path().join("trace");
    disk.volume.begin_trace(&to, hold).unwrap();
    work();
    let bytes = disk.volume.end_trace().unwrap();
    let trace = fs::read(to).unwrap();
    assert_eq!(trace.len() as u64, bytes);
    trace
}

/// What was asked for, whoever asked for it: of a disk that takes no time, too.
#[test]
fn a_trace_has_every_request_of_the_device_and_whose_file_it_is() {
    for timing in [false, true] {
        let disk = disk(timing);
        let (data, log) = (disk.open("data"), disk.open("logs/one"));
        let before = disk.volume.counts();
        // What is before it and after it is not in it.
        commit(&disk, log, 0);
        let bytes = traced(&disk, Duration::ZERO, || {
            commit(&disk, log, 1);
            read_page(&disk, data);
            disk.write(data, 3 * PAGE, &[7; PAGE], DIRECT).unwrap();
        });
        commit(&disk, log, 0);
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
        assert!(trace.span > 0 && disk.volume.counts() != before);
    }
}

/// Holds syncs for so long; whether others were answered meanwhile, and none is held afterwards. On a
/// busy machine a short time may be over before.
fn keeps_nobody_else_waiting(hold: Duration) -> bool {
    let disk = disk(false);
    let (data, log) = (disk.open("data"), disk.open("logs/one"));
    let (mut meanwhile, mut last) = (false, None);
    let begin = || {
        disk.write(log, 0, &[7; PAGE], BUFFERED).unwrap();
        disk.begin_sync(log, SyncScope::All)
    };
    traced(&disk, hold, || {
        let since = Since::now();
        let synced = begin();
        disk.write(data, PAGE, &[7; PAGE], DIRECT).unwrap();
        read_page(&disk, data);
        meanwhile = synced.try_recv().is_err();
        synced.recv_timeout(PATIENCE).unwrap().unwrap();
        assert!(since.at_least(hold), "before its time");
        last = Some(begin());
    });
    let last = last.unwrap().try_recv();
    assert_eq!(last, Ok(Ok(())), "it is answered before the trace has ended");
    let since = Since::now();
    begin().recv_timeout(PATIENCE).unwrap().unwrap();
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
    let disk = disk(false);
    let volume = &disk.volume;
    let [one, other] = ["one", "other"].map(|name| disk.folders.path().join(name));
    assert!(volume.end_trace().unwrap_err().to_string().contains("not traced"));
    volume.begin_trace(&one, Duration::ZERO).unwrap();
    let twice = volume.begin_trace(&other, Duration::ZERO).unwrap_err().to_string();
    assert!(twice.contains("already") && !other.exists(), "{twice}");
    volume.end_trace().unwrap();
    assert!(Trace::read(&fs::read(&one).unwrap()).is_ok());
    let again = volume.begin_trace(&one, Duration::ZERO).unwrap_err();
    assert_eq!(again.kind(), std::io::ErrorKind::AlreadyExists);
}
