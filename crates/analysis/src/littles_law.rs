//! Little's law: in a closed loop all of the clients' time has to be in some latency. It checks the rates
//! that were counted.

use bakeoff_results::measure::{CONCURRENCY, DONE_RATE, LITTLE_RATE};
use bakeoff_results::{Scope, TrialSummary};

use crate::open_loop;

/// By which factor the counted rate may be above that by Little's law before clients are said to starve.
const STARVING: f64 = 1.10;

/// Below this part of the window its longest operation kept no client waiting: operations that come in
/// bursts, as writes between two syncs, make the two rates differ, too.
const LONG: f64 = 0.10;

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

/// By which factor more operations ended than Little's law has from the latencies, where that is too much:
/// some clients waited for so long that others did most of the work. `None` where they agree, where the
/// operations at the edges of the window, one of each client, can make the difference, and where no operation
/// was long.
pub(crate) fn starving(trial: &TrialSummary) -> Option<f64> {
    let of = |measure| trial.measures.get(measure, &Scope::Clients);
    let (from, to) = trial.window_s.filter(|_| trial.has_counted_rates())?;
    let (counted, little) = (of(&DONE_RATE)?, of(&LITTLE_RATE)?);
    let is_beyond_edges = (counted - little) * (to - from) > concurrency(trial)?;
    let longest = trial.operations.iter().filter_map(|it| it.max_s).fold(0.0, f64::max);
    let is_beyond_edges = is_beyond_edges && longest > LONG * (to - from);
    let factor = counted / little;
    (is_beyond_edges && factor > STARVING && factor.is_finite()).then_some(factor)
}
