//! What stands beside the finding in the sentence of a run: how much it is worth, and what is not
//! in it.

use bakeoff_analysis::{Attempts, Document};
use bakeoff_results::Status;

use crate::layout::{self, Layout};
use crate::verdict::{Case, Outcome};
use crate::words;

/// A mean of fewer operations in a trial is a rough one.
const HANDFUL: u64 = 10;

/// That what was decided rests on a handful of operations.
pub fn rough(layout: &Layout<'_>, cases: &[Case<'_>]) -> Option<String> {
    let contenders = layout.contenders();
    let fewest = |case: &Case| {
        let trials = layout.document.trials.iter().filter(|trial| {
            let level = layout::get(&trial.levels, layout.compare);
            let here = layout.setting_of(&trial.levels) == case.setting;
            trial.valid && here && contenders.contains(&level)
        });
        let operations = trials.flat_map(|trial| &trial.operations);
        let counted = operations.filter(|it| it.name == case.operation && it.mean_s.is_some());
        counted.map(|it| it.count).min()
    };
    let decided = cases.iter().filter(|c| matches!(c.outcome, Outcome::Won | Outcome::Even));
    let counts = decided.filter_map(|case| Some((fewest(case)?, case.operation)));
    let (count, operation) = counts.min_by_key(|(count, _)| *count)?;
    let operations = words::many(count as usize, "operation");
    (count < HANDFUL)
        .then(|| format!("the means are rough, of as few as {operations} in a trial ({operation})"))
}

/// Differences that a level shows against itself, too.
pub fn below_noise(cases: &[Case<'_>]) -> Option<String> {
    let number = cases.iter().filter(|case| case.outcome == Outcome::Noise).count();
    let text = match number {
        0 => return None,
        1 => "1 difference is no larger than what one level shows against itself, and counts as undecided".into(),
        _ => format!("{number} differences are no larger than what one level shows against itself, and count as undecided"),
    };
    Some(text)
}

/// The levels that were tried in vain while others finished.
pub fn missing(layout: &Layout<'_>, cases: &[Case<'_>]) -> Option<String> {
    let missing: Vec<String> = layout
        .contenders()
        .into_iter()
        .filter(|level| layout.settings.iter().all(|s| layout.cell(s, level).is_none()))
        .map(|level| words::contender(layout.compare, level))
        .collect();
    let verb = if missing.len() == 1 { "has" } else { "have" };
    (!missing.is_empty() && !cases.is_empty())
        .then(|| format!("{} {verb} no trial that counts", words::list(&missing)))
}

/// How many trials don't count. Those that were set aside and run again are none of them.
pub fn lost(document: &Document) -> Option<String> {
    let attempts = Attempts::of(&document.trials);
    let standing = || document.trials.iter().filter(|trial| !attempts.set_aside(trial));
    let all = words::many(standing().count(), "trial");
    match standing().filter(|trial| !trial.valid).count() {
        0 => None,
        1 => Some(format!("1 of {all} failed or was disturbed and does not count")),
        n => Some(format!("{n} of {all} failed or were disturbed and do not count")),
    }
}

/// How far a run came that has not finished.
pub fn progress(document: &Document) -> Option<String> {
    let planned = document.run.run.planned;
    let ended = layout::ended(document);
    let how = match document.run.status {
        Status::Finished => return None,
        Status::Interrupted => "the run was interrupted",
        Status::Unfinished => "the run has not finished",
    };
    let cuts = document.run.run.cuts.as_ref().filter(|plan| plan.planned > 0).map(|plan| {
        let planned = words::many(plan.planned as usize, "power cut");
        format!("{} of {planned}", document.cuts.len())
    });
    let trials = format!("{ended} of {}", words::many(planned as usize, "trial"));
    let trials = (planned > 0 || cuts.is_none()).then_some(trials);
    let parts: Vec<String> = trials.into_iter().chain(cuts).collect();
    Some(format!("{how} after {}", words::list(&parts)))
}
