use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::file::BLOCK;

/// A request that starts this much after it was due is late.
const LATE: Duration = Duration::from_millis(1);

/// Requests that must lie beyond a quantile before it is shown.
const BEYOND: f64 = 100.0;

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

    pub fn add_request(&mut self, is_read: bool, due: Instant, began: Instant) {
        let latency = due.elapsed();
        *if is_read { &mut self.reads } else { &mut self.writes } += 1;
        self.late += u64::from(began.saturating_duration_since(due) > LATE);
        self.latency += latency;
        let nanoseconds = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.histogram.record(nanoseconds).expect("a histogram that grows takes any value");
    }

    pub fn keep_error(&mut self, error: &dyn std::error::Error) {
        self.error.get_or_insert_with(|| error.to_string());
    }
}

#[derive(Clone, Debug)]
pub struct NeighbourSnapshot {
    pub(super) at: Instant,
    pub(super) tally: NeighbourTally,
    pub(super) intended_per_second: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NeighbourReport {
    pub requests: u64,
    pub reads: u64,
    pub writes: u64,
    pub seconds: f64,
    pub achieved_per_second: f64,
    /// `None` for closed streams, which go as fast as they can.
    pub intended_per_second: Option<f64>,
    /// Latency from when a request was due; 0 without requests.
    pub mean_s: f64,
    /// The 99th percentile; `None` unless 100 requests lie beyond it.
    pub p99_s: Option<f64>,
    /// Requests that started over a millisecond late; closed streams have none.
    pub late: u64,
    /// Processor time of their threads; zero until they have ended.
    pub cpu: Duration,
    /// The error of the first request that failed. A stream ends with its first failure.
    pub error: Option<String>,
}

impl NeighbourReport {
    pub fn written_bytes(&self) -> u64 {
        self.writes * BLOCK as u64
    }
}

impl NeighbourSnapshot {
    /// The work since an earlier snapshot. Panics if the other one is not earlier.
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
