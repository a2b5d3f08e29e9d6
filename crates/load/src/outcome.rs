//! The outcome of a drive.

use std::ops::AddAssign;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::WorkDone;
use crate::slot::{LatencySlot, merged};

/// What the drivers did.
#[derive(Clone, Debug)]
pub struct DriveOutcome {
    /// How long they ran, until the last operation that they had begun was over.
    pub ran: Duration,
    /// Whether they were stopped before the window had ended.
    pub stopped: bool,
    /// Where the window starts and ends, in seconds from the drivers' start.
    pub window_s: (f64, f64),
    /// One entry a kind of operation, by its number.
    pub kinds: Vec<KindOutcome>,
    /// One entry a driver that has come home, by its number.
    pub drivers: Vec<DriverRun>,
    /// How many operations that count were still in flight when the window ended.
    pub in_flight: u64,
    /// What came of the schedule of an open loop.
    pub open: Option<OpenLoopOutcome>,
    /// Processor time of the thread that collected the samples and showed the progress.
    pub collector_cpu: Duration,
}

/// What happened to one kind of operation.
#[derive(Clone, Debug)]
pub struct KindOutcome {
    /// The latencies of operations that were to start in the window and did not fail, in nanoseconds,
    /// to 3 significant digits: from an operation's intended start to its end, or to the plan's cap
    /// where it had not ended by then.
    pub kept: Histogram<u64>,
    /// The same from each operation's real start; in an open loop alone.
    pub service: Option<Histogram<u64>>,
    /// How many of these had not ended at the cap.
    pub unfinished: u64,
    /// What ended in the window and did not fail, whenever it started.
    pub ended: EndedInWindow,
    /// What all operations did that did not fail, in the window and outside of it.
    pub work_in_all: WorkDone,
    /// Every slot, in order. An operation belongs to the slot in which it ended; one that failed
    /// belongs to none.
    pub slots: Vec<LatencySlot>,
    /// How many failed.
    pub errors: u64,
    /// How long those took together.
    pub errors_time: Duration,
    /// How often a part of one had to be run again, whether it succeeded in the end or not.
    pub retries: u64,
    /// What the first failure said.
    pub first_error: Option<String>,
}

impl KindOutcome {
    /// How many succeeded, in the window and outside of it.
    pub fn count(&self) -> u64 {
        self.slots.iter().map(|slot| slot.histogram.len()).sum()
    }

    /// The latencies of these, in nanoseconds.
    pub fn all(&self) -> Histogram<u64> {
        merged(&self.slots)
    }
}

impl DriveOutcome {
    /// How long the window is, in seconds.
    pub fn window_length_s(&self) -> f64 {
        self.window_s.1 - self.window_s.0
    }

    /// Operations of each kind a second, by its number: those that ended in the window and did not
    /// fail, over its length. An operation at an edge of the window counts or not, so that a rate is
    /// off by one operation a client at most.
    pub fn rates(&self) -> Vec<f64> {
        let length = self.window_length_s();
        self.kinds.iter().map(|kind| kind.ended.operations as f64 / length).collect()
    }

    /// What all kinds together come to a second, counted as in [`DriveOutcome::rates`].
    pub fn totals(&self) -> Totals {
        let length = self.window_length_s();
        let a_second = |number: fn(&EndedInWindow) -> u64| {
            self.kinds.iter().map(|kind| number(&kind.ended)).sum::<u64>() as f64 / length
        };
        Totals {
            operations: a_second(|ended| ended.operations),
            rows: a_second(|ended| ended.work.rows),
            bytes: a_second(|ended| ended.work.bytes),
        }
    }

    /// Operations a second by Little's law, from the mean time of a client's cycle, `in_flight`
    /// operations being in flight at any time: a check of the counted rate. Where some operations
    /// wait much longer than the window, their latencies hold more time than the clients had, and
    /// this rate is too low. Where an operation had not ended at the cap, it is an upper bound.
    /// `None` in an open loop, whose clients wait for work, and where no operation took any time.
    pub fn littles_rate(&self, in_flight: usize) -> Option<f64> {
        let time = |kind: &KindOutcome| {
            let mean = if kind.kept.is_empty() { 0.0 } else { kind.kept.mean() / 1e9 };
            kind.count() as f64 * mean + kind.errors_time.as_secs_f64()
        };
        let busy: f64 = self.kinds.iter().map(time).sum();
        let count: u64 = self.kinds.iter().map(KindOutcome::count).sum();
        (self.open.is_none() && busy > 0.0).then(|| in_flight as f64 * count as f64 / busy)
    }

    /// How many operations that count lasted at least as long as the window: each kept its client
    /// from anything else for all that time.
    pub fn starved(&self) -> u64 {
        let length = (self.window_length_s() * 1e9) as u64;
        self.kinds.iter().map(|kind| kind.kept.count_between(length, u64::MAX)).sum()
    }
}

/// What ended in the window and did not fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndedInWindow {
    /// How many operations.
    pub operations: u64,
    /// What these did.
    pub work: WorkDone,
}

impl AddAssign for EndedInWindow {
    fn add_assign(&mut self, other: Self) {
        self.operations += other.operations;
        self.work += other.work;
    }
}

/// What all kinds of operations come to a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Operations that succeeded.
    pub operations: f64,
    /// Their rows.
    pub rows: f64,
    /// Their bytes.
    pub bytes: f64,
}

/// How an open loop's schedule was kept.
#[derive(Clone, Debug)]
pub struct OpenLoopOutcome {
    /// How many operations were due a second.
    pub per_second: f64,
    /// How many were due until the window ended.
    pub due: u64,
    /// How many of them had not started then.
    pub not_started: u64,
    /// The most at once that were due and had not started.
    pub most_waiting: u64,
    /// By how much operations started after their time, in nanoseconds.
    pub start_delay: Histogram<u64>,
}

/// One driver's run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriverRun {
    /// When it started, in seconds from the drivers' start.
    pub started_s: f64,
    /// When its last operation was over.
    pub stopped_s: f64,
    /// Processor time of its thread between the two, whatever it was used for: the operations
    /// themselves and the recording.
    pub cpu: Duration,
    /// How long its thread was ready to run between the two and had no processor; `None` where the
    /// kernel does not tell.
    pub run_delay: Option<Duration>,
    /// Seconds it spent handing over samples: in no operation's latency.
    pub handing_over_s: f64,
}
