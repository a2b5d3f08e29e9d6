//! What a drive came to.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::slot::{Slot, kept};

/// What the drivers did.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How long they ran: the plan's duration, or until they were stopped.
    pub ran: Duration,
    /// Whether they were stopped before the plan's end; the slots after that are not there.
    pub stopped: bool,
    /// Where the window starts and ends, in seconds from the drivers' start.
    pub window_s: (f64, f64),
    /// One entry a kind of operation, by its number.
    pub kinds: Vec<Kind>,
    /// One entry a driver, by its number.
    pub drivers: Vec<Driven>,
    /// How many operations had started before the end and were over only after it. They are in no
    /// slot, and are no errors either.
    pub in_flight: u64,
    /// What came of the schedule of an open loop.
    pub open: Option<OpenLoop>,
    /// Processor time of the thread that collected the samples and showed the progress.
    pub collector_cpu: Duration,
}

/// What happened to one kind of operation.
#[derive(Clone, Debug, Default)]
pub struct Kind {
    /// Every slot, in order. An operation belongs to the slot in which it ended; one that failed
    /// belongs to none.
    pub slots: Vec<Slot>,
    /// How many failed.
    pub errors: u64,
    /// How often a part of one had to be run again, whether it succeeded in the end or not.
    pub retries: u64,
    /// What the first failure said.
    pub first_error: Option<String>,
}

impl Kind {
    /// The latencies in the window of an [`Outcome`], in nanoseconds.
    pub fn kept(&self, (from_s, to_s): (f64, f64)) -> Histogram<u64> {
        kept(&self.slots, from_s, to_s)
    }

    /// How many succeeded, in all slots.
    pub fn count(&self) -> u64 {
        self.slots.iter().map(|slot| slot.histogram.len()).sum()
    }
}

/// What came of an open loop's schedule.
#[derive(Clone, Debug)]
pub struct OpenLoop {
    /// How many operations were due a second.
    pub per_second: f64,
    /// How many were due and had not started when the time was over.
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
