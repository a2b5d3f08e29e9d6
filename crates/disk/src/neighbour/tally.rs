//! Counts what neighbours did.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::file::BLOCK;

/// A request that starts this much after it was due is late.
const LATE: Duration = Duration::from_millis(1);

/// Requests that must lie beyond a quantile before it is told.
const BEYOND: f64 = 100.0;

/// What was done up to a moment.
#[derive(Clone, Debug)]
pub(super) struct NeighbourTally {
    reads: u64,
    writes: u64,
    late: u64,
    latency: Duration,
    /// In nanoseconds.
    histogram: Histogram<u64>,
    error: Option<String>,
}

impl NeighbourTally {
    pub fn new() -> Self {
        let histogram = Histogram::new(3).expect("3 is a number of digits it can have");
        let latency = Duration::ZERO;
        Self { reads: 0, writes: 0, late: 0, latency, histogram, error: None }
    }

    /// Counts a request that was due at a time, began at another and is over now.
    pub fn add(&mut self, is_read: bool, due: Instant, began: Instant) {
        let latency = due.elapsed();
        *if is_read { &mut self.reads } else { &mut self.writes } += 1;
        self.late += u64::from(began.saturating_duration_since(due) > LATE);
        self.latency += latency;
        let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.histogram.record(nanoseconds).expect("a histogram that grows takes any value");
    }

    /// Keeps the first error's text.
    pub fn fail(&mut self, error: &dyn std::error::Error) {
        self.error.get_or_insert_with(|| error.to_string());
    }
}

/// What was done up to a moment, to be compared with another moment.
#[derive(Clone, Debug)]
pub struct NeighbourSnapshot {
    pub(super) at: Instant,
    pub(super) tally: NeighbourTally,
    pub(super) intended_per_second: Option<f64>,
}

/// What neighbours did in a stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub struct NeighbourReport {
    /// How many requests were done.
    pub requests: u64,
    /// How many of them were reads.
    pub reads: u64,
    /// How many of them were writes.
    pub writes: u64,
    /// How long the stretch was.
    pub seconds: f64,
    /// Requests a second that were done.
    pub achieved_per_second: f64,
    /// Requests a second that were meant to be; `None` for closed streams, which go as fast as
    /// they can.
    pub intended_per_second: Option<f64>,
    /// Mean latency of a request in seconds, from when it was due; 0 without any.
    pub mean_s: f64,
    /// The 99th percentile; `None` unless 100 requests lie beyond it.
    pub p99_s: Option<f64>,
    /// How many started over a millisecond after they were due; closed streams have none.
    pub late: u64,
    /// Processor time of their threads; zero until they have ended.
    pub cpu: Duration,
    /// What the first request that failed said. A stream ends with its first failure.
    pub error: Option<String>,
}

impl NeighbourReport {
    /// Bytes written.
    pub fn written(&self) -> u64 {
        self.writes * BLOCK as u64
    }
}

impl NeighbourSnapshot {
    /// What was done since an earlier snapshot of the same neighbours.
    ///
    /// # Panics
    /// When the other one is not earlier.
    pub fn since(&self, earlier: &Self) -> NeighbourReport {
        let (now, then) = (&self.tally, &earlier.tally);
        let (reads, writes) = (now.reads - then.reads, now.writes - then.writes);
        let (requests, latency) = (reads + writes, now.latency - then.latency);
        let seconds = (self.at - earlier.at).as_secs_f64();
        let mut histogram = now.histogram.clone();
        histogram.subtract(&then.histogram).expect("an earlier snapshot holds no more");
        let p99_s = (requests as f64 * 0.01 >= BEYOND)
            .then(|| histogram.value_at_quantile(0.99) as f64 / 1e9);
        NeighbourReport {
            requests,
            reads,
            writes,
            seconds,
            achieved_per_second: if seconds > 0.0 { requests as f64 / seconds } else { 0.0 },
            intended_per_second: self.intended_per_second,
            mean_s: latency.as_secs_f64() / requests.max(1) as f64,
            p99_s,
            late: now.late - then.late,
            cpu: Duration::ZERO,
            error: now.error.clone(),
        }
    }
}
