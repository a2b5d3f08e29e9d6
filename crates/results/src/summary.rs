//! Trials without their histograms: what a reader needs who looks at thousands of them.

use bakeoff_stats::quantile;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::measure::{ENDED, Measures, Scope};
use crate::record::{Levels, OperationRecord};

/// Nanoseconds, which histograms hold, in a second.
const NANOSECONDS: f64 = 1e9;

/// A trial that ended, well or not, without its histograms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialSummary {
    /// Which pass over all blocks, from 0.
    pub repetition: u32,
    /// Which block, from 0.
    pub block: u32,
    /// Which attempt at the block, from 0.
    pub attempt: u32,
    /// Its place in the block, from 0.
    pub order: u32,
    /// The cell.
    pub levels: Levels,
    /// When it started, in seconds since 1970.
    pub started_s: f64,
    /// How long its clients ran; `None` for a trial that failed.
    pub ran_s: Option<f64>,
    /// Where the window of its figures starts and ends; `None` for a trial that failed.
    pub window_s: Option<(f64, f64)>,
    /// Figures of each operation; empty for a trial that failed.
    pub operations: Vec<OperationSummary>,
    /// Everything else that was measured; empty for a trial that failed.
    pub measures: Measures,
    /// What a reader of the trial should know, in sentences.
    pub warnings: Vec<String>,
    /// Whether it counts in comparisons.
    pub valid: bool,
    /// Why not.
    pub reason: Option<String>,
}

impl TrialSummary {
    /// Whether it failed before it had measured anything.
    pub fn failed(&self) -> bool {
        self.ran_s.is_none()
    }

    /// Whether its rates are what ended in its window, and not what follows from latencies.
    pub fn has_counted_rates(&self) -> bool {
        self.operations.iter().any(|operation| {
            let scope = Scope::Operation(operation.name.clone().into());
            self.measures.get(&ENDED, &scope).is_some()
        })
    }

    /// What the first error in it said: why it failed, or how the first operation ended that did; `None` where
    /// nothing of the kind was noted.
    pub fn first_error(&self) -> Option<&str> {
        if self.failed() {
            return self.reason.as_deref();
        }
        let is_of = |name: &str, warning: &str| {
            let rest = warning.trim_start_matches(|letter: char| letter.is_ascii_digit());
            let rest = rest.strip_prefix(' ').and_then(|rest| rest.strip_prefix(name));
            rest.is_some_and(|rest| rest.starts_with(" operation"))
        };
        let mut names = self.operations.iter().filter(|it| it.errors > 0).map(|it| &it.name);
        names.find_map(|name| {
            self.warnings.iter().map(String::as_str).find(|warning| is_of(name, warning))
        })
    }
}

/// What stands among a trial's warnings of operations of one kind that ended in an error, of which the first said
/// this. [`TrialSummary::first_error`] finds it there.
pub fn operations_failed(number: u64, name: &str, first: &str) -> String {
    match number {
        1 => format!("1 {name} operation failed: {first}"),
        _ => format!("{number} {name} operations failed, the first: {first}"),
    }
}

/// So many operations of each kind a trial is waited for, and a verdict needs so many of each trial behind
/// it. It is one number, so that what was waited for is enough.
pub const ENOUGH_OPERATIONS: u64 = 20;

/// One operation's figures, from the window of a trial or of several together. Latencies are
/// response times in an open loop, where they count from the moment at which an operation was due.
///
/// A trial's quantile q is there only when N (1 - q) >= 10 operations lie beyond it; that of several
/// trials is the median of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationSummary {
    /// Its name.
    pub name: String,
    /// How many started in the window.
    pub count: u64,
    /// How many of them were still running when their trial was cut off. They count with the time
    /// that they had taken by then, so that with one of them the mean, the quantiles and the longest
    /// are lower bounds.
    pub unfinished: u64,
    /// Mean latency, over a trial's operations; in a cell the geometric mean of its trials' means.
    /// `None` when there is none.
    pub mean_s: Option<f64>,
    /// Median latency.
    pub p50_s: Option<f64>,
    /// 95th percentile.
    pub p95_s: Option<f64>,
    /// 99th percentile.
    pub p99_s: Option<f64>,
    /// 99.9th percentile.
    pub p999_s: Option<f64>,
    /// The longest.
    pub max_s: Option<f64>,
    /// Mean service time, from the start of an operation: of an open loop alone, and in a cell as
    /// `mean_s`.
    pub service_mean_s: Option<f64>,
    /// Its 99th percentile.
    pub service_p99_s: Option<f64>,
    /// The mean over the whole trial, nothing dropped; `None` for a cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrimmed_mean_s: Option<f64>,
    /// Operations a second: those that ended in the window and did not fail, over its length. In a run
    /// without [`crate::measure::ENDED`] they are by Little's law.
    pub per_second: f64,
    /// Operations that ended in an error.
    pub errors: u64,
    /// Transactions that were run again after a conflict.
    pub retries: u64,
}

/// What ended in a slot of a trial, without its histogram. Latencies are in nanoseconds, to three digits, and 0
/// where none ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlotSummary {
    /// Where it starts, in seconds from the start of the clients.
    pub start_s: f64,
    /// Where it ends.
    pub end_s: f64,
    /// How many operations ended in it.
    pub count: u64,
    /// Their least latency.
    pub least: u64,
    /// Their mean latency.
    pub mean: f64,
    /// Their greatest latency.
    pub most: u64,
}

impl OperationSummary {
    /// The figures of one operation of a trial.
    pub(crate) fn of_trial(operation: &OperationRecord) -> Self {
        Self {
            unfinished: operation.unfinished,
            untrimmed_mean_s: untrimmed_mean(operation),
            per_second: operation.per_second,
            errors: operation.errors,
            retries: operation.retries,
            ..Self::of_histograms(&operation.name, &operation.kept, operation.service.as_ref())
        }
    }

    /// What histograms alone can say.
    pub fn of_histograms(
        name: &str,
        kept: &Histogram<u64>,
        service: Option<&Histogram<u64>>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            count: kept.len(),
            unfinished: 0,
            mean_s: mean(kept),
            p50_s: value_at(kept, 0.5),
            p95_s: value_at(kept, 0.95),
            p99_s: value_at(kept, 0.99),
            p999_s: value_at(kept, 0.999),
            max_s: (!kept.is_empty()).then(|| kept.max() as f64 / NANOSECONDS),
            service_mean_s: service.and_then(mean),
            service_p99_s: service.and_then(|service| value_at(service, 0.99)),
            untrimmed_mean_s: None,
            per_second: 0.0,
            errors: 0,
            retries: 0,
        }
    }
}

/// The mean in seconds.
fn mean(histogram: &Histogram<u64>) -> Option<f64> {
    (!histogram.is_empty()).then(|| histogram.mean() / NANOSECONDS)
}

/// A quantile in seconds, where enough backs it.
fn value_at(histogram: &Histogram<u64>, q: f64) -> Option<f64> {
    let backed = quantile::backed(histogram.len(), q);
    backed.then(|| histogram.value_at_quantile(q) as f64 / NANOSECONDS)
}

/// The mean over all slots, nothing dropped.
fn untrimmed_mean(operation: &OperationRecord) -> Option<f64> {
    let (mut count, mut sum) = (0, 0.0);
    for slot in &operation.slots {
        count += slot.histogram.len();
        sum += slot.histogram.mean() * slot.histogram.len() as f64;
    }
    (count > 0).then(|| sum / count as f64 / NANOSECONDS)
}
