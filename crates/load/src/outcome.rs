//! What a drive came to.

use std::time::Duration;

use hdrhistogram::Histogram;

use crate::slot::{Slot, kept};

/// What the clients did.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How long the clients ran: the plan's duration, or until they were stopped.
    pub ran: Duration,
    /// Whether they were stopped before the plan's end; the slots after that are not there.
    pub stopped: bool,
    /// Where the window starts and ends, in seconds from the clients' start.
    pub window_s: (f64, f64),
    /// One entry an operation, by its number.
    pub operations: Vec<Operation>,
    /// One entry a client, by its number.
    pub clients: Vec<ClientRun>,
    /// How many operations had started before the end and were over only after it. They are in no
    /// slot, and are no errors either.
    pub in_flight: usize,
    /// Processor time of the thread that collected the samples and showed the progress.
    pub collector_cpu: Duration,
}

/// What happened to one operation.
#[derive(Clone, Debug, Default)]
pub struct Operation {
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

impl Operation {
    /// The latencies in the window of an [`Outcome`], in nanoseconds.
    pub fn kept(&self, (from_s, to_s): (f64, f64)) -> Histogram<u64> {
        kept(&self.slots, from_s, to_s)
    }
}

/// One client's run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientRun {
    /// When its first operation started, in seconds from the clients' start.
    pub started_s: f64,
    /// When its last one was over.
    pub stopped_s: f64,
    /// Processor time of its thread between the two, whatever it was used for: the operations
    /// themselves and the recording.
    pub cpu: Duration,
    /// Seconds it spent handing over samples: in no operation's latency.
    pub handing_over_s: f64,
}
