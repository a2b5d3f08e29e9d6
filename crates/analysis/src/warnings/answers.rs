//! Warnings about different work: engines that did not answer alike, and trials that left broken
//! data.

use bakeoff_results::measure::FAULTS;
use bakeoff_results::{Answers, Run, Scope, TrialSummary};

use super::{WarningTally, describe_place, tally_trials};
use crate::warning::{Warning, WarningKind};

pub(super) fn warn_of_unlike_answers(run: &Run) -> Option<Warning> {
    let all: Vec<String> = run.answers.iter().filter_map(|it| describe_answers(run, it)).collect();
    (!all.is_empty()).then(|| {
        let text = format!(
            "before their first trials engines were asked the same, and did not answer alike: {}; \
             what they were timed at is not the same work, so that none has a verdict against one \
             that answers otherwise",
            all.join("; ")
        );
        Warning::new(WarningKind::AnswersDiffer, text).with_remedy(
            "find out whether the statement means something else there, or an engine is wrong; until then leave \
             one out (--engine)",
        )
    })
}

fn describe_answers(run: &Run, it: &Answers) -> Option<String> {
    if let Some(why) = &it.failed {
        return Some(format!("{} answered nothing ({why})", it.engine));
    }
    let first = run.answers.iter().find(|other| other.work == it.work)?;
    it.is_unlike(first).then(|| match &it.difference {
        Some(difference) => format!("{}: {}", it.work, difference.in_words(&it.engine)),
        None => format!("{}: {} answered otherwise than {}", it.work, it.engine, first.engine),
    })
}

pub(super) fn warn_of_broken_data(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let faults = |trial: &TrialSummary| {
        trial.measures.get(&FAULTS, &Scope::Trial).filter(|faults| *faults > 0.0)
    };
    let first = counted.iter().find(|trial| faults(trial).is_some())?;
    let found = first.warnings.iter().find(|warning| warning.starts_with(Answers::BROKEN));
    let found = found.map_or("", |found| found.trim_start_matches(Answers::BROKEN));
    let at_first = describe_place(run, &first.levels);
    let WarningTally { part, .. } =
        tally_trials(run, counted, |trial| faults(trial).unwrap_or_default())?;
    let text = format!(
        "{part} left something broken after the drain, first at {at_first}: {found}; what was \
         timed there has no verdict"
    );
    let warning = Warning::new(WarningKind::CheckFailed, text);
    Some(warning.with_remedy("tell the engine’s makers, and leave it out until then (--engine)"))
}
