//! Trials without histograms, for readers of thousands of trials.

use bakeoff_stats::quantile;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::measure::{ENDED, Measures, Scope};
use crate::record::{Levels, OperationRecord};

const NANOSECONDS: f64 = 1e9;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialSummary {
    pub repetition: u32,
    pub block: u32,
    pub attempt: u32,
    pub order: u32,
    pub levels: Levels,
    /// Since 1970.
    pub started_s: f64,
    /// `None` after a failure, as `window_s`.
    pub ran_s: Option<f64>,
    pub window_s: Option<(f64, f64)>,
    pub operations: Vec<OperationSummary>,
    pub measures: Measures,
    pub warnings: Vec<String>,
    pub valid: bool,
    pub reason: Option<String>,
}

impl TrialSummary {
    pub fn has_failed(&self) -> bool {
        self.ran_s.is_none()
    }

    /// Else they follow from latencies.
    pub fn has_counted_rates(&self) -> bool {
        self.operations.iter().any(|operation| {
            let scope = Scope::Operation(operation.name.clone().into());
            self.measures.get(&ENDED, &scope).is_some()
        })
    }

    /// Why it failed, or how its first failed operation ended.
    pub fn first_error(&self) -> Option<&str> {
        if self.has_failed() {
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

/// A trial's warning of failed operations, which [`TrialSummary::first_error`] finds.
pub fn operations_failed(number: u64, name: &str, first: &str) -> String {
    match number {
        1 => format!("1 {name} operation failed: {first}"),
        _ => format!("{number} {name} operations failed, the first: {first}"),
    }
}

/// A trial waits for as many operations of each kind as a verdict needs.
pub const ENOUGH_OPERATIONS: u64 = 20;

/// From the window of a trial or of several together. Latencies are response times in an open loop.
///
/// A quantile q needs N (1 - q) >= 10 operations; that of several trials is the median of theirs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationSummary {
    pub name: String,
    /// Started in the window.
    pub count: u64,
    /// Cut off: with one of them mean, quantiles and longest are lower bounds.
    pub unfinished: u64,
    /// For a cell the geometric mean of its trials' means.
    pub mean_s: Option<f64>,
    pub p50_s: Option<f64>,
    pub p95_s: Option<f64>,
    pub p99_s: Option<f64>,
    pub p999_s: Option<f64>,
    pub max_s: Option<f64>,
    /// From the real start; only in an open loop.
    pub service_mean_s: Option<f64>,
    pub service_p99_s: Option<f64>,
    /// Over the whole trial; `None` for a cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrimmed_mean_s: Option<f64>,
    /// Operations that ended in the window without failing, over its length; by Little's law
    /// without [`crate::measure::ENDED`].
    pub per_second: f64,
    pub errors: u64,
    /// After a conflict.
    pub retries: u64,
}

/// A slot without its histogram. Latencies are in nanoseconds, to three digits, 0 if none ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlotSummary {
    /// From the clients' start.
    pub start_s: f64,
    pub end_s: f64,
    pub count: u64,
    pub least: u64,
    pub mean: f64,
    pub most: u64,
}

impl OperationSummary {
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

    pub fn of_histograms(
        name: &str,
        kept: &Histogram<u64>,
        service: Option<&Histogram<u64>>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            count: kept.len(),
            unfinished: 0,
            mean_s: compute_mean(kept),
            p50_s: value_at(kept, 0.5),
            p95_s: value_at(kept, 0.95),
            p99_s: value_at(kept, 0.99),
            p999_s: value_at(kept, 0.999),
            max_s: (!kept.is_empty()).then(|| kept.max() as f64 / NANOSECONDS),
            service_mean_s: service.and_then(compute_mean),
            service_p99_s: service.and_then(|service| value_at(service, 0.99)),
            untrimmed_mean_s: None,
            per_second: 0.0,
            errors: 0,
            retries: 0,
        }
    }
}

fn compute_mean(histogram: &Histogram<u64>) -> Option<f64> {
    (!histogram.is_empty()).then(|| histogram.mean() / NANOSECONDS)
}

/// If enough operations back it.
fn value_at(histogram: &Histogram<u64>, q: f64) -> Option<f64> {
    let backed = quantile::is_backed(histogram.len(), q);
    backed.then(|| histogram.value_at_quantile(q) as f64 / NANOSECONDS)
}

fn untrimmed_mean(operation: &OperationRecord) -> Option<f64> {
    let (mut count, mut sum) = (0, 0.0);
    for slot in &operation.slots {
        count += slot.histogram.len();
        sum += slot.histogram.mean() * slot.histogram.len() as f64;
    }
    (count > 0).then(|| sum / count as f64 / NANOSECONDS)
}
