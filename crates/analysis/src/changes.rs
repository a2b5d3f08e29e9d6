//! The gain of a change: compares any two cells, in pairs of trials of one repetition.
//!
//! Trials of one repetition did not all run back to back, as those of a block do: a drifting
//! machine widens these intervals.

use std::collections::BTreeMap;

use bakeoff_results::{CellLevels, Levels, Run, TrialSummary};
use bakeoff_stats::{CONFIDENCE, paired};

use crate::answers;
use crate::cells;
use crate::compare::{self, ComparisonSubject, Counted};
use crate::comparison::Comparison;
use crate::open_loop::{is_behind, is_open};
use crate::span::ComparedSpan;
use crate::verdict::{ComparisonCase, ComparisonSample, JudgingRule, judge};

#[derive(Clone, Debug)]
pub struct CellChange<'a> {
    pub from: &'a Levels,
    pub to: &'a Levels,
    /// How much slower `to` is. Its two level names are those of the compared factor.
    pub comparison: Comparison,
}

/// The changes asked for, at each operation for which both cells have trials of one repetition.
/// They are one family: the more is asked for, the more each must show. Left out are cells that did
/// not keep up with their rate, and changes from a closed loop to an open one.
pub fn compare_changes<'a>(
    run: &Run,
    trials: &[TrialSummary],
    pairs: impl IntoIterator<Item = (&'a Levels, &'a Levels)>,
) -> Vec<CellChange<'a>> {
    let mut of_cell: BTreeMap<&Levels, TrialsByRepetition> = BTreeMap::new();
    for trial in cells::select_counted(trials) {
        let cell = of_cell.entry(&trial.levels).or_default();
        cell.is_open |= is_open(trial);
        cell.is_behind |= is_behind(trial);
        cell.trials.insert(trial.repetition, Counted::from_trial(trial));
    }
    let mut places = Vec::new();
    let mut cases = Vec::new();
    for (from, to) in pairs {
        let Some((old, new)) = of_cell.get(from).zip(of_cell.get(to)) else { continue };
        if old.is_open != new.is_open || old.is_behind || new.is_behind {
            continue;
        }
        for subject in compare::subjects_of(run, old.is_open) {
            let case = build_case(run, (from, to), subject, (old, new));
            if case.sample.size() > 0 {
                places.push((from, to));
                cases.push(case);
            }
        }
    }
    let rule = JudgingRule::once(&cases);
    let judged = judge(cases, rule);
    let change = |((from, to), comparison)| CellChange { from, to, comparison };
    places.into_iter().zip(judged).map(change).collect()
}

#[derive(Default)]
struct TrialsByRepetition<'a> {
    trials: BTreeMap<u32, Counted<'a>>,
    is_open: bool,
    is_behind: bool,
}

fn build_case(
    run: &Run,
    (from, to): (&Levels, &Levels),
    subject: ComparisonSubject<'_>,
    (old, new): (&TrialsByRepetition<'_>, &TrialsByRepetition<'_>),
) -> ComparisonCase {
    let level = |levels: &Levels| levels.get(&run.compare).cloned().unwrap_or_default();
    let others = to.without_factor(&run.compare);
    let comparison = compare::start_comparison(run, subject, &others, &level(from), &level(to));
    let figure = |trial: &Counted<'_>| subject.read_figure(trial, ComparedSpan::Window);
    let pair = |(repetition, trial): (&u32, &Counted<'_>)| {
        Some((figure(trial)?, figure(new.trials.get(repetition)?)?))
    };
    let pairs = old.trials.iter().filter_map(pair).collect();
    ComparisonCase {
        comparison,
        unlike: answers::answers_differ(run, from, to),
        sample: ComparisonSample::Paired(pairs),
    }
}

/// The 95 % interval of the geometric mean of a cell's trials, by their own spread.
pub fn estimate_interval(values: &[f64]) -> Option<(f64, f64)> {
    let against_one: Vec<(f64, f64)> = values.iter().map(|value| (1.0, *value)).collect();
    let estimate = paired::estimate_ratio(&against_one, CONFIDENCE).ok()?;
    let ends = estimate.low.zip(estimate.high)?;
    (ends.0.is_finite() && ends.1.is_finite()).then_some(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three values whose logarithms are -1, 0 and 1: mean 0, deviation 1, t of 2 degrees 4.302653.
    #[test]
    fn an_interval_is_students_on_logarithms() {
        let (low, high) = estimate_interval(&[1.0_f64.exp().recip(), 1.0, 1.0_f64.exp()]).unwrap();
        let half = 4.302_653 / 3.0_f64.sqrt();
        assert!((high.ln() - half).abs() < 1e-5 && (low.ln() + half).abs() < 1e-5, "{low} {high}");
        assert_eq!(estimate_interval(&[1.0]), None);
        assert_eq!(estimate_interval(&[0.0, 1.0]), None);
    }
}
