//! Files that are driven.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use bakeoff_load::{
    ArrivalProcess, ClientShare, ClockNanos, DriveOutcome, DrivePlan, DriveProgress, Driver,
    DriverClock, EndedOperation, OperationSink, Pace, Pacer, drive,
};
use bakeoff_testkit::needs;

use super::files::FileSetShape;
use super::levels::{Pattern, SyncRule};
use super::*;
use crate::targets::ClientTally;

const SHAPE: FileSetShape = FileSetShape { each: 4 << 20, files: 1, zeros: false, seed: 3 };

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

fn quietly(_: &DriveProgress) {}

/// Drives for a second, and until so many of each kind have ended. No cap ends it: a machine that is busy for
/// seconds would.
fn plan(clients: usize, kinds: usize, least: u64) -> DrivePlan {
    let cap = Duration::from_secs(3600);
    DrivePlan { least, cap, ..DrivePlan::closed(clients, kinds, Duration::from_secs(1)) }
}

/// A driver, and the most requests that it ever had in flight.
struct Counted<'a> {
    driver: Box<dyn Driver + 'a>,
    most: &'a AtomicUsize,
}

impl Driver for Counted<'_> {
    fn run(&mut self, pacer: &mut dyn Pacer, record: &mut dyn OperationSink) {
        self.driver.run(pacer, &mut Counting { record, in_flight: 0, most: self.most });
    }

    fn lanes(&self) -> usize {
        self.driver.lanes()
    }
}

struct Counting<'a> {
    record: &'a mut dyn OperationSink,
    in_flight: usize,
    most: &'a AtomicUsize,
}

impl OperationSink for Counting<'_> {
    fn clock(&self) -> DriverClock {
        self.record.clock()
    }

    fn begin(&mut self, lane: usize, kind: usize, intended: ClockNanos) {
        self.in_flight += 1;
        self.most.fetch_max(self.in_flight, Relaxed);
        self.record.begin(lane, kind, intended);
    }

    fn record(&mut self, operation: EndedOperation) -> Option<ClockNanos> {
        self.in_flight -= 1;
        self.record.record(operation)
    }
}

/// Drives a file of its own on the machine's disk until the window is over, and each request of it; and the
/// most requests that a client had in flight.
fn driven(clients: usize, depth: usize, pace: Pace) -> (DriveOutcome, usize) {
    // Not the system's temporary folder: that may be in memory.
    let program = std::env::current_exe().unwrap();
    let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
    let place = TargetPlace::folder(folder.path());
    let resolved = of_depth(depth);
    resolved.load(&place, &mut |_, _| ()).unwrap();
    let running = resolved.open(&place).unwrap();
    assert_eq!(running.concurrency(clients), clients * depth);
    let least = if pace == Pace::Closed { 1 } else { 0 };
    let plan = DrivePlan { pace, ..plan(clients, 1, least) };
    let most = AtomicUsize::new(0);
    let connect = |share: &ClientShare| {
        let driver = running.driver(share, None)?;
        Ok::<_, TrialError>(Box::new(Counted { driver, most: &most }) as Box<dyn Driver>)
    };
    let outcome = drive(&plan, connect, &AtomicBool::new(false), &mut quietly).unwrap();
    (outcome, most.into_inner())
}

fn in_flight(outcome: &DriveOutcome) -> f64 {
    let all = outcome.kinds[0].all();
    all.mean() * all.len() as f64 / 1e9 / outcome.ran.as_secs_f64()
}

#[test]
fn as_many_requests_are_in_flight_as_the_depth_says() {
    for (clients, depth) in [(1, 1), (2, 1), (1, 16), (2, 8)] {
        let (outcome, most) = driven(clients, depth, Pace::Closed);
        assert_eq!(most, depth, "{clients} × {depth}");
        let (all, seen) = ((clients * depth) as f64, in_flight(&outcome));
        assert!(seen <= 1.01 * all, "{clients} × {depth}: {seen}");
        assert_eq!(outcome.kinds[0].errors, 0);
        let kind = &outcome.kinds[0];
        assert_eq!(kind.unfinished, 0, "all are followed to their end");
        // The window is the first slot: what ended in it counts, and what was then under way; the
        // requests that the others made while that was waited for do not.
        let in_window = kind.slots[0].histogram.len();
        let all = in_window..=in_window + (clients * depth) as u64;
        // On a machine that was too busy the window was longer.
        let is_usual = outcome.window_s == (0.0, 1.0);
        assert!(
            !is_usual || all.contains(&kind.kept.len()),
            "{clients} × {depth}: {}, {all:?}",
            kind.kept.len()
        );
    }
}

/// What is due starts, or is counted as not started; a client that is free when that is told may
/// start some more.
#[test]
fn an_open_loop_is_served_by_a_ring_and_by_plain_calls() {
    for depth in [1, 8] {
        let pace = Pace::Open { per_second: 400.0, arrivals: &ArrivalProcess::EVEN, seed: 1 };
        let (outcome, _) = driven(1, depth, pace);
        let (kept, open) = (outcome.kinds[0].kept.len(), outcome.open.unwrap());
        let left = open.not_started;
        assert_eq!(outcome.kinds[0].errors, 0);
        assert!(kept <= 400 && kept + left >= 400, "depth {depth}: {kept} and {left}");
        let all = kept == 400 || kept + left <= 400 + depth as u64;
        assert!(all, "depth {depth}: {kept} and {left}");
        assert_eq!((open.due, open.start_delay.len()), (400, kept), "depth {depth}");
    }
}

/// A ring that is told of the end when the first of two requests has ended, a while after the start
/// of the second; or, with a second start `in_an_hour`, before it.
struct ToldOfTheEnd<'a> {
    driver: Box<dyn Driver + 'a>,
    in_an_hour: bool,
    ended: &'a AtomicUsize,
}

impl Driver for ToldOfTheEnd<'_> {
    fn run(&mut self, _: &mut dyn Pacer, record: &mut dyn OperationSink) {
        let second = record.clock().now() + if self.in_an_hour { HOUR } else { SOON };
        let mut starts = TwoStarts { given: 0, second };
        let waits_for = if self.in_an_hour { 0 } else { second };
        self.driver.run(&mut starts, &mut Last { record, waits_for, ended: self.ended });
    }

    fn lanes(&self) -> usize {
        self.driver.lanes()
    }
}

const SOON: ClockNanos = 100_000_000;
const HOUR: ClockNanos = 3_600_000_000_000;

/// The first start is at once.
struct TwoStarts {
    given: u32,
    second: ClockNanos,
}

impl Pacer for TwoStarts {
    fn next(&mut self, free: ClockNanos) -> Option<ClockNanos> {
        self.given += 1;
        [free, self.second].get(self.given as usize - 1).copied()
    }

    fn wait(&mut self, _: ClockNanos) -> Option<ClockNanos> {
        None
    }
}

/// Each operation that ends is the last.
struct Last<'a> {
    record: &'a mut dyn OperationSink,
    waits_for: ClockNanos,
    ended: &'a AtomicUsize,
}

impl OperationSink for Last<'_> {
    fn clock(&self) -> DriverClock {
        self.record.clock()
    }

    fn begin(&mut self, lane: usize, kind: usize, intended: ClockNanos) {
        self.record.begin(lane, kind, intended);
    }

    fn record(&mut self, operation: EndedOperation) -> Option<ClockNanos> {
        while self.clock().now() < self.waits_for {}
        self.ended.fetch_add(1, Relaxed);
        self.record.record(operation).and(None)
    }
}

#[test]
fn a_ring_that_is_told_of_the_end_starts_what_is_due_and_nothing_else() {
    let program = std::env::current_exe().unwrap();
    let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
    let place = TargetPlace::folder(folder.path());
    let resolved = of_depth(4);
    resolved.load(&place, &mut |_, _| ()).unwrap();
    let running = resolved.open(&place).unwrap();
    for (in_an_hour, operations) in [(false, 2), (true, 1)] {
        let ended = AtomicUsize::new(0);
        let connect = |share: &ClientShare| {
            let driver = running.driver(share, None)?;
            let told = ToldOfTheEnd { driver, in_an_hour, ended: &ended };
            Ok::<_, TrialError>(Box::new(told) as Box<dyn Driver>)
        };
        let plan = plan(1, 1, 0);
        drive(&plan, connect, &AtomicBool::new(false), &mut quietly).unwrap();
        assert_eq!(ended.into_inner(), operations, "in an hour: {in_an_hour}");
    }
}

#[test]
fn a_file_that_ends_too_early_fails_its_reads() {
    let program = std::env::current_exe().unwrap();
    for depth in [1, 4] {
        let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
        let place = TargetPlace::folder(folder.path());
        let resolved = of_depth(depth);
        resolved.load(&place, &mut |_, _| ()).unwrap();
        let running = resolved.open(&place).unwrap();
        let file = File::options().write(true).open(medium::path(folder.path(), 0)).unwrap();
        file.set_len(4096).unwrap();
        let connect = |share: &ClientShare| running.driver(share, None);
        let plan = DrivePlan::closed(1, 1, Duration::from_secs(60));
        let error = drive(&plan, connect, &AtomicBool::new(false), &mut quietly).unwrap_err();
        assert!(error.to_string().contains("gave up"), "{error}");
    }
}

/// What clients did for a second, of each kind something, and what is wrong with what they left.
fn written(
    resolved: ResolvedFolder,
    clients: usize,
) -> (DriveOutcome, ClientTally, Option<Vec<String>>) {
    let program = std::env::current_exe().unwrap();
    let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
    let place = TargetPlace::folder(folder.path());
    resolved.load(&place, &mut |_, _| ()).unwrap();
    let running = resolved.open(&place).unwrap();
    let kinds = running.operations().len();
    let plan = plan(clients, kinds, 1);
    let connect = |share: &ClientShare| running.driver(share, None);
    let outcome = drive(&plan, connect, &AtomicBool::new(false), &mut quietly).unwrap();
    running.drain().unwrap();
    (outcome, running.tally().unwrap(), running.check().unwrap())
}

#[test]
fn reads_and_writes_of_a_mix_are_counted_synced_and_whole_by_any_call_and_access() {
    let shape = FileSetShape { each: 1 << 20, files: 3, ..SHAPE };
    let pattern = Pattern { in_order: false, reads: 50 };
    let rule = SyncRule::After { writes: 1, data_only: true };
    for (depth, direct) in [(1, true), (1, false), (4, true), (4, false)] {
        let resolved = ResolvedFolder { shape, pattern, rule, direct, ..of_depth(depth) };
        let (outcome, tally, faults) = written(resolved, 2);
        let [reads, writes] = &outcome.kinds[..] else { panic!("two kinds") };
        assert_eq!((reads.errors, writes.errors), (0, 0));
        assert!(reads.count() > 0 && writes.count() > 0);
        assert_eq!(tally.returned, Some(4096 * reads.count()), "depth {depth}, direct {direct}");
        assert_eq!(tally.bytes, 4096 * writes.count(), "depth {depth}, direct {direct}");
        assert_eq!(tally.commits, writes.count(), "each is synced: depth {depth}");
        assert_eq!(faults, Some(Vec::new()), "depth {depth}, direct {direct}");
    }
}

#[test]
fn all_files_are_synced_after_so_many_requests_whoever_made_them() {
    let shape = FileSetShape { each: 256 << 10, files: 8, ..SHAPE };
    for depth in [1, 4] {
        let pattern = Pattern { in_order: false, reads: 60 };
        let rule = SyncRule::All { requests: 100 };
        let resolved = ResolvedFolder { shape, pattern, rule, direct: false, ..of_depth(depth) };
        let (outcome, tally, faults) = written(resolved, 3);
        let requests: u64 = outcome.kinds.iter().map(|kind| kind.count()).sum();
        // A round that is due before the one before is through takes its place.
        let most = requests / 100 * 8;
        assert!(tally.commits <= most, "{} syncs after {requests} requests", tally.commits);
        assert!(requests < 100 || tally.commits >= 8, "{} of {requests}", tally.commits);
        assert_eq!(faults, Some(Vec::new()));
    }
}

#[test]
fn a_write_that_was_acknowledged_and_is_gone_is_found() {
    let program = std::env::current_exe().unwrap();
    let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
    let place = TargetPlace::folder(folder.path());
    let pattern = Pattern { in_order: true, reads: 0 };
    let shape = FileSetShape { each: 64 << 10, ..SHAPE };
    let resolved = ResolvedFolder { pattern, shape, direct: false, ..of_depth(1) };
    resolved.load(&place, &mut |_, _| ()).unwrap();
    let before = std::fs::read(medium::path(folder.path(), 0)).unwrap();
    let running = resolved.open(&place).unwrap();
    // Each block is written.
    let plan = plan(1, 1, 16);
    let connect = |share: &ClientShare| running.driver(share, None);
    drive(&plan, connect, &AtomicBool::new(false), &mut quietly).unwrap();
    assert_eq!(running.check().unwrap(), Some(Vec::new()));
    // One block is again as it was before it was written.
    let file = File::options().write(true).open(medium::path(folder.path(), 0)).unwrap();
    file.write_all_at(&before[8192..12_288], 8192).unwrap();
    let faults = running.check().unwrap().unwrap();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].contains("byte 8192 an earlier write than the last"), "{faults:?}");
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

#[test]
fn on_a_device_a_trial_finds_what_an_earlier_one_left_and_writes_of_its_own_that_are_lost() {
    let program = std::env::current_exe().unwrap();
    let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
    let path = folder.path().join("device");
    std::fs::write(&path, vec![7; 128 << 10]).unwrap();
    let looped = Loop::over(&path).ok_or("no loop device can be had");
    let Some(looped) = needs(looped) else { return };
    let number = std::fs::metadata(&looped.0).unwrap().rdev();
    let device = RawDevice { path: looped.0.clone(), number, bytes: 128 << 10, sector: 4096 };
    let place = TargetPlace { device: Some(device), ..TargetPlace::default() };
    let pattern = Pattern { in_order: true, reads: 0 };
    let shape = FileSetShape { each: 64 << 10, ..SHAPE };
    let resolved = ResolvedFolder { pattern, shape, ..of_depth(1) };
    resolved.load(&place, &mut |_, _| ()).unwrap();
    let drive = |running: &dyn RunningTarget| {
        let connect = |share: &ClientShare| running.driver(share, None);
        // Each block is written.
        let plan = plan(1, 1, 16);
        drive(&plan, connect, &AtomicBool::new(false), &mut quietly).unwrap();
        running.drain().unwrap();
        assert_eq!(running.check().unwrap(), Some(Vec::new()));
        std::fs::read(&path).unwrap()
    };
    let first = drive(&*resolved.open(&place).unwrap());
    let running = resolved.open(&place).unwrap();
    assert_eq!(running.check().unwrap(), Some(Vec::new()), "whole pages, whoever wrote them");
    let second = drive(&*running);
    assert!(second[64 << 10..].iter().all(|byte| *byte == 7), "behind the size nothing is written");
    // One block is again as the first has left it.
    let file = File::options().write(true).open(&path).unwrap();
    file.write_all_at(&first[8192..12_288], 8192).unwrap();
    file.sync_all().unwrap();
    let faults = running.check().unwrap().unwrap();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].contains("byte 8192 an earlier write than the last"), "{faults:?}");
}

#[test]
fn writes_alone_are_the_only_kind_and_zeros_are_not_verified() {
    let pattern = Pattern { in_order: true, reads: 0 };
    let shape = FileSetShape { zeros: true, ..SHAPE };
    let resolved = ResolvedFolder { pattern, shape, rule: SyncRule::Dsync, ..of_depth(1) };
    let (outcome, tally, faults) = written(resolved, 1);
    assert_eq!(outcome.kinds.len(), 1);
    assert_eq!((tally.returned, tally.commits), (Some(0), outcome.kinds[0].count()));
    assert_eq!(faults, None);
}

#[test]
fn direct_reads_alone_leave_the_files_to_the_next_trial() {
    let leaves = |resolved: ResolvedFolder| {
        let subject = serde_json::to_value(resolved).unwrap();
        FolderTarget.leaves_files(&subject)
    };
    assert!(leaves(of_depth(1)) && leaves(of_depth(16)));
    assert!(
        !leaves(ResolvedFolder { direct: false, ..of_depth(1) }),
        "the page cache is to have them"
    );
    for reads in [0, 99] {
        let pattern = Pattern { in_order: false, reads };
        assert!(!leaves(ResolvedFolder { pattern, ..of_depth(1) }), "{reads} % reads");
    }
}

#[test]
fn what_fits_in_memory_is_told_with_what_to_change() {
    let all = in_page_cache(256 << 20, 3 << 30, false, EngineState::Warm);
    assert!(all.contains("268 MB of files, 3.2 GB of memory free: all of them fit"), "{all}");
    assert!(all.contains("`access` direct") && all.contains("`size`"), "{all}");
    let part = in_page_cache(1 << 30, 256 << 20, true, EngineState::Warm);
    assert!(part.contains("268 MB of memory at most: up to 25 % of the reads"), "{part}");
}

/// Reads and writes have a line each, and what is synced or around the page cache has none on writes.
#[test]
fn of_writes_that_nothing_syncs_the_plan_says_that_they_may_be_of_memory() {
    let told = |reads: u8, rule: SyncRule, direct: bool| {
        let pattern = Pattern { in_order: false, reads };
        let subject = ResolvedFolder { pattern, rule, direct, ..of_depth(1) };
        let subject = serde_json::to_value(subject).unwrap();
        FolderTarget.remark(&subject, Some(1 << 30), EngineState::Warm).unwrap_or_default()
    };
    let writes = told(0, SyncRule::Never, false);
    assert!(writes.contains("`sync` fdatasync:1 or `access` direct"), "{writes}");
    assert!(!writes.contains("all of them fit"), "{writes}");
    let both = told(50, SyncRule::Never, false);
    assert!(both.contains("all of them fit") && both.contains("fdatasync:1"), "{both}");
    assert_eq!(both.lines().count(), 2, "{both}");
    assert!(!told(100, SyncRule::Never, false).contains("fdatasync:1"));
    for (rule, direct) in [(SyncRule::Dsync, false), (SyncRule::Never, true)] {
        assert_eq!(told(0, rule, direct), "", "{direct}");
    }
}

/// What fits is not what is there.
#[test]
fn a_cold_cache_is_told_to_be_empty_at_the_start() {
    let empty = "it is empty at the start (`state` cold)";
    let all = in_page_cache(256 << 20, 3 << 30, false, EngineState::Cold);
    assert!(all.contains(&format!("3.2 GB of memory free: {empty}")), "{all}");
    assert!(all.contains("the first read of each block comes from the disk"), "{all}");
    let part = in_page_cache(1 << 30, 256 << 20, true, EngineState::Cold);
    assert!(part.contains(empty) && part.contains("once it is full, up to 25 %"), "{part}");
}
