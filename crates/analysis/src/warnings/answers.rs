//! Warnings about work that is not the same: engines that did not answer alike, and trials that left
//! something broken.

use bakeoff_results::measure::FAULTS;
use bakeoff_results::{Answers, Run, Scope, TrialSummary};

use super::{WarningTally, part, place};
use crate::warning::{Warning, WarningKind};

/// Images that did not answer as the first one that was asked the same.
pub(super) fn differ(run: &Run) -> Option<Warning> {
    let all: Vec<String> = run.answers.iter().filter_map(|it| said(run, it)).collect();
    (!all.is_empty()).then(|| {
        let text = format!(
            "before their first trials engines were asked the same, and did not answer alike: {}; what \
             they were timed at is not the same work, so that none has a verdict against one that \
             answers otherwise",
            all.join("; ")
        );
        Warning::new(WarningKind::AnswersDiffer, text).remedy(
            "find out which of them is wrong, tell its makers, and leave it out until then (--engine)",
        )
    })
}

/// What is to be said of an image; `None` where it answers as the first one of its work, or is that.
fn said(run: &Run, it: &Answers) -> Option<String> {
    if let Some(why) = &it.failed {
        return Some(format!("{} answered nothing ({why})", it.engine));
    }
    let first = run.answers.iter().find(|other| other.work == it.work)?;
    it.is_unlike(first).then(|| match &it.difference {
        Some(difference) => format!("{}: {}", it.work, difference.in_words(&it.engine)),
        None => format!("{}: {} answered otherwise than {}", it.work, it.engine, first.engine),
    })
}

/// Trials after which something was found broken.
pub(super) fn broken(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let faults = |trial: &TrialSummary| {
        trial.measures.get(&FAULTS, &Scope::Trial).filter(|faults| *faults > 0.0)
    };
    let first = counted.iter().find(|trial| faults(trial).is_some())?;
    let found = first.warnings.iter().find(|warning| warning.starts_with(Answers::BROKEN));
    let found = found.map_or("", |found| found.trim_start_matches(Answers::BROKEN));
    let at_first = place(run, &first.levels);
    WarningTally::of_trials(counted, |trial| faults(trial).unwrap_or_default()).say(run, |n, m, _, _| {
        let text = format!(
            "{} left something broken after the drain, first at {at_first}: {found}; what was timed \
             there has no verdict",
            part(n, m)
        );
        Warning::new(WarningKind::CheckFailed, text)
            .remedy("tell the engine’s makers, and leave it out until then (--engine)")
    })
}
