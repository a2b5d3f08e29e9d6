use std::ops::AddAssign;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::WorkAmount;
use crate::cpu::ThreadScheduling;
use crate::slot::{LatencySlot, merge_slots};

#[derive(Clone, Debug)]
pub struct DriveOutcome {
    pub ran: Duration,
    /// Before the window had ended.
    pub stopped: bool,
    /// From the drivers' start.
    pub window_s: (f64, f64),
    pub kinds: Vec<KindOutcome>,
    pub drivers: Vec<DriverRun>,
    pub in_flight: u64,
    /// `None` for a closed loop.
    pub open: Option<OpenLoopOutcome>,
    pub collector_cpu: Duration,
}

#[derive(Clone, Debug)]
pub struct KindOutcome {
    /// Latencies of operations that were to start in the window and did not fail: nanoseconds to 3
    /// digits, from the intended start to the end or the cap.
    pub kept: Histogram<u64>,
    /// From the real start; `None` in a closed loop.
    pub service: Option<Histogram<u64>>,
    pub unfinished: u64,
    /// Operations that ended in the window without failing, whenever they started.
    pub ended: WindowTally,
    pub work_in_all: WorkAmount,
    /// In order; operations are in the slot in which they ended, failed ones in none.
    pub slots: Vec<LatencySlot>,
    pub errors: u64,
    pub errors_time: Duration,
    pub retries: u64,
    pub first_error: Option<String>,
}

impl KindOutcome {
    pub fn count_succeeded(&self) -> u64 {
        self.slots.iter().map(|slot| slot.histogram.len()).sum()
    }

    pub fn merge_latencies(&self) -> Histogram<u64> {
        merge_slots(&self.slots)
    }
}

impl DriveOutcome {
    pub fn window_length_s(&self) -> f64 {
        self.window_s.1 - self.window_s.0
    }

    /// By kind: operations that ended in the window without failing, over its length. At its edges
    /// a rate is off by at most one operation a client.
    pub fn rates(&self) -> Vec<f64> {
        let length = self.window_length_s();
        self.kinds.iter().map(|kind| kind.ended.operations as f64 / length).collect()
    }

    /// Of all kinds, counted as in [`DriveOutcome::rates`].
    pub fn totals(&self) -> Totals {
        let length = self.window_length_s();
        let a_second = |number: fn(&WindowTally) -> u64| {
            self.kinds.iter().map(|kind| number(&kind.ended)).sum::<u64>() as f64 / length
        };
        Totals {
            operations: a_second(|ended| ended.operations),
            rows: a_second(|ended| ended.work.rows),
            bytes: a_second(|ended| ended.work.bytes),
        }
    }

    /// Operations a second by Little's law, from a client's mean cycle with `in_flight` operations
    /// at any time: a check of the counted rate. Too low if some operations wait longer than the
    /// window, an upper bound if one was cut off at the cap. `None` in an open loop, and if no
    /// operation took any time.
    pub fn littles_rate(&self, in_flight: usize) -> Option<f64> {
        let time = |kind: &KindOutcome| {
            let mean = if kind.kept.is_empty() { 0.0 } else { kind.kept.mean() / 1e9 };
            kind.count_succeeded() as f64 * mean + kind.errors_time.as_secs_f64()
        };
        let busy: f64 = self.kinds.iter().map(time).sum();
        let count: u64 = self.kinds.iter().map(KindOutcome::count_succeeded).sum();
        (self.open.is_none() && busy > 0.0).then(|| in_flight as f64 * count as f64 / busy)
    }

    /// Operations at least as long as the window: each kept its client from anything else.
    pub fn count_starved(&self) -> u64 {
        let length = (self.window_length_s() * 1e9) as u64;
        self.kinds.iter().map(|kind| kind.kept.count_between(length, u64::MAX)).sum()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowTally {
    pub operations: u64,
    pub work: WorkAmount,
}

impl AddAssign for WindowTally {
    fn add_assign(&mut self, other: Self) {
        self.operations += other.operations;
        self.work += other.work;
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    pub operations: f64,
    pub rows: f64,
    pub bytes: f64,
}

#[derive(Clone, Debug)]
pub struct OpenLoopOutcome {
    pub per_second: f64,
    pub due: u64,
    pub not_started: u64,
    /// The most operations that were due and not started at the same time.
    pub most_waiting: u64,
    /// By how much operations started late, in nanoseconds.
    pub start_delay: Histogram<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriverRun {
    /// Seconds from the drivers' start, as the next one.
    pub started_s: f64,
    pub stopped_s: f64,
    /// Processor time of its thread, for operations and recording.
    pub cpu: Duration,
    /// `None` if the kernel does not tell.
    pub scheduling: Option<ThreadScheduling>,
    /// Time to hand samples over, which is in no operation's latency.
    pub handing_over_s: f64,
    /// It was to be scheduled as batch work, and the system refused that.
    pub batch_refused: bool,
}
