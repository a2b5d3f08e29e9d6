//! Adds to each comparison whether its engines had paid any debt, and the ratio of the engines
//! alone.

use std::collections::BTreeMap;

use bakeoff_results::measure::CPU;
use bakeoff_results::{Levels, Scope, TrialSummary};

use crate::comparison::Comparison;
use crate::document::CellView;
use crate::littles_law::find_concurrency;
use crate::open_loop;

/// From this share of the clients' time on, a ratio without the harness is shown.
const TOLD: f64 = 0.10;

/// The share of the clients' time in which bakeoff's own code used a processor. It is inside every
/// latency. `None` for an open loop, whose clients wait for work, and where it was not counted.
pub(crate) fn harness_share(trials: &[&TrialSummary]) -> Option<f64> {
    let of = |trial: &&TrialSummary| {
        let cpu = trial.measures.get(&CPU, &Scope::Clients)?;
        let time = find_concurrency(trial)? * trial.ran_s?;
        (!open_loop::is_open(trial)).then_some((cpu, time))
    };
    let all: Vec<(f64, f64)> = trials.iter().map(of).collect::<Option<_>>()?;
    let (cpu, time) = all.iter().fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    (time > 0.0).then(|| (cpu / time).min(1.0))
}

pub(crate) fn add_cell_facts(comparisons: &mut [Comparison], cells: &[CellView]) {
    let cells: BTreeMap<&Levels, &CellView> =
        cells.iter().map(|cell| (&cell.levels, cell)).collect();
    for comparison in comparisons {
        let cell = |level: &str| cells.get(&comparison.cell_at(level)).copied();
        let (baseline, level) = (cell(&comparison.baseline), cell(&comparison.level));
        let fresh = |cell: &CellView| cell.debt.is_some_and(|debt| debt.fresh == Some(true));
        let both = [(&comparison.baseline, baseline), (&comparison.level, level)];
        comparison.fresh = both
            .into_iter()
            .filter(|(_, cell)| cell.is_some_and(fresh))
            .map(|(level, _)| level.clone())
            .collect();
        comparison.engine_only_ratio = baseline.zip(level).and_then(|(baseline, level)| {
            engine_only(comparison.ratio?, baseline.harness_share?, level.harness_share?)
        });
    }
}

/// The ratio without the harness's share of both means; `None` where that is small.
fn engine_only(ratio: f64, baseline: f64, level: f64) -> Option<f64> {
    let told = baseline.max(level) > TOLD && baseline.max(level) < 1.0;
    told.then(|| ratio * (1.0 - level) / (1.0 - baseline))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 and 20 ms, of which 5 ms are the harness's: the engines take 5 and 15.
    #[test]
    fn the_harness_is_taken_from_both_operands() {
        let ratio = engine_only(2.0, 0.5, 0.25).unwrap();
        assert!((ratio - 3.0).abs() < 1e-12, "{ratio}");
        assert_eq!(engine_only(2.0, 0.09, 0.05), None, "it is small");
        assert_eq!(engine_only(2.0, 1.0, 0.5), None, "nothing would be left");
    }
}
