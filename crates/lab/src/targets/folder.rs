//! The target `folder`: files on a disk, read by threads with as many requests in flight as their
//! depth says. The page cache is left out (`O_DIRECT`), so that it is the disk that answers.

mod file;
mod plain;
mod ring;

use std::fs::File;
use std::io::Write;
use std::path::Path;

use bakeoff_experiment::{Cell, Declared, Factor, WorkloadNames};
use bakeoff_load::{Blocking, Driver, Share};
use bakeoff_workloads::{Claims, Counts, FigureOfMerit, Name};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::file::{ALIGNMENT, DataFile};
use super::{About, Home, Processes, Running, Setup, Size, Subject, Target, Wanted};
use crate::TrialError;
use crate::place::Place;
use crate::place::images::Recipe;
use crate::refusal::Refusal;

/// Its workload.
const WORKLOAD: &str = "fileio";
/// What its clients do.
static OPERATIONS: [Name; 1] = [Name::Borrowed("read")];
/// Its scales: a name, and bytes of the file.
const SCALES: [(&str, u64); 3] = [("small", 64 << 20), ("medium", 1 << 30), ("large", 8 << 30)];
/// The deepest queue of a client.
const DEEPEST: usize = 1024;
/// Bytes that are written at once when the file is made.
const PIECE: usize = 1 << 20;
/// All requests in flight together have so many bytes at most.
const MOST_BUFFERS: u64 = 1 << 30;

/// How many requests a client has in flight.
static DEPTH: Declared = Declared {
    name: "depth",
    summary: "requests that each client has in flight at once",
    syntax: "1 to 1024; above 1 by io_uring",
    default: "1",
    canonical: |text| match text.parse::<usize>() {
        Ok(depth @ 1..=DEEPEST) => Ok(depth.to_string()),
        Ok(_) => {
            Err(format!("a client can't have {text} requests in flight\nvalid: 1 to {DEEPEST}"))
        }
        Err(_) => Err(format!("`{text}` is not a depth\nvalid: 1 to {DEEPEST}")),
    },
};

/// How much a request reads.
static BLOCK: Declared = Declared {
    name: "block",
    summary: "bytes that each request reads",
    syntax: "4K to 1M, a multiple of 4K",
    default: "4K",
    canonical: |text| match block_bytes(text) {
        Some(bytes) if bytes % (1 << 20) == 0 => Ok(format!("{}M", bytes >> 20)),
        Some(bytes) => Ok(format!("{}K", bytes >> 10)),
        None => {
            Err(format!("`{text}` is not a size of a block\nvalid: 4K to 1M, a multiple of 4K"))
        }
    },
};

/// The bytes of a level of [`BLOCK`].
fn block_bytes(text: &str) -> Option<usize> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let unit = match unit {
        "K" | "k" => 1 << 10,
        "M" | "m" => 1 << 20,
        _ => return None,
    };
    let bytes = digits.parse::<usize>().ok()?.checked_mul(unit)?;
    (bytes % ALIGNMENT == 0 && (ALIGNMENT..=1 << 20).contains(&bytes)).then_some(bytes)
}

/// The target.
pub struct Folder;

/// What it makes of a trial's levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Resolved {
    /// Bytes of the file.
    bytes: u64,
    /// Bytes of a request.
    block: usize,
    depth: usize,
    seed: u64,
}

impl Target for Folder {
    fn name(&self) -> &'static str {
        "folder"
    }

    fn workloads(&self) -> Vec<WorkloadNames> {
        vec![WorkloadNames {
            name: WORKLOAD.into(),
            scales: SCALES.map(|(name, _)| name.into()).into(),
            operations: OPERATIONS.iter().map(ToString::to_string).collect(),
            factors: vec![
                Factor::DISK,
                Factor::NEIGHBOURS,
                Factor::CLIENTS,
                Factor::RATE,
                Factor::SCALE,
                Factor::Declared(&BLOCK),
                Factor::Declared(&DEPTH),
            ],
            reads_back: false,
            takes_rows: Vec::new(),
            cut_by: Err(format!(
                "{WORKLOAD} only reads, so that it can't say what a power cut has taken"
            )),
        }]
    }

    fn about(&self, workload: &str) -> Option<About> {
        let scale = |(name, bytes): (&'static str, u64)| {
            (name.into(), format!("a file of {} MiB", bytes >> 20))
        };
        (workload == WORKLOAD).then(|| About {
            summary: "reads blocks of a file at random, around the page cache".into(),
            operations: OPERATIONS.to_vec(),
            figure_of_merit: FigureOfMerit::Operations,
            counts: Counts { rows: false, bytes: true },
            scales: SCALES.map(scale).into(),
        })
    }

    fn resolve(&self, wanted: &Wanted<'_>) -> Result<Setup, Refusal> {
        let Wanted { experiment, cell, .. } = wanted;
        let scale = cell.base(Factor::SCALE);
        let found = SCALES.iter().find(|(name, _)| *name == scale);
        let no_scale =
            || Refusal::of(cell, &[Factor::SCALE], format!("{WORKLOAD} has no such scale"));
        let (_, bytes) = *found.ok_or_else(no_scale)?;
        let depth = cell.base(Factor::Declared(&DEPTH)).parse().expect("a checked level");
        if depth > 1 {
            let refused = |why| Refusal::of(cell, &[Factor::Declared(&DEPTH)], why);
            ring::probe().map_err(|error| refused(no_ring(&error)))?;
        }
        let block = block_bytes(cell.base(Factor::Declared(&BLOCK))).expect("a checked level");
        room_for_buffers(cell, depth, block)?;
        let resolved = Resolved { bytes, block, depth, seed: experiment.seed };
        Ok(Setup {
            target: self.name(),
            subject: serde_json::to_value(resolved).expect("it is plain data"),
            recipe: Recipe {
                key: format!("{WORKLOAD} {scale}"),
                about: format!("{WORKLOAD} {scale} into a file"),
                into: WORKLOAD.into(),
            },
            groups: Vec::new(),
            shared: Vec::new(),
            home: Home::Files,
        })
    }

    fn size(&self, subject: &Value) -> Option<Size> {
        let resolved: Resolved = serde_json::from_value(subject.clone()).ok()?;
        Some(Size { rows: resolved.bytes, aged: 0, disk: resolved.bytes })
    }

    fn prepare(&self, subject: &Value) -> Result<Box<dyn Subject>, TrialError> {
        let wrong = |error| TrialError::process(format!("no subject: {error}"));
        let resolved: Resolved = serde_json::from_value(subject.clone()).map_err(wrong)?;
        Ok(Box::new(resolved))
    }
}

/// Refuses what would take all memory.
fn room_for_buffers(cell: &Cell, depth: usize, block: usize) -> Result<(), Refusal> {
    let bytes = (cell.clients() * depth * block) as u64;
    if bytes <= MOST_BUFFERS {
        return Ok(());
    }
    let why = format!(
        "they would take {} MiB of buffers; at most {} MiB: take fewer clients, a smaller depth or \
         smaller blocks",
        bytes >> 20,
        MOST_BUFFERS >> 20
    );
    let factors = [Factor::CLIENTS, Factor::Declared(&DEPTH), Factor::Declared(&BLOCK)];
    Err(Refusal::of(cell, &factors, why))
}

/// Why a depth above 1 can't be had.
fn no_ring(error: &std::io::Error) -> String {
    format!(
        "it takes io_uring, and this kernel does not give it ({error}): allow it (sysctl \
         kernel.io_uring_disabled=0, Linux 5.11 or later, no seccomp filter), or take depth 1"
    )
}

/// The folder that a place has for its file.
fn folder(place: &Place) -> Result<&Path, TrialError> {
    place.directory.as_deref().ok_or_else(|| TrialError::User("a folder has to be here".into()))
}

impl Subject for Resolved {
    /// Fills the file with bytes that nothing can compress.
    fn load(&self, place: &Place, loaded: &mut dyn FnMut(u64, u64)) -> Result<(), TrialError> {
        let failed = |error| TrialError::place("its file can't be written", error);
        let mut file = File::create_new(folder(place)?.join(file::NAME)).map_err(failed)?;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let (mut piece, mut written) = (vec![0; PIECE], 0);
        while written < self.bytes {
            random.fill_bytes(&mut piece);
            file.write_all(&piece).map_err(failed)?;
            written += PIECE as u64;
            loaded(written / PIECE as u64, written);
        }
        file.sync_all().map_err(failed)
    }

    fn open<'a>(&'a self, place: &Place) -> Result<Box<dyn Running + 'a>, TrialError> {
        let file = DataFile::open(folder(place)?, self.block)?;
        Ok(Box::new(Open { file, resolved: *self }))
    }
}

/// An open file and how it is read.
struct Open {
    file: DataFile,
    resolved: Resolved,
}

impl Running for Open {
    fn operations(&self) -> &[Name] {
        &OPERATIONS
    }

    fn concurrency(&self, clients: usize) -> usize {
        clients * self.resolved.depth
    }

    fn driver<'a>(
        &'a self,
        share: &Share,
        _: Option<Box<dyn Claims + 'a>>,
    ) -> Result<Box<dyn Driver + 'a>, TrialError> {
        let blocks = self.file.blocks(share.seed, share.clients.start);
        if self.resolved.depth == 1 {
            return Ok(Box::new(Blocking(plain::Reader::new(&self.file, blocks))));
        }
        let ring = ring::Ring::new(&self.file, blocks, self.resolved.depth);
        Ok(Box::new(ring.map_err(|error| TrialError::User(no_ring(&error)))?))
    }

    /// Nothing of it is ever cached.
    fn warm(&self) -> Result<(), TrialError> {
        Ok(())
    }

    /// Reads put nothing off.
    fn drain(&self) -> Result<(), TrialError> {
        Ok(())
    }

    /// Its clients are all there is.
    fn groups(&self) -> Vec<(&'static str, Processes)> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
    use std::time::Duration;

    use bakeoff_load::{
        Arrivals, Clock, Nanos, Operation, Outcome, Pace, Pacer, Plan, Progress, Record, drive,
    };

    use super::*;

    const BYTES: u64 = 4 << 20;

    fn of_depth(depth: usize) -> Resolved {
        Resolved { bytes: BYTES, block: 4096, depth, seed: 3 }
    }

    #[test]
    fn blocks_are_written_in_one_way_and_bounded() {
        let canonical = |text| (BLOCK.canonical)(text).ok();
        assert_eq!(canonical("16k").as_deref(), Some("16K"));
        assert_eq!(canonical("1024K").as_deref(), Some("1M"));
        for wrong in ["", "K", "4", "3K", "6K", "2M", "0K", "4KB", "99999999999999999999K", "é"] {
            assert_eq!(canonical(wrong), None, "{wrong}");
        }
    }

    fn quietly(_: &Progress) {}

    /// A driver, and the most requests that it ever had in flight.
    struct Counted<'a> {
        driver: Box<dyn Driver + 'a>,
        most: &'a AtomicUsize,
    }

    impl Driver for Counted<'_> {
        fn run(&mut self, pacer: &mut dyn Pacer, record: &mut dyn Record) {
            self.driver.run(pacer, &mut Counting { record, in_flight: 0, most: self.most });
        }

        fn lanes(&self) -> usize {
            self.driver.lanes()
        }
    }

    struct Counting<'a> {
        record: &'a mut dyn Record,
        in_flight: usize,
        most: &'a AtomicUsize,
    }

    impl Record for Counting<'_> {
        fn clock(&self) -> Clock {
            self.record.clock()
        }

        fn begin(&mut self, lane: usize, kind: usize, intended: Nanos) {
            self.in_flight += 1;
            self.most.fetch_max(self.in_flight, Relaxed);
            self.record.begin(lane, kind, intended);
        }

        fn record(&mut self, operation: Operation) -> Option<Nanos> {
            self.in_flight -= 1;
            self.record.record(operation)
        }
    }

    /// Drives a file of its own on the machine's disk; and the most requests that a client had in
    /// flight.
    fn driven(clients: usize, depth: usize, pace: Pace) -> (Outcome, usize) {
        // Not the system's temporary folder: that may be in memory.
        let program = std::env::current_exe().unwrap();
        let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
        let place = Place::folder(folder.path());
        let resolved = of_depth(depth);
        resolved.load(&place, &mut |_, _| ()).unwrap();
        let running = resolved.open(&place).unwrap();
        assert_eq!(running.concurrency(clients), clients * depth);
        let plan = Plan { pace, ..Plan::closed(clients, 1, Duration::from_secs(1)) };
        let most = AtomicUsize::new(0);
        let connect = |share: &Share| {
            let driver = running.driver(share, None)?;
            Ok::<_, TrialError>(Box::new(Counted { driver, most: &most }) as Box<dyn Driver>)
        };
        let outcome = drive(&plan, connect, &AtomicBool::new(false), &mut quietly).unwrap();
        (outcome, most.into_inner())
    }

    fn in_flight(outcome: &Outcome) -> f64 {
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
            assert!(
                all.contains(&kind.kept.len()),
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
            let pace = Pace::Open { per_second: 400.0, arrivals: &Arrivals::EVEN, seed: 1 };
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
        fn run(&mut self, _: &mut dyn Pacer, record: &mut dyn Record) {
            let second = record.clock().now() + if self.in_an_hour { HOUR } else { SOON };
            let mut starts = TwoStarts { given: 0, second };
            let waits_for = if self.in_an_hour { 0 } else { second };
            self.driver.run(&mut starts, &mut Last { record, waits_for, ended: self.ended });
        }

        fn lanes(&self) -> usize {
            self.driver.lanes()
        }
    }

    const SOON: Nanos = 100_000_000;
    const HOUR: Nanos = 3_600_000_000_000;

    /// The first start is at once.
    struct TwoStarts {
        given: u32,
        second: Nanos,
    }

    impl Pacer for TwoStarts {
        fn next(&mut self, free: Nanos) -> Option<Nanos> {
            self.given += 1;
            [free, self.second].get(self.given as usize - 1).copied()
        }

        fn wait(&mut self, _: Nanos) -> Option<Nanos> {
            None
        }
    }

    /// Each operation that ends is the last.
    struct Last<'a> {
        record: &'a mut dyn Record,
        waits_for: Nanos,
        ended: &'a AtomicUsize,
    }

    impl Record for Last<'_> {
        fn clock(&self) -> Clock {
            self.record.clock()
        }

        fn begin(&mut self, lane: usize, kind: usize, intended: Nanos) {
            self.record.begin(lane, kind, intended);
        }

        fn record(&mut self, operation: Operation) -> Option<Nanos> {
            while self.clock().now() < self.waits_for {}
            self.ended.fetch_add(1, Relaxed);
            self.record.record(operation).and(None)
        }
    }

    #[test]
    fn a_ring_that_is_told_of_the_end_starts_what_is_due_and_nothing_else() {
        let program = std::env::current_exe().unwrap();
        let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
        let place = Place::folder(folder.path());
        let resolved = of_depth(4);
        resolved.load(&place, &mut |_, _| ()).unwrap();
        let running = resolved.open(&place).unwrap();
        for (in_an_hour, operations) in [(false, 2), (true, 1)] {
            let ended = AtomicUsize::new(0);
            let connect = |share: &Share| {
                let driver = running.driver(share, None)?;
                let told = ToldOfTheEnd { driver, in_an_hour, ended: &ended };
                Ok::<_, TrialError>(Box::new(told) as Box<dyn Driver>)
            };
            let plan = Plan::closed(1, 1, Duration::from_secs(1));
            drive(&plan, connect, &AtomicBool::new(false), &mut quietly).unwrap();
            assert_eq!(ended.into_inner(), operations, "in an hour: {in_an_hour}");
        }
    }

    #[test]
    fn a_file_that_ends_too_early_fails_its_reads() {
        let program = std::env::current_exe().unwrap();
        for depth in [1, 4] {
            let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
            let place = Place::folder(folder.path());
            let resolved = of_depth(depth);
            resolved.load(&place, &mut |_, _| ()).unwrap();
            let running = resolved.open(&place).unwrap();
            let file = File::options().write(true).open(folder.path().join(file::NAME)).unwrap();
            file.set_len(4096).unwrap();
            let connect = |share: &Share| running.driver(share, None);
            let plan = Plan::closed(1, 1, Duration::from_secs(5));
            let error = drive(&plan, connect, &AtomicBool::new(false), &mut quietly).unwrap_err();
            assert!(error.to_string().contains("gave up"), "{error}");
        }
    }

    #[test]
    fn a_kernel_without_rings_is_told_of_with_the_remedy() {
        let error = no_ring(&std::io::Error::from_raw_os_error(38));
        assert!(error.contains("it takes io_uring"), "{error}");
        assert!(error.contains("io_uring_disabled=0") && error.contains("depth 1"), "{error}");
    }
}
