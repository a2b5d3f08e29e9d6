//! The line that ends the first screen: what to do with the answer.

use bakeoff_analysis::{UnreachedLimit, Weight};
use bakeoff_results::Status;

use crate::block::{Answered, NextStep};
use crate::confidence::ConfidenceGrade;
use crate::layout::{ConditionLevels, DocumentLayout};
use crate::sentence::RunAnswer;
use crate::unreached_limits;
use crate::verdict::{LeaderOutcome, OperationCase};
use crate::words;

/// The first that applies: an unfinished run, a broken promise, a result that turns with the drive or that
/// more trials decide, a limit that was never reached, a choice, a warning.
pub fn choose_next<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    answer: &RunAnswer,
    undecided: Option<&Answered>,
) -> Option<NextStep> {
    let document = layout.document;
    if document.run.status != Status::Finished {
        return Some(with_command(
            "Go on with the run; DIR is its folder:",
            "bakeoff run --resume DIR",
        ));
    }
    resolve_broken(layout)
        .or_else(|| {
            (!document.flush_turns.is_empty()).then(|| {
                with_command(
                    "The drive decides. Time yours, then run it again with --disk like:DIR:",
                    "bakeoff doctor DIR",
                )
            })
        })
        .or_else(|| {
            let command = undecided?.command.as_deref()?;
            Some(with_command("More repetitions may decide it:", command))
        })
        .or_else(|| reach_memory(layout))
        .or_else(|| make_choice(layout, cases, answer))
        .or_else(|| mend_warning(layout))
}

fn with_command(text: &str, command: &str) -> NextStep {
    NextStep { text: text.to_owned(), command: Some(command.to_owned()) }
}

fn say(text: String) -> NextStep {
    NextStep { text, command: None }
}

fn resolve_broken(layout: &DocumentLayout<'_>) -> Option<NextStep> {
    let levels = layout.contenders().into_iter().filter(|level| {
        layout.conditions.iter().any(|condition| !layout.keeps_promise(condition, level))
    });
    let broken: Vec<String> =
        levels.map(|level| words::name_contender(layout.compare, level)).collect();
    (!broken.is_empty()).then(|| {
        say(format!("Do not choose {} where commits must last.", words::join_list(&broken)))
    })
}

fn reach_memory(layout: &DocumentLayout<'_>) -> Option<NextStep> {
    let is_memory = |it: &&UnreachedLimit| matches!(it, UnreachedLimit::Memory { .. });
    let limit = layout.document.unreached.iter().find(is_memory)?;
    Some(say(format!("{}.", words::capitalize(&unreached_limits::describe_limit(limit, "")))))
}

/// One level for all cases, or one for each level of the one factor that varies.
fn make_choice<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    answer: &RunAnswer,
) -> Option<NextStep> {
    let is_sure = answer.confidence.as_ref().is_some_and(|it| it.level != ConfidenceGrade::Low);
    let is_won = !cases.is_empty() && cases.iter().all(|it| it.outcome == LeaderOutcome::Won);
    if !is_sure || !is_won {
        return None;
    }
    let name = |level: &str| words::name_contender(layout.compare, level);
    let first = cases[0].leader;
    if cases.iter().all(|case| case.leader == first) {
        return Some(say(format!("Choose {}.", name(first))));
    }
    let [factor] = layout.varying.as_slice() else { return None };
    let choice = |condition: &ConditionLevels<'a>| {
        let mut here = cases.iter().filter(|case| case.condition == *condition);
        let leader = here.next()?.leader;
        let at = words::phrase_level(factor, condition[0]);
        here.all(|case| case.leader == leader).then(|| format!("{} with {at}", name(leader)))
    };
    let choices: Option<Vec<String>> = layout.conditions.iter().map(choice).collect();
    Some(say(format!("Choose {}.", words::join_list(&choices?))))
}

fn mend_warning(layout: &DocumentLayout<'_>) -> Option<NextStep> {
    let serious = layout.document.warnings.iter().filter(|it| it.kind.weight() == Weight::Voids);
    let remedy = serious.filter_map(|it| it.remedy.as_deref()).next()?;
    Some(say(remedy.to_owned()))
}
