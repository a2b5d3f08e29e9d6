//! A driver's end of the recorder: samples in batches, handed over without waiting for anybody.
//!
//! A histogram a driver would be some 150 kB a kind of operation, to be cleared and merged at the
//! end of every slot. A batch is a few kilobytes, holds operations of any kind and slot, and leaves
//! the sorting to the one thread that owns the histograms. Batches go round: a driver allocates
//! nothing once it runs.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};

use crate::halt::{Halt, MOST_FAILURES};
use crate::lanes::Lanes;
use crate::{ClockNanos, DriverClock, EndedOperation, OperationSink, WorkDone};

/// How many batches a driver has: it fills one while the others are with the collector.
pub(crate) const BATCHES: usize = 4;

/// How many samples fill a batch.
const SAMPLES: usize = 512;

/// A batch is handed over at the latest when it is this old, in nanoseconds, so that progress is
/// seen.
const OLDEST: ClockNanos = 200_000_000;

/// One operation that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperationSample {
    pub kind: u32,
    pub failed: bool,
    pub intended: ClockNanos,
    pub started: ClockNanos,
    pub ended: ClockNanos,
    pub work: WorkDone,
}

/// What a driver hands over.
pub(crate) struct Batch {
    pub driver: usize,
    pub samples: Vec<OperationSample>,
}

/// What a kind of operation came to at one driver, its latencies apart.
#[derive(Clone, Default)]
pub(crate) struct ErrorTally {
    pub errors: u64,
    /// How long these took together.
    pub errors_time: ClockNanos,
    pub retries: u64,
    /// When the first failure was, and what it said.
    pub first_error: Option<(ClockNanos, String)>,
}

/// A driver's way to the collector and back.
pub(crate) struct Channel {
    pub driver: usize,
    pub full: SyncSender<Batch>,
    pub empty: Receiver<Vec<OperationSample>>,
}

/// Keeps a driver's samples until a batch is worth handing over.
pub(crate) struct Recorder<'a> {
    clock: DriverClock,
    lanes: Arc<Lanes>,
    /// When the window ends at the earliest.
    until: ClockNanos,
    halt: &'a Halt<'a>,
    channel: Channel,
    samples: Vec<OperationSample>,
    handed_over: ClockNanos,
    /// Failures since the last success.
    failures: u32,
    pub tallies: Vec<ErrorTally>,
    /// When the last operation was over.
    pub last: ClockNanos,
    /// Time spent on handing over.
    pub handing_over: ClockNanos,
    /// The kind of operation that failed too often, and what it said last.
    pub gave_up: Option<(usize, String)>,
}

impl<'a> Recorder<'a> {
    pub fn new(
        clock: DriverClock,
        lanes: Arc<Lanes>,
        (until, kinds): (ClockNanos, usize),
        halt: &'a Halt<'a>,
        channel: Channel,
    ) -> Self {
        Self {
            clock,
            lanes,
            until,
            halt,
            channel,
            samples: new_samples(),
            handed_over: 0,
            failures: 0,
            tallies: vec![ErrorTally::default(); kinds],
            last: 0,
            handing_over: 0,
            gave_up: None,
        }
    }

    /// Hands over what is left.
    pub fn finish(&mut self) {
        // Without a collector the drive is lost anyway, and says why.
        let _ = self.hand_over(Vec::new());
    }

    /// Takes a failure; whether the driver goes on.
    fn fail(&mut self, operation: &EndedOperation, text: String) -> bool {
        let EndedOperation { kind, intended, ended, .. } = *operation;
        self.failures += 1;
        if self.failures == MOST_FAILURES {
            self.gave_up = Some((kind, text));
            self.halt.end();
            return false;
        }
        let tally = &mut self.tallies[kind];
        tally.errors += 1;
        tally.errors_time += ended - intended;
        tally.first_error.get_or_insert((ended, text));
        true
    }

    /// Hands a batch over and waits for an empty one; `None` when the collector went away.
    fn pass(&mut self, ended: ClockNanos) -> Option<ClockNanos> {
        let empty = self.channel.empty.recv().ok()?;
        self.hand_over(empty)?;
        self.handed_over = ended;
        // A clock that has not begun stands still, and handing over takes no time by it.
        let now = self.clock.now().max(ended);
        self.handing_over += now - ended;
        Some(now)
    }

    fn hand_over(&mut self, empty: Vec<OperationSample>) -> Option<()> {
        let samples = std::mem::replace(&mut self.samples, empty);
        self.channel.full.send(Batch { driver: self.channel.driver, samples }).ok()
    }
}

impl OperationSink for Recorder<'_> {
    fn clock(&self) -> DriverClock {
        self.clock
    }

    fn begin(&mut self, lane: usize, kind: usize, intended: ClockNanos) {
        self.lanes.begin(lane, kind, intended);
    }

    fn record(&mut self, mut operation: EndedOperation) -> Option<ClockNanos> {
        let error = operation.done.error.take();
        let EndedOperation { lane, kind, intended, started, ended, .. } = operation;
        self.lanes.end(lane);
        self.last = ended;
        self.tallies[kind].retries += operation.done.retries;
        let (failed, work) = (error.is_some(), operation.done.work);
        if error.is_none() {
            self.failures = 0;
        }
        if error.is_some_and(|text| !self.fail(&operation, text)) {
            return None;
        }
        self.samples.push(OperationSample {
            kind: kind as u32,
            failed,
            intended,
            started,
            ended,
            work,
        });
        // What had ended when the time was over decides whether the window goes on.
        let time_is_over = ended >= self.until && self.handed_over < self.until;
        let mut free = ended;
        if self.samples.len() == SAMPLES || ended - self.handed_over >= OLDEST || time_is_over {
            free = self.pass(ended)?;
        }
        (!self.halt.is_over()).then_some(free)
    }
}

/// The memory of a batch.
pub(crate) fn new_samples() -> Vec<OperationSample> {
    Vec::with_capacity(SAMPLES)
}
