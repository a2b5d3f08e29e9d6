//! The outcome of a drive.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::Work;
use crate::slot::{Slot, merged};

/// What the drivers did.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How long they ran, until the last operation that they had begun was over.
    pub ran: Duration,
    /// Whether they were stopped before the window had ended.
    pub stopped: bool,
    /// Where the window starts and ends, in seconds from the drivers' start.
    pub window_s: (f64, f64),
    /// One entry a kind of operation, by its number.
    pub kinds: Vec<Kind>,
    /// One entry a driver that has come home, by its number.
    pub drivers: Vec<Driven>,
    /// How many operations that count were still in flight when the window ended.
    pub in_flight: u64,
    /// What came of the schedule of an open loop.
    pub open: Option<OpenLoop>,
    /// Processor time of the thread that collected the samples and showed the progress.
    pub collector_cpu: Duration,
}

/// What happened to one kind of operation.
#[derive(Clone, Debug)]
pub struct Kind {
    /// The latencies of operations that were to start in the window and did not fail, in nanoseconds,
    /// to 3 significant digits: from an operation's intended start to its end, or to the plan's cap
    /// where it had not ended by then.
    pub kept: Histogram<u64>,
    /// The same from each operation's real start; in an open loop alone.
    pub service: Option<Histogram<u64>>,
    /// How many of these had not ended at the cap.
    pub unfinished: u64,
    /// What the others did.
    pub work: Work,
    /// What all operations did that did not fail, in the window and outside of it.
    pub work_in_all: Work,
    /// Every slot, in order. An operation belongs to the slot in which it ended; one that failed
    /// belongs to none.
    pub slots: Vec<Slot>,
    /// How many failed.
    pub errors: u64,
    /// How long those took together.
    pub errors_time: Duration,
    /// How often a part of one had to be run again, whether it succeeded in the end or not.
    pub retries: u64,
    /// What the first failure said.
    pub first_error: Option<String>,
}

impl Kind {
    /// How many succeeded, in the window and outside of it.
    pub fn count(&self) -> u64 {
        self.slots.iter().map(|slot| slot.histogram.len()).sum()
    }

    /// The latencies of these, in nanoseconds.
    pub fn all(&self) -> Histogram<u64> {
        merged(&self.slots)
    }
}

impl Outcome {
    /// Operations of each kind a second, by its number, those that failed among them: from the mean
    /// time of a client's cycle, `in_flight` operations being in flight at any time (Little's law).
    /// In an open loop the schedule decides, and what was to start in the window is divided by its
    /// length.
    ///
    /// A rate that is counted in a window is off by the operations at its edges: of clients that
    /// take turns between two kinds it finds one more often than the other.
    pub fn rates(&self, in_flight: usize) -> Vec<f64> {
        if self.open.is_some() {
            let length = self.window_s.1 - self.window_s.0;
            return self.kinds.iter().map(|kind| kind.kept.len() as f64 / length).collect();
        }
        let started = |kind: &Kind| (kind.count() + kind.errors) as f64;
        self.kinds.iter().map(|kind| self.cycles(in_flight) * started(kind)).collect()
    }

    /// What all kinds together come to a second, without what failed. Where an operation had not ended
    /// at the cap, these are upper bounds: the clients' cycles were longer than was seen.
    ///
    /// An operation that failed is none of these, and its time is in the others' way: in a closed loop
    /// of one kind without failures the rate is `in_flight` over the mean time.
    pub fn totals(&self, in_flight: usize) -> Totals {
        let length = self.window_s.1 - self.window_s.0;
        let mut totals = Totals::default();
        for kind in &self.kinds {
            let rate = match &self.open {
                Some(_) => kind.kept.len() as f64 / length,
                None => self.cycles(in_flight) * kind.count() as f64,
            };
            totals.operations += rate;
            // Those that did not end did nothing that could be counted: they are taken to be like the
            // others of their kind.
            let ended = kind.kept.len() - kind.unfinished;
            if ended > 0 {
                totals.rows += rate * kind.work.rows as f64 / ended as f64;
                totals.bytes += rate * kind.work.bytes as f64 / ended as f64;
            }
        }
        totals
    }

    /// How often a second the clients of a closed loop would do what they did on the whole.
    fn cycles(&self, in_flight: usize) -> f64 {
        let time = |kind: &Kind| {
            let mean = if kind.kept.is_empty() { 0.0 } else { kind.kept.mean() / 1e9 };
            kind.count() as f64 * mean + kind.errors_time.as_secs_f64()
        };
        let busy: f64 = self.kinds.iter().map(time).sum();
        if busy > 0.0 { in_flight as f64 / busy } else { 0.0 }
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
pub struct OpenLoop {
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
pub struct Driven {
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
