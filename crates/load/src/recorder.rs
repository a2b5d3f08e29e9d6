//! A client's end of the recorder: samples in batches, handed over without waiting for anybody.
//!
//! A histogram a client would be some 150 kB an operation, to be cleared and merged at the end of
//! every slot. A batch is a few kilobytes, holds operations of any kind and slot, and leaves the
//! sorting to the one thread that owns the histograms. Batches go round: a client allocates
//! nothing once it runs.

use std::sync::mpsc::{Receiver, SyncSender};
use std::time::{Duration, Instant};

/// How many batches a client has: it fills one while the others are with the collector.
pub(crate) const BATCHES: usize = 4;

/// How many samples fill a batch.
const SAMPLES: usize = 512;

/// A batch is handed over at the latest when it is this old, in nanoseconds, so that progress is
/// seen.
const OLDEST: u64 = 200_000_000;

/// One operation that succeeded; times in nanoseconds since the clients' start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub operation: usize,
    pub ended: u64,
    pub latency: u64,
}

/// What a client hands over.
pub(crate) struct Batch {
    pub client: usize,
    pub samples: Vec<Sample>,
}

/// Time since the clients' start.
#[derive(Clone, Copy)]
pub(crate) struct Clock(pub Instant);

impl Clock {
    /// Nanoseconds since the start; 0 before it.
    pub fn now(self) -> u64 {
        nanoseconds(Instant::now().saturating_duration_since(self.0))
    }
}

/// A duration as nanoseconds, without the detour over 128 bits.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    duration.as_secs() * 1_000_000_000 + u64::from(duration.subsec_nanos())
}

/// The collector went away.
#[derive(Debug)]
pub(crate) struct Gone;

/// Keeps a client's samples until a batch is worth handing over.
pub(crate) struct Recorder {
    client: usize,
    samples: Vec<Sample>,
    handed_over: u64,
    full: SyncSender<Batch>,
    empty: Receiver<Vec<Sample>>,
}

impl Recorder {
    /// A recorder with its first batch; the others wait in `empty`.
    pub fn new(client: usize, full: SyncSender<Batch>, empty: Receiver<Vec<Sample>>) -> Self {
        Self { client, samples: new_samples(), handed_over: 0, full, empty }
    }

    /// Keeps a sample; true when a batch was handed over, which may have taken some time.
    pub fn record(&mut self, sample: Sample) -> Result<bool, Gone> {
        self.samples.push(sample);
        let due = self.samples.len() == SAMPLES || sample.ended - self.handed_over >= OLDEST;
        if due {
            let empty = self.empty.recv().map_err(|_| Gone)?;
            self.hand_over(empty)?;
            self.handed_over = sample.ended;
        }
        Ok(due)
    }

    /// Hands over what is left.
    pub fn finish(mut self) -> Result<(), Gone> {
        self.hand_over(Vec::new())
    }

    fn hand_over(&mut self, empty: Vec<Sample>) -> Result<(), Gone> {
        let samples = std::mem::replace(&mut self.samples, empty);
        self.full.send(Batch { client: self.client, samples }).map_err(|_| Gone)
    }
}

/// The memory of a batch.
pub(crate) fn new_samples() -> Vec<Sample> {
    Vec::with_capacity(SAMPLES)
}
