//! Decides what the user can do next with the answer.

use bakeoff_results::Status;

use super::more_trials::MoreTrials;
use super::{Answer, ConfidenceGrade};
use crate::layout::{ConditionLevels, DocumentLayout};
use crate::leader::LeaderOutcome;
use crate::operation_case::OperationCase;
use crate::unreached::UnreachedLimit;
use crate::warning::Weight;

#[derive(Clone, Debug, PartialEq)]
pub enum UserAction<'a> {
    /// The run has not come to its end.
    Resume,
    /// These levels broke a promise.
    Avoid(Vec<&'a str>),
    /// The order turns with the drive's flush time.
    TimeDrive,
    /// More trials may decide more, by this command.
    RunMore(String),
    /// The memory limit was never reached.
    ReachLimit(&'a UnreachedLimit),
    Choose(&'a str),
    /// By level of the one factor that varies.
    ChooseByLevel {
        factor: &'a str,
        leaders: Vec<(&'a str, &'a str)>,
    },
    /// The remedy of the first warning that voids figures.
    Mend(&'a str),
}

impl<'a> UserAction<'a> {
    /// The first that applies.
    pub fn from_answer(
        layout: &DocumentLayout<'a>,
        answer: &Answer<'a>,
        more: Option<&MoreTrials>,
    ) -> Option<Self> {
        let document = layout.document;
        if document.run.status != Status::Finished {
            return Some(Self::Resume);
        }
        let is_memory = |it: &&UnreachedLimit| matches!(it, UnreachedLimit::Memory { .. });
        let mut serious = document.warnings.iter().filter(|it| it.kind.weight() == Weight::Voids);
        avoid_broken(layout)
            .or_else(|| (!document.flush_turns.is_empty()).then_some(Self::TimeDrive))
            .or_else(|| Some(Self::RunMore(more?.command.clone()?)))
            .or_else(|| document.unreached.iter().find(is_memory).map(Self::ReachLimit))
            .or_else(|| choose_level(layout, answer))
            .or_else(|| serious.find_map(|it| it.remedy.as_deref()).map(Self::Mend))
    }
}

fn avoid_broken<'a>(layout: &DocumentLayout<'a>) -> Option<UserAction<'a>> {
    let is_broken = |level: &&'a str| {
        layout.conditions.iter().any(|condition| !layout.keeps_promise(condition, level))
    };
    let broken: Vec<&str> = layout.contenders().into_iter().filter(is_broken).collect();
    (!broken.is_empty()).then_some(UserAction::Avoid(broken))
}

/// One level for all cases, or one for each level of the one factor that varies.
fn choose_level<'a>(
    layout: &DocumentLayout<'a>,
    Answer { cases, confidence, .. }: &Answer<'a>,
) -> Option<UserAction<'a>> {
    let is_sure = confidence.as_ref().is_some_and(|it| it.grade != ConfidenceGrade::Low);
    let first = cases.first()?.leader;
    if !is_sure || cases.iter().any(|case| case.outcome != LeaderOutcome::Won) {
        return None;
    }
    if cases.iter().all(|case| case.leader == first) {
        return Some(UserAction::Choose(first));
    }
    let [factor] = layout.varying.as_slice() else { return None };
    let leader_at = |condition: &ConditionLevels<'a>| {
        let mut here = cases.iter().filter(|case: &&OperationCase| case.condition == *condition);
        let leader = here.next()?.leader;
        here.all(|case| case.leader == leader).then_some((condition[0], leader))
    };
    let leaders: Option<Vec<_>> = layout.conditions.iter().map(leader_at).collect();
    Some(UserAction::ChooseByLevel { factor, leaders: leaders? })
}
