//! A driver's end of the recorder: samples in batches, handed over without waiting.
//!
//! A histogram a driver would be 150 kB a kind, to be cleared and merged every slot. A batch is a
//! few kilobytes of any kinds and slots, and batches go round, so that a running driver allocates
//! nothing.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender};

use crate::halt::{MOST_FAILURES, StopSignal};
use crate::lanes::Lanes;
use crate::{ClockNanos, DriverClock, EndedOperation, OperationSink, WorkAmount};

/// One is filled while the others are with the collector.
pub(crate) const BATCHES: usize = 4;

/// For so many drivers the larger batch is cheap: handing one over wakes the collector.
const FEW_DRIVERS: usize = 64;
const SAMPLES: [usize; 2] = [2048, 512];

/// The latest handing over, in nanoseconds, so that progress is seen.
const OLDEST: ClockNanos = 200_000_000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct OperationSample {
    pub kind: u32,
    pub failed: bool,
    pub intended: ClockNanos,
    pub started: ClockNanos,
    pub ended: ClockNanos,
    rows: u64,
    bytes: u64,
    counts: [u32; WorkAmount::COUNTS],
}

impl OperationSample {
    pub fn new(operation: &EndedOperation, failed: bool) -> Self {
        let EndedOperation { kind, intended, started, ended, done, .. } = operation;
        let WorkAmount { rows, bytes, counts } = done.work;
        // No operation does anything four billion times.
        let counts = counts.map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        let (kind, intended, started, ended) = (*kind as u32, *intended, *started, *ended);
        Self { kind, failed, intended, started, ended, rows, bytes, counts }
    }

    pub fn work(&self) -> WorkAmount {
        let Self { rows, bytes, counts, .. } = *self;
        WorkAmount { rows, bytes, counts: counts.map(u64::from) }
    }
}

pub(crate) struct Batch {
    pub driver: usize,
    pub samples: Vec<OperationSample>,
}

#[derive(Clone, Default)]
pub(crate) struct ErrorTally {
    pub errors: u64,
    pub errors_time: ClockNanos,
    pub retries: u64,
    pub first_error: Option<(ClockNanos, String)>,
}

pub(crate) struct Channel {
    pub driver: usize,
    /// The samples of a batch.
    pub size: usize,
    pub full: SyncSender<Batch>,
    pub empty: Receiver<Vec<OperationSample>>,
}

pub(crate) struct Recorder<'a> {
    clock: DriverClock,
    lanes: Arc<Lanes>,
    until: ClockNanos,
    halt: &'a StopSignal<'a>,
    channel: Channel,
    samples: Vec<OperationSample>,
    handed_over: ClockNanos,
    /// Since the last success.
    failures: u32,
    pub tallies: Vec<ErrorTally>,
    pub last: ClockNanos,
    pub handing_over: ClockNanos,
    /// The kind that failed too often, and its last text.
    pub gave_up: Option<(usize, String)>,
}

impl<'a> Recorder<'a> {
    pub fn new(
        clock: DriverClock,
        lanes: Arc<Lanes>,
        (until, kinds): (ClockNanos, usize),
        halt: &'a StopSignal<'a>,
        channel: Channel,
    ) -> Self {
        Self {
            clock,
            lanes,
            until,
            halt,
            samples: Vec::with_capacity(channel.size),
            channel,
            handed_over: 0,
            failures: 0,
            tallies: vec![ErrorTally::default(); kinds],
            last: 0,
            handing_over: 0,
            gave_up: None,
        }
    }

    pub fn finish(&mut self) {
        // Without a collector the drive has failed already, and says why.
        let _ = self.hand_over(Vec::new());
    }

    fn record_failure(&mut self, operation: &EndedOperation, text: String) -> bool {
        let EndedOperation { kind, intended, ended, .. } = *operation;
        self.failures += 1;
        if self.failures == MOST_FAILURES {
            self.gave_up = Some((kind, text));
            self.halt.end_drive();
            return false;
        }
        let tally = &mut self.tallies[kind];
        tally.errors += 1;
        tally.errors_time += ended - intended;
        tally.first_error.get_or_insert((ended, text));
        true
    }

    /// Hands a batch over and waits for an empty one; `None` without a collector.
    fn hand_over_batch(&mut self, ended: ClockNanos) -> Option<ClockNanos> {
        let empty = self.channel.empty.recv().ok()?;
        self.hand_over(empty)?;
        self.handed_over = ended;
        // A clock that has not begun stands still; handing over then takes no time.
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

    fn begin_operation(&mut self, lane: usize, kind: usize, intended: ClockNanos) {
        self.lanes.begin(lane, kind, intended);
    }

    fn record(&mut self, mut operation: EndedOperation) -> Option<ClockNanos> {
        let error = operation.done.error.take();
        let EndedOperation { lane, kind, ended, .. } = operation;
        self.lanes.end(lane);
        self.last = ended;
        self.tallies[kind].retries += operation.done.retries;
        let failed = error.is_some();
        if !failed {
            self.failures = 0;
        }
        if error.is_some_and(|text| !self.record_failure(&operation, text)) {
            return None;
        }
        self.samples.push(OperationSample::new(&operation, failed));
        // Operations that ended by then decide whether the window goes on.
        let time_is_over = ended >= self.until && self.handed_over < self.until;
        let mut free = ended;
        if self.samples.len() == self.channel.size
            || ended - self.handed_over >= OLDEST
            || time_is_over
        {
            free = self.hand_over_batch(ended)?;
        }
        (!self.halt.is_over()).then_some(free)
    }
}

pub(crate) fn batch_size(drivers: usize) -> usize {
    SAMPLES[usize::from(drivers > FEW_DRIVERS)]
}
