//! Little's law: in a closed loop all of the clients' time has to be in some latency. It checks the
//! counted rates.

use bakeoff_results::measure::{CONCURRENCY, DONE_RATE, LITTLE_RATE};
use bakeoff_results::{CellLevels, Scope, TrialSummary};

use crate::open_loop;

/// Clients starve if the counted rate is above that by Little's law by this factor.
const STARVING: f64 = 1.10;

/// If the longest operation took less than this share of the window, it kept no client waiting:
/// operations in bursts, as writes between two syncs, make the two rates differ, too.
const LONG: f64 = 0.10;

/// How many operations of a trial can be in flight at once: as measured, or else the level of
/// `clients`.
pub fn find_concurrency(trial: &TrialSummary) -> Option<f64> {
    let measured = trial.measures.get(&CONCURRENCY, &Scope::Clients);
    measured.or_else(|| trial.levels.clients())
}

/// The sum of latencies in the window ÷ (its length × operations in flight): 1 where clients never
/// waited for anything else (Little's law). `None` for an open loop, whose clients wait for work.
pub fn littles_law(trial: &TrialSummary) -> Option<f64> {
    if open_loop::is_open(trial) {
        return None;
    }
    let (from, to) = trial.window_s?;
    let latencies = trial.operations.iter().map(|it| it.count as f64 * it.mean_s.unwrap_or(0.0));
    let law = latencies.sum::<f64>() / ((to - from) * find_concurrency(trial)?);
    law.is_finite().then_some(law)
}

/// By which factor more operations ended than Little's law has from the latencies: some clients
/// waited so long that others did most of the work. `None` where the two agree, where operations at
/// the window's edges, one of each client, can make the difference, and where no operation was
/// long.
pub(crate) fn find_starvation(trial: &TrialSummary) -> Option<f64> {
    let of = |measure| trial.measures.get(measure, &Scope::Clients);
    let (from, to) = trial.window_s.filter(|_| trial.has_counted_rates())?;
    let (counted, little) = (of(&DONE_RATE)?, of(&LITTLE_RATE)?);
    let is_beyond_edges = (counted - little) * (to - from) > find_concurrency(trial)?;
    let longest = trial.operations.iter().filter_map(|it| it.max_s).fold(0.0, f64::max);
    let is_beyond_edges = is_beyond_edges && longest > LONG * (to - from);
    let factor = counted / little;
    (is_beyond_edges && factor > STARVING && factor.is_finite()).then_some(factor)
}
