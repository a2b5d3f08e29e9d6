//! What a trial at a rate says of a limit.

use bakeoff_analysis::OpenLoop;
use bakeoff_experiment::{Limit, Quantile};
use bakeoff_results::{OperationSummary, TrialSummary};

use super::open_rate;

/// A trial at a rate, held against a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Probed {
    /// The rate.
    pub rate: f64,
    pub said: Said,
    /// What was measured, in words.
    pub words: String,
}

/// Whether a limit was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// It was: the load was kept up, and each kind of operation is within it.
    Keeps,
    /// It was not, or the trial does not count.
    Breaks,
    /// No kind of operation ended so often that the quantile can be told; nothing lower broke the limit.
    Unknown,
}

impl Probed {
    /// What a trial says; `None` of a closed loop.
    pub fn of(limit: Limit, trial: &TrialSummary) -> Option<Self> {
        let rate = open_rate(trial)?;
        let open = OpenLoop::of(trial).filter(|_| trial.valid);
        let Some(open) = open else {
            let why = trial.reason.as_deref().unwrap_or("its trial failed");
            let why = why.lines().next().unwrap_or_default();
            return Some(Self {
                rate,
                said: Said::Breaks,
                words: format!("{rate}/s breaks it: {why}"),
            });
        };
        let worst = trial.operations.iter().max_by(|one, other| {
            let value = |it: &OperationSummary| quantile(it, limit.quantile).unwrap_or(0.0);
            value(one).total_cmp(&value(other))
        });
        let known = worst.and_then(|it| quantile(it, limit.quantile));
        let longest_s = limit.time.as_secs_f64();
        let is_within =
            |it: &OperationSummary| highest(it, limit.quantile).is_none_or(|s| s <= longest_s);
        let within = trial.operations.iter().all(is_within);
        let said = match (within && open.kept_up, known) {
            (false, _) => Said::Breaks,
            (true, Some(_)) => Said::Keeps,
            (true, None) => Said::Unknown,
        };
        let verb = match said {
            Said::Keeps => "keeps it",
            Said::Breaks => "breaks it",
            Said::Unknown => "does not break it, as far as can be told",
        };
        let mut words = format!("{rate}/s {verb}: ");
        if let Some((operation, response_s)) = worst.zip(known) {
            let name = limit.quantile.name();
            words += &format!("response {name} {} ({})", milliseconds(response_s), operation.name);
            if let Some(service_s) = operation.service_p99_s {
                words += &format!(", service p99 {}", milliseconds(service_s));
            }
        } else {
            words += "too few operations for the quantile";
        }
        let backlog = open.backlog.map_or_else(String::new, |it| format!(", backlog {it} at most"));
        let kept_up = if open.kept_up { "kept up" } else { "not kept up" };
        words += &format!("{backlog}, {kept_up}");
        Some(Self { rate, said, words })
    }
}

/// A quantile of an operation's response times, in seconds; `None` where too few operations back it.
fn quantile(operation: &OperationSummary, quantile: Quantile) -> Option<f64> {
    match quantile {
        Quantile::P50 => operation.p50_s,
        Quantile::P95 => operation.p95_s,
        Quantile::P99 => operation.p99_s,
        Quantile::P999 => operation.p999_s,
    }
}

/// The highest quantile up to `most` that is backed: a kind of operation that is seldom is held against the
/// limit by a lower one.
fn highest(operation: &OperationSummary, most: Quantile) -> Option<f64> {
    let mut up_to = Quantile::ALL.into_iter().rev().filter(|it| *it <= most);
    up_to.find_map(|it| quantile(operation, it))
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.2} ms", seconds * 1e3)
}
