//! Files that are driven.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use bakeoff_load::{
    ArrivalProcess, ClientShare, ClockNanos, DriveError, DriveOutcome, DrivePlan, Driver,
    DriverClock, EndedOperation, OperationSink, Pace, Pacer, drive,
};
use bakeoff_testkit::needs;
use tempfile::TempDir;

use super::content::PAGE;
use super::files::{DataFiles, FileOpenMode, FileSetShape};
use super::levels::{Pattern, SyncRule};
use super::requests::{RequestContext, RequestTotals};
use super::syncs::SharedSyncState;
use super::writings::LastBlockWrites;
use super::*;
use crate::targets::ClientTally;
use crate::tests::folder_on_disk;

const SHAPE: FileSetShape = FileSetShape { each: 4 << 20, files: 1, zeros: false, seed: 3 };

const IN_ORDER: Pattern = Pattern { in_order: true, reads: 0 };

/// What requests for new files of this shape, in this folder, share.
pub fn request_context(
    folder: &Path,
    shape: FileSetShape,
    (pattern, rule): (Pattern, SyncRule),
    access: FileOpenMode,
) -> RequestContext {
    let medium = DataMedium::from_folder(folder);
    shape.make(&medium, &mut |_| ()).unwrap();
    let files = DataFiles::open(&medium, &shape, PAGE, access).unwrap();
    RequestContext {
        content: shape.content(),
        pattern,
        once: false,
        rule,
        syncs: SharedSyncState::new(rule, shape.files),
        writings: LastBlockWrites::new(files.blocks()),
        files,
        earlier: 1000,
        did: RequestTotals::default(),
    }
}

fn of_depth(depth: usize) -> ResolvedFolder {
    ResolvedFolder {
        shape: SHAPE,
        block: 4096,
        depth,
        ring: depth > 1,
        pattern: Pattern { in_order: false, reads: 100 },
        once: false,
        rule: SyncRule::Never,
        direct: true,
    }
}

/// Its files, in a folder of their own on the machine's disk.
fn opened(resolved: &ResolvedFolder) -> (TempDir, Box<dyn RunningTarget + '_>) {
    let folder = folder_on_disk();
    let place = TargetPlace::from_folder(folder.path());
    resolved.load(&place, &mut |_, _| ()).unwrap();
    (folder, resolved.open(&place).unwrap())
}

/// For a second, and until so many of each kind have ended. No cap ends it: a machine that is busy for seconds
/// would.
fn plan(clients: usize, kinds: usize, least: u64) -> DrivePlan {
    let cap = Duration::from_secs(3600);
    DrivePlan { least, cap, ..DrivePlan::closed_loop(clients, kinds, Duration::from_secs(1)) }
}

fn driven(
    running: &dyn RunningTarget,
    plan: &DrivePlan,
) -> Result<DriveOutcome, DriveError<TrialError>> {
    let connect = |share: &ClientShare| running.make_driver(share, None);
    drive(plan, connect, &AtomicBool::new(false), &mut |_: &_| ())
}

/// As [`driven`], with each driver watched.
fn watched(
    running: &dyn RunningTarget,
    plan: &DrivePlan,
    second: Option<ClockNanos>,
) -> (DriveOutcome, WatchCounts) {
    let counts = WatchCounts::default();
    let connect = |share: &ClientShare| {
        let driver = running.make_driver(share, None)?;
        Ok::<_, TrialError>(
            Box::new(WatchedDriver { driver, second, counts: &counts }) as Box<dyn Driver>
        )
    };
    let outcome = drive(plan, connect, &AtomicBool::new(false), &mut |_: &_| ()).unwrap();
    (outcome, counts)
}

#[derive(Default)]
struct WatchCounts {
    /// The most requests that a driver had in flight.
    most: AtomicUsize,
    ended: AtomicUsize,
}

/// A driver that is counted. With a `second`, it is given two starts alone, at once and so much later, and told of
/// the end when the first has ended: where the second is soon, a while after it.
struct WatchedDriver<'a> {
    driver: Box<dyn Driver + 'a>,
    second: Option<ClockNanos>,
    counts: &'a WatchCounts,
}

impl Driver for WatchedDriver<'_> {
    fn run(&mut self, pacer: &mut dyn Pacer, record: &mut dyn OperationSink) {
        let second = self.second.map(|later| record.clock().now() + later);
        let waits_for = second.filter(|_| self.second == Some(SOON)).unwrap_or(0);
        let (is_last, counts) = (second.is_some(), self.counts);
        let mut sink = WatchedSink { record, in_flight: 0, counts, is_last, waits_for };
        match second {
            Some(second) => self.driver.run(&mut TwoStarts { given: 0, second }, &mut sink),
            None => self.driver.run(pacer, &mut sink),
        }
    }

    fn lanes(&self) -> usize {
        self.driver.lanes()
    }
}

struct WatchedSink<'a> {
    record: &'a mut dyn OperationSink,
    in_flight: usize,
    counts: &'a WatchCounts,
    /// Whether each operation that ends is the last.
    is_last: bool,
    waits_for: ClockNanos,
}

impl OperationSink for WatchedSink<'_> {
    fn clock(&self) -> DriverClock {
        self.record.clock()
    }

    fn begin_operation(&mut self, lane: usize, kind: usize, intended: ClockNanos) {
        self.in_flight += 1;
        self.counts.most.fetch_max(self.in_flight, Relaxed);
        self.record.begin_operation(lane, kind, intended);
    }

    fn record(&mut self, operation: EndedOperation) -> Option<ClockNanos> {
        while self.clock().now() < self.waits_for {}
        self.in_flight -= 1;
        self.counts.ended.fetch_add(1, Relaxed);
        self.record.record(operation).filter(|_| !self.is_last)
    }
}

const SOON: ClockNanos = 100_000_000;
const HOUR: ClockNanos = 3_600_000_000_000;

struct TwoStarts {
    given: u32,
    second: ClockNanos,
}

impl Pacer for TwoStarts {
    fn next(&mut self, free: ClockNanos) -> Option<ClockNanos> {
        self.given += 1;
        [free, self.second].get(self.given as usize - 1).copied()
    }

    fn wait_until(&mut self, _: ClockNanos) -> Option<ClockNanos> {
        None
    }
}

#[test]
fn as_many_requests_are_in_flight_as_the_depth_says() {
    for (clients, depth) in [(1, 1), (2, 1), (1, 16), (2, 8)] {
        let resolved = of_depth(depth);
        let (_folder, running) = opened(&resolved);
        assert_eq!(running.concurrency(clients), clients * depth);
        let (outcome, counts) = watched(&*running, &plan(clients, 1, 1), None);
        assert_eq!(counts.most.into_inner(), depth, "{clients} × {depth}");
        let kind = &outcome.kinds[0];
        let latencies = kind.merge_latencies();
        let seen = latencies.mean() * latencies.len() as f64 / 1e9 / outcome.ran.as_secs_f64();
        assert!(seen <= 1.01 * (clients * depth) as f64, "{clients} × {depth}: {seen}");
        assert_eq!((kind.errors, kind.unfinished), (0, 0), "all are followed to their end");
        // The window is the first slot: what ended in it counts, and what was then under way; the
        // requests that the others made while that was waited for do not.
        let in_window = kind.slots[0].histogram.len();
        let all = in_window..=in_window + (clients * depth) as u64;
        // On a machine that was too busy the window was longer.
        let is_usual = outcome.window_s == (0.0, 1.0);
        assert!(!is_usual || all.contains(&kind.kept.len()), "{clients} × {depth}: {all:?}");
    }
}

/// What is due starts, or is counted as not started; a client that is free when that is told may
/// start some more.
#[test]
fn an_open_loop_is_served_by_a_ring_and_by_plain_calls() {
    for depth in [1, 8] {
        let resolved = of_depth(depth);
        let (_folder, running) = opened(&resolved);
        let pace = Pace::Open { per_second: 400.0, arrivals: &ArrivalProcess::EVEN, seed: 1 };
        let outcome = driven(&*running, &DrivePlan { pace, ..plan(1, 1, 0) }).unwrap();
        let (kept, open) = (outcome.kinds[0].kept.len(), outcome.open.unwrap());
        let left = open.not_started;
        assert_eq!(outcome.kinds[0].errors, 0);
        assert!(kept <= 400 && kept + left >= 400, "depth {depth}: {kept} and {left}");
        let all = kept == 400 || kept + left <= 400 + depth as u64;
        assert!(all, "depth {depth}: {kept} and {left}");
        assert_eq!((open.due, open.start_delay.len()), (400, kept), "depth {depth}");
    }
}

#[test]
fn a_ring_that_is_told_of_the_end_starts_what_is_due_and_nothing_else() {
    let resolved = of_depth(4);
    let (_folder, running) = opened(&resolved);
    for (second, operations) in [(SOON, 2), (HOUR, 1)] {
        let (_, counts) = watched(&*running, &plan(1, 1, 0), Some(second));
        assert_eq!(counts.ended.into_inner(), operations, "{second} ns later");
    }
}

#[test]
fn a_file_that_ends_too_early_fails_its_reads() {
    for depth in [1, 4] {
        let resolved = of_depth(depth);
        let (folder, running) = opened(&resolved);
        let file = File::options().write(true).open(medium::file_path(folder.path(), 0)).unwrap();
        file.set_len(4096).unwrap();
        let plan = DrivePlan::closed_loop(1, 1, Duration::from_secs(60));
        let error = driven(&*running, &plan).unwrap_err();
        assert!(error.to_string().contains("gave up"), "{error}");
    }
}

/// What clients did for a second, of each kind something, and what is wrong with what they left.
fn written(
    resolved: ResolvedFolder,
    clients: usize,
) -> (DriveOutcome, ClientTally, Option<Vec<String>>) {
    let (_folder, running) = opened(&resolved);
    let plan = plan(clients, running.operations().len(), 1);
    let outcome = driven(&*running, &plan).unwrap();
    running.drain().unwrap();
    (outcome, running.take_tally().unwrap(), running.check().unwrap())
}

#[test]
fn reads_and_writes_of_a_mix_are_counted_synced_and_whole() {
    let shape = FileSetShape { each: 1 << 20, files: 3, ..SHAPE };
    let pattern = Pattern { in_order: false, reads: 50 };
    let rule = SyncRule::After { writes: 1, data_only: true };
    for (depth, direct) in [(1, true), (1, false), (4, true), (4, false)] {
        let resolved = ResolvedFolder { shape, pattern, rule, direct, ..of_depth(depth) };
        let (outcome, tally, faults) = written(resolved, 2);
        let [reads, writes] = &outcome.kinds[..] else { panic!("two kinds") };
        assert_eq!((reads.errors, writes.errors), (0, 0));
        let (reads, writes) = (reads.count_succeeded(), writes.count_succeeded());
        assert!(reads > 0 && writes > 0);
        let counted = (tally.returned, tally.bytes, tally.commits);
        assert_eq!(counted, (Some(4096 * reads), 4096 * writes, writes), "{depth}, {direct}");
        assert_eq!(faults, Some(Vec::new()), "depth {depth}, direct {direct}");
    }
    // Writes alone are the only kind, and zeros are not verified.
    let shape = FileSetShape { zeros: true, ..SHAPE };
    let rule = SyncRule::Dsync;
    let zeros = ResolvedFolder { pattern: IN_ORDER, shape, rule, ..of_depth(1) };
    let (outcome, tally, faults) = written(zeros, 1);
    assert_eq!((outcome.kinds.len(), faults), (1, None));
    assert_eq!((tally.returned, tally.commits), (Some(0), outcome.kinds[0].count_succeeded()));
}

#[test]
fn all_files_are_synced_after_so_many_requests_whoever_made_them() {
    let shape = FileSetShape { each: 256 << 10, files: 8, ..SHAPE };
    for depth in [1, 4] {
        let pattern = Pattern { in_order: false, reads: 60 };
        let rule = SyncRule::All { requests: 100 };
        let resolved = ResolvedFolder { shape, pattern, rule, direct: false, ..of_depth(depth) };
        let (outcome, tally, faults) = written(resolved, 3);
        let requests: u64 = outcome.kinds.iter().map(|kind| kind.count_succeeded()).sum();
        // A round that is due before the one before is through takes its place.
        let most = requests / 100 * 8;
        assert!(tally.commits <= most, "{} syncs after {requests} requests", tally.commits);
        assert!(requests < 100 || tally.commits >= 8, "{} of {requests}", tally.commits);
        assert_eq!(faults, Some(Vec::new()));
    }
}

/// A loop device over a file, detached at the end.
struct Loop(PathBuf);

impl Loop {
    /// `None` where this machine or user has none.
    fn over(file: &Path) -> Option<Self> {
        let made = Command::new("losetup").args(["--find", "--show"]).arg(file).output().ok()?;
        let name = String::from_utf8(made.stdout).ok()?;
        made.status.success().then(|| Self(name.trim().into()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}

/// A trial in a place whose bytes are at this path, on a device after another one, finds that a write of its own is
/// gone.
fn finds_what_is_gone(place: &TargetPlace, path: &Path, direct: bool) {
    let shape = FileSetShape { each: 64 << 10, ..SHAPE };
    let resolved = ResolvedFolder { pattern: IN_ORDER, shape, direct, ..of_depth(1) };
    resolved.load(place, &mut |_, _| ()).unwrap();
    let write_each_block = |running: &dyn RunningTarget| {
        driven(running, &plan(1, 1, 16)).unwrap();
        running.drain().unwrap();
        assert_eq!(running.check().unwrap(), Some(Vec::new()));
        std::fs::read(path).unwrap()
    };
    if place.device.is_some() {
        write_each_block(&*resolved.open(place).unwrap());
    }
    let before = std::fs::read(path).unwrap();
    let running = resolved.open(place).unwrap();
    assert_eq!(running.check().unwrap(), Some(Vec::new()), "whole pages, whoever wrote them");
    let after = write_each_block(&*running);
    assert_eq!(after[64 << 10..], before[64 << 10..], "behind the size nothing is written");
    // One block is again as it was.
    let file = File::options().write(true).open(path).unwrap();
    file.write_all_at(&before[8192..12_288], 8192).unwrap();
    file.sync_all().unwrap();
    let faults = running.check().unwrap().unwrap();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].contains("byte 8192 an earlier write than the last"), "{faults:?}");
}

#[test]
fn a_write_that_was_acknowledged_and_is_gone_is_found() {
    let folder = folder_on_disk();
    let path = medium::file_path(folder.path(), 0);
    finds_what_is_gone(&TargetPlace::from_folder(folder.path()), &path, false);
    let folder = folder_on_disk();
    let path = folder.path().join("device");
    std::fs::write(&path, vec![7; 128 << 10]).unwrap();
    let Some(looped) = needs(Loop::over(&path).ok_or("no loop device can be had")) else { return };
    let number = std::fs::metadata(&looped.0).unwrap().rdev();
    let device = RawDevice { path: looped.0.clone(), number, bytes: 128 << 10, sector: 4096 };
    let place = TargetPlace { device: Some(device), ..TargetPlace::default() };
    finds_what_is_gone(&place, &path, true);
}

#[test]
fn direct_reads_alone_leave_the_files_to_the_next_trial() {
    let leaves = |resolved: ResolvedFolder| resolved.leaves_files();
    assert!(leaves(of_depth(1)) && leaves(of_depth(16)));
    assert!(!leaves(ResolvedFolder { direct: false, ..of_depth(1) }), "the page cache has them");
    for reads in [0, 99] {
        let pattern = Pattern { in_order: false, reads };
        assert!(!leaves(ResolvedFolder { pattern, ..of_depth(1) }), "{reads} % reads");
    }
}

/// Reads and writes have a line each, and what is synced or around the page cache has none on writes.
#[test]
fn what_fits_in_memory_is_told_with_what_to_change() {
    use EngineState::{Cold, Warm};
    const EMPTY: &str = "it is empty at the start (`state` cold)";
    for (files, there, is_limit, state, words) in [
        (
            256 << 20,
            3 << 30,
            false,
            Warm,
            &["268 MB of files, 3.2 GB of memory free: all of them fit", "`size`"][..],
        ),
        (1 << 30, 256 << 20, true, Warm, &["268 MB of memory at most: up to 25 % of the reads"]),
        // What fits is not what is there.
        (256 << 20, 3 << 30, false, Cold, &[EMPTY, "the first read of each block"]),
        (1 << 30, 256 << 20, true, Cold, &[EMPTY, "once it is full, up to 25 %"]),
    ] {
        let told = in_page_cache(files, there, is_limit, state);
        assert!(words.iter().all(|words| told.contains(words)), "{told}");
    }
    const SYNC: &str = "`sync` fdatasync:1 or `access` direct";
    const FIT: &str = "all of them fit";
    for (reads, rule, direct, has) in [
        (0, SyncRule::Never, false, [false, true]),
        (50, SyncRule::Never, false, [true, true]),
        (100, SyncRule::Never, false, [true, false]),
        (0, SyncRule::Dsync, false, [false, false]),
        (0, SyncRule::Never, true, [false, false]),
    ] {
        let pattern = Pattern { in_order: false, reads };
        let subject = ResolvedFolder { pattern, rule, direct, ..of_depth(1) };
        let told = subject.plan_remark(Some(1 << 30), Warm).unwrap_or_default();
        assert_eq!([FIT, SYNC].map(|words| told.contains(words)), has, "{told}");
        assert_eq!(told.lines().count(), has.iter().filter(|it| **it).count(), "{told}");
    }
}
