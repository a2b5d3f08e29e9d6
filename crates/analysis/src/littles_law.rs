//! Little's law: in a closed loop all of the clients' time has to be in some latency.

use bakeoff_results::measure::CONCURRENCY;
use bakeoff_results::{Scope, TrialSummary};

use crate::open_loop;

/// How many operations of a trial can be in flight at once: what was measured of it, or else the
/// level of `clients`.
pub fn concurrency(trial: &TrialSummary) -> Option<f64> {
    let measured = trial.measures.get(&CONCURRENCY, &Scope::Clients);
    measured.or_else(|| trial.levels.get("clients")?.parse().ok())
}

/// The sum of latencies in the window over its length times the operations that can be in flight:
/// 1 where they always were (Little's law). `None` for an open loop, whose clients wait for work as
/// they should, and for a trial that failed.
pub fn littles_law(trial: &TrialSummary) -> Option<f64> {
    if open_loop::is_open(trial) {
        return None;
    }
    let (from, to) = trial.window_s?;
    let latencies = trial.operations.iter().map(|it| it.count as f64 * it.mean_s.unwrap_or(0.0));
    let law = latencies.sum::<f64>() / ((to - from) * concurrency(trial)?);
    law.is_finite().then_some(law)
}
