//! Which trials a page lists, where there are too many of them to be looked at one by one.

use std::collections::{BTreeMap, HashSet};

use bakeoff_analysis::{CellView, Document};
use bakeoff_results::{Levels, OperationSummary, TrialSummary};

/// So many trials are listed at most; all of them are in CSV and JSON.
const MOST: usize = 1_000;

/// The trials that are listed, in the order in which they ran: all, or of too many those that have a note
/// first, and then those whose times are furthest from the means of their cell.
pub fn listed(document: &Document, has_note: impl Fn(&TrialSummary) -> bool) -> Vec<&TrialSummary> {
    let trials: Vec<&TrialSummary> = document.trials.iter().collect();
    if trials.len() <= MOST {
        return trials;
    }
    let cells: BTreeMap<&Levels, &CellView> =
        document.cells.iter().map(|cell| (&cell.levels, cell)).collect();
    let rank = |(at, trial): (usize, &&TrialSummary)| {
        (has_note(trial), furthest(trial, cells.get(&trial.levels).copied()), at)
    };
    let mut ranked: Vec<(bool, f64, usize)> = trials.iter().enumerate().map(rank).collect();
    // The sort keeps the order of those that are alike.
    ranked.sort_by(|one, other| other.0.cmp(&one.0).then(other.1.total_cmp(&one.1)));
    let kept: HashSet<usize> = ranked.iter().take(MOST).map(|(.., at)| *at).collect();
    let kept = |(at, _): &(usize, &TrialSummary)| kept.contains(at);
    trials.into_iter().enumerate().filter(kept).map(|(_, trial)| trial).collect()
}

/// By how much the mean time of an operation of a trial is off its cell's, as the logarithm of their ratio:
/// that of the operation that is furthest off. Without end where there is nothing to hold it against.
fn furthest(trial: &TrialSummary, cell: Option<&CellView>) -> f64 {
    let off = |own: &OperationSummary| {
        let whole = cell?.operations.iter().find(|whole| whole.name == own.name)?;
        Some((own.mean_s? / whole.mean_s?).ln().abs())
    };
    trial.operations.iter().filter_map(off).reduce(f64::max).unwrap_or(f64::INFINITY)
}
