//! Chooses the trials that a page lists if there are too many for all.

use std::collections::{BTreeMap, HashSet};

use bakeoff_analysis::{CellView, Document};
use bakeoff_results::{Levels, OperationSummary, TrialSummary};

/// CSV and JSON have all.
const MOST: usize = 1_000;

/// In the order in which they ran. If there are too many, those with a note come first, then those
/// furthest from their cell's mean.
pub fn select_trials(
    document: &Document,
    has_note: impl Fn(&TrialSummary) -> bool,
) -> Vec<&TrialSummary> {
    let trials: Vec<&TrialSummary> = document.trials.iter().collect();
    if trials.len() <= MOST {
        return trials;
    }
    let cells: BTreeMap<&Levels, &CellView> =
        document.cells.iter().map(|cell| (&cell.levels, cell)).collect();
    let rank = |(at, trial): (usize, &&TrialSummary)| {
        (has_note(trial), distance_from_mean(trial, cells.get(&trial.levels).copied()), at)
    };
    let mut ranked: Vec<(bool, f64, usize)> = trials.iter().enumerate().map(rank).collect();
    // The sort keeps the order of equal trials.
    ranked.sort_by(|one, other| other.0.cmp(&one.0).then(other.1.total_cmp(&one.1)));
    let kept: HashSet<usize> = ranked.iter().take(MOST).map(|(.., at)| *at).collect();
    let kept = |(at, _): &(usize, &TrialSummary)| kept.contains(at);
    trials.into_iter().enumerate().filter(kept).map(|(_, trial)| trial).collect()
}

/// Logarithm of the ratio to the cell's mean, of the operation that is furthest off; infinite
/// without a mean.
fn distance_from_mean(trial: &TrialSummary, cell: Option<&CellView>) -> f64 {
    let off = |own: &OperationSummary| {
        let whole = cell?.operations.iter().find(|whole| whole.name == own.name)?;
        Some((own.mean_s? / whole.mean_s?).ln().abs())
    };
    trial.operations.iter().filter_map(off).reduce(f64::max).unwrap_or(f64::INFINITY)
}
