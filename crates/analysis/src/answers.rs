//! Checks that the compared cells did the same work: that engines answered alike, and that trials
//! left sound data.

use bakeoff_results::measure::FAULTS;
use bakeoff_results::{Answers, Levels, Run, Scope, TrialSummary};

use crate::comparison::Comparison;

/// `false` where an engine was not asked.
pub(crate) fn are_unlike(run: &Run, comparison: &Comparison) -> bool {
    let Comparison { baseline, level, .. } = comparison;
    answers_differ(run, &comparison.cell_at(baseline), &comparison.cell_at(level))
}

pub(crate) fn answers_differ(run: &Run, one: &Levels, other: &Levels) -> bool {
    // Each image of the data was asked: those of one load are held against each other.
    let unlike = |it: &Answers| find_answers(run, other).any(|other| it.is_unlike(other));
    find_answers(run, one).any(unlike)
}

/// `false` if the two got different questions: about other data, or from another version of
/// bakeoff.
pub(crate) fn differ_between([one, other]: [&Run; 2], levels: &Levels) -> bool {
    let asked_alike =
        (one.seed, &one.text, &one.version) == (other.seed, &other.text, &other.version);
    let unlike = |it: &Answers| find_answers(other, levels).any(|other| it.is_unlike(other));
    asked_alike && find_answers(one, levels).any(unlike)
}

fn find_answers<'a>(run: &'a Run, levels: &'a Levels) -> impl Iterator<Item = &'a Answers> {
    let level = move |factor: &str| {
        let level = levels.get(factor)?;
        Some(run.resolve_alias(factor, level).unwrap_or(level))
    };
    let is_of = move |answers: &&Answers| {
        answers.levels.iter().all(|(factor, known)| level(factor) == Some(known))
    };
    run.answers.iter().filter(is_of)
}

pub(crate) fn is_broken(trial: &TrialSummary) -> bool {
    trial.measures.get(&FAULTS, &Scope::Trial).is_some_and(|faults| faults > 0.0)
}
