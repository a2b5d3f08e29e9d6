//! Says what to do if the answer is undecided.

use bakeoff_analysis::answer::{MoreTrials, TrialAdvice};

use crate::block::{Answered, StyledText};

pub const QUESTION: &str = "What would decide it?";

const NO_MATTER: &str =
    "It does not matter where neither end of the interval in brackets would change your choice.";
const RESUME: &str = "The run has not come to its end. This goes on with it; DIR is its folder:";
const WIDER: &str = "More repetitions may decide it. The same run with more room for them:";
const REPEATED: &str = "More repetitions may decide it. The same run with more of them:";
const SHORT: &str = "Threads waited for a processor: fewer clients, or a machine with more processors, decide more than \
     more repetitions do.";
const FEW: &str =
    "Trials have too few operations of a kind for a verdict: longer trials bring more.";
const LONGER: &str = "More repetitions are not likely to decide it. Longer trials differ less from each other, and may.";
/// A shard or merged run: no command of one machine runs it again.
const PART: &str =
    "This is one part of a plan: what decides it is the run that bakeoff merge makes of all parts.";
const DEALT: &str = "More repetitions may decide it: the same plan with more of them, dealt to as many machines or more, \
     and merged.";
/// More blocks bring each machine nearer to its own answer.
const APART: &str = "Where the machines disagree, more repetitions on them decide nothing: the machines differ. Measure on \
     the machine that will be used, or on more machines of its kind.";

pub fn describe_more_trials(more: &MoreTrials) -> Answered {
    let open = more.open;
    let advice = more.advice.map(|advice| match advice {
        TrialAdvice::Resume => RESUME,
        TrialAdvice::Merge => PART,
        TrialAdvice::Deal => DEALT,
        TrialAdvice::LengthenFew => FEW,
        TrialAdvice::Lengthen => LONGER,
        TrialAdvice::Widen => WIDER,
        TrialAdvice::Repeat => REPEATED,
    });
    let lines = [
        advice,
        open.by_machines.then_some(APART),
        open.by_processors.then_some(SHORT),
        (open.by_interval && more.has_interval).then_some(NO_MATTER),
    ];
    Answered {
        question: QUESTION.into(),
        lines: lines.into_iter().flatten().map(StyledText::from).collect(),
        note: None,
        command: more.command.clone(),
        more: None,
        page_alone: false,
    }
}
