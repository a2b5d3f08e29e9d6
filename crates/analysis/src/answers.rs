//! Whether what is compared is the same work: whether engines answered alike when they were asked, and
//! whether what their trials left was sound.

use bakeoff_results::measure::FAULTS;
use bakeoff_results::{Answers, Levels, Run, Scope, TrialSummary};

use crate::comparison::Comparison;

/// Whether the two sides of a comparison did not answer alike. Of one that was not asked nothing is known.
pub(crate) fn are_unlike(run: &Run, comparison: &Comparison) -> bool {
    let of = |level: &str| {
        let mut levels = comparison.levels.clone();
        levels.insert(comparison.factor.clone(), level.to_owned());
        levels
    };
    differ(run, &of(&comparison.baseline), &of(&comparison.level))
}

/// Whether two cells did not answer alike. Of one that was not asked nothing is known.
pub(crate) fn differ(run: &Run, one: &Levels, other: &Levels) -> bool {
    let both = image(run, one).zip(image(run, other));
    both.is_some_and(|(one, other)| one.is_unlike(other))
}

/// Whether a cell of two runs did not answer alike. Nothing is known where it was not asked the same: of
/// other data, or by another bakeoff.
pub(crate) fn differ_between([one, other]: [&Run; 2], levels: &Levels) -> bool {
    let asked_alike =
        (one.seed, &one.text, &one.version) == (other.seed, &other.text, &other.version);
    let both = image(one, levels).zip(image(other, levels));
    asked_alike && both.is_some_and(|(one, other)| one.is_unlike(other))
}

/// What the image of a cell answered.
fn image<'a>(run: &'a Run, levels: &Levels) -> Option<&'a Answers> {
    let level = |factor: &str| {
        let level = levels.get(factor)?;
        Some(run.alias(factor, level).unwrap_or(level))
    };
    let is_of = |answers: &&Answers| {
        answers.levels.iter().all(|(factor, known)| level(factor) == Some(known))
    };
    run.answers.iter().find(is_of)
}

/// Whether something was found broken after a trial.
pub(crate) fn is_broken(trial: &TrialSummary) -> bool {
    trial.measures.get(&FAULTS, &Scope::Trial).is_some_and(|faults| faults > 0.0)
}
