use bakeoff_results::limit::{Quantile, ResponseTimeLimit};
use bakeoff_results::{OperationSummary, TrialSummary};
use serde::{Deserialize, Serialize};

use crate::open_loop::OpenLoopView;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeView {
    pub per_second: f64,
    pub said: ProbeVerdict,
    pub operation: Option<String>,
    pub response_s: Option<f64>,
    pub service_p99_s: Option<f64>,
    /// The most operations at once that were due and had not started.
    pub backlog: Option<u64>,
    pub kept_up: Option<bool>,
    pub failed: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeVerdict {
    Keeps,
    Breaks,
    /// Too few operations of each kind for the quantile, and no lower one broke the limit.
    Unknown,
}

impl ProbeView {
    pub(super) fn from_trial(
        limit: ResponseTimeLimit,
        per_second: f64,
        trial: &TrialSummary,
    ) -> Self {
        let Some(open) = OpenLoopView::from_trial(trial).filter(|_| trial.valid) else {
            let why = trial.reason.as_deref().unwrap_or("its trial failed");
            return Self {
                per_second,
                said: ProbeVerdict::Breaks,
                operation: None,
                response_s: None,
                service_p99_s: None,
                backlog: None,
                kept_up: None,
                failed: Some(why.lines().next().unwrap_or_default().to_owned()),
            };
        };
        let worst = trial.operations.iter().max_by(|one, other| {
            let value = |it: &OperationSummary| read_quantile(it, limit.quantile).unwrap_or(0.0);
            value(one).total_cmp(&value(other))
        });
        let worst = worst.filter(|it| read_quantile(it, limit.quantile).is_some());
        let longest_s = limit.time.as_secs_f64();
        let is_within = |it: &OperationSummary| {
            find_highest_quantile(it, limit.quantile).is_none_or(|s| s <= longest_s)
        };
        let within = trial.operations.iter().all(is_within);
        Self {
            per_second,
            said: match (within && open.kept_up, worst) {
                (false, _) => ProbeVerdict::Breaks,
                (true, Some(_)) => ProbeVerdict::Keeps,
                (true, None) => ProbeVerdict::Unknown,
            },
            operation: worst.map(|it| it.name.clone()),
            response_s: worst.and_then(|it| read_quantile(it, limit.quantile)),
            service_p99_s: worst.and_then(|it| it.service_p99_s),
            backlog: open.backlog,
            kept_up: Some(open.kept_up),
            failed: None,
        }
    }

    pub fn describe_probe(&self, limit: ResponseTimeLimit) -> String {
        let rate = self.per_second;
        let verb = match self.said {
            ProbeVerdict::Keeps => "keeps it",
            ProbeVerdict::Breaks => "breaks it",
            ProbeVerdict::Unknown => "does not break it, as far as can be told",
        };
        if let Some(why) = &self.failed {
            return format!("{rate}/s {verb}: {why}");
        }
        let mut words = format!("{rate}/s {verb}: ");
        match (&self.operation, self.response_s) {
            (Some(operation), Some(response_s)) => {
                let (name, response) = (limit.quantile.name(), format_milliseconds(response_s));
                words += &format!("response {name} {response} ({operation})");
                if let Some(service_s) = self.service_p99_s {
                    words += &format!(", service p99 {}", format_milliseconds(service_s));
                }
            }
            _ => words += "too few operations for the quantile",
        }
        let backlog = self.backlog.map_or_else(String::new, |it| format!(", backlog {it} at most"));
        let kept_up = if self.kept_up == Some(true) { "kept up" } else { "not kept up" };
        words + &format!("{backlog}, {kept_up}")
    }
}

fn read_quantile(operation: &OperationSummary, quantile: Quantile) -> Option<f64> {
    match quantile {
        Quantile::P50 => operation.p50_s,
        Quantile::P95 => operation.p95_s,
        Quantile::P99 => operation.p99_s,
        Quantile::P999 => operation.p999_s,
    }
}

/// The highest quantile up to `most` that has enough operations: a rare operation is held against
/// the limit by a lower one.
fn find_highest_quantile(operation: &OperationSummary, most: Quantile) -> Option<f64> {
    let mut up_to = Quantile::ALL.into_iter().rev().filter(|it| *it <= most);
    up_to.find_map(|it| read_quantile(operation, it))
}

fn format_milliseconds(seconds: f64) -> String {
    format!("{:.2} ms", seconds * 1e3)
}
