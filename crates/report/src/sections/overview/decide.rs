//! Says what to do if the answer is undecided.

use bakeoff_analysis::{ConditionState, Verdict};
use bakeoff_results::{MOST_REPETITIONS, Run, SequentialDesign, Status};

use crate::block::{Answered, StyledText};
use crate::layout::DocumentLayout;
use crate::machine_differences::MachineDifferences;
use crate::verdict::{LeaderOutcome, OperationCase};

pub const QUESTION: &str = "What would decide it?";

const OUT: &str = "--out";

const NO_MATTER: &str =
    "It does not matter where neither end of the interval in brackets would change your choice.";
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

struct OpenReasons {
    open: bool,
    apart: bool,
    short: bool,
    few: bool,
}

impl OpenReasons {
    fn from_cases<'a>(layout: &DocumentLayout<'a>, cases: &[OperationCase<'a>]) -> Self {
        let disagree = MachineDifferences::from_cases(layout, cases).disagree;
        let is_apart =
            |case: &OperationCase| disagree.iter().any(|(it, _)| std::ptr::eq(*it, case));
        let is_short = |case: &OperationCase| case.contrast.verdict == Verdict::ShortOfProcessors;
        let is_open = |case: &OperationCase| {
            matches!(case.outcome, LeaderOutcome::Open | LeaderOutcome::Noise)
        };
        let by_interval = |case: &OperationCase| is_open(case) && !is_short(case);
        Self {
            open: cases.iter().any(|case| by_interval(case) && !is_apart(case)),
            apart: cases.iter().any(|case| by_interval(case) && is_apart(case)),
            short: cases.iter().any(|case| is_open(case) && is_short(case)),
            few: cases.iter().any(|case| case.outcome == LeaderOutcome::TooFew),
        }
    }
}

/// `None` if more trials would decide nothing more.
pub fn ask_undecided<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
) -> Option<Answered> {
    let left = OpenReasons::from_cases(layout, cases);
    if !left.open && !left.apart && !left.short && !left.few {
        return None;
    }
    let (why, command) = choose_command(layout, &left);
    let apart = left.apart.then_some(APART);
    let short = left.short.then_some(SHORT);
    let has_interval = cases.iter().any(|case| case.contrast.ends != (None, None));
    let no_matter = (left.open && has_interval).then_some(NO_MATTER);
    Some(Answered {
        question: QUESTION.into(),
        lines: why
            .into_iter()
            .chain(apart)
            .chain(short)
            .chain(no_matter)
            .map(StyledText::from)
            .collect(),
        note: None,
        command,
        more: None,
        page_alone: false,
    })
}

fn choose_command(
    layout: &DocumentLayout<'_>,
    left: &OpenReasons,
) -> (Option<&'static str>, Option<String>) {
    let document = layout.document;
    let run = &document.run.run;
    if document.run.status != Status::Finished {
        let why = "The run has not come to its end. This goes on with it; DIR is its folder:";
        return (Some(why), Some("bakeoff run --resume DIR".into()));
    }
    if run.shard.is_some() {
        return (Some(PART), None);
    }
    if run.merged.is_some() {
        let why = if left.open { Some(DEALT) } else { left.few.then_some(FEW) };
        return (why, None);
    }
    match (left.open, &run.sequential) {
        (false, _) if left.few => (Some(FEW), Some(lengthen_command(run))),
        (false, _) => (None, None),
        (true, Some(sequential)) => {
            let ended = |state| document.conditions.iter().any(|it| it.state == state);
            let [time, blocks] =
                [ConditionState::MaxTime, ConditionState::MaxRepetitions].map(ended);
            match (time, blocks) {
                (false, false) => (Some(LONGER), Some(lengthen_command(run))),
                _ => (Some(WIDER), Some(widen_command(run, sequential, blocks))),
            }
        }
        (true, None) if run.planner.as_deref().is_none_or(|it| it == "fixed") => {
            (Some(REPEATED), Some(repeat_command(run)))
        }
        (true, None) => (None, None),
    }
}

fn lengthen_command(run: &Run) -> String {
    set_flag(&clean_command(run), "--seconds", &(2.0 * run.seconds).to_string())
}

/// Twice as many blocks where all were used, and three times the time where that is limited.
fn widen_command(run: &Run, sequential: &SequentialDesign, blocks: bool) -> String {
    let most = sequential.looks.last().copied().unwrap_or(run.repetitions);
    let most = most.saturating_mul(2).min(MOST_REPETITIONS).to_string();
    let command = match blocks {
        true => set_flag(&clean_command(run), "--max-repetitions", &most),
        false => clean_command(run),
    };
    match sequential.max_time_s {
        Some(seconds) => set_flag(&command, "--max-time", &format!("{}s", (3.0 * seconds).ceil())),
        None => command,
    }
}

/// Until it is decided, or with twice the repetitions where the command gives them.
fn repeat_command(run: &Run) -> String {
    let command = clean_command(run);
    if find_flag(&command, "--repetitions").is_some() {
        let twice = run.repetitions.saturating_mul(2).min(MOST_REPETITIONS);
        return set_flag(&command, "--repetitions", &twice.to_string());
    }
    format!("{command} --until-decided")
}

/// Without the output folder: that exists already.
fn clean_command(run: &Run) -> String {
    let mut words: Vec<&str> = run.command.split(' ').collect();
    if let Some(at) = find_flag(&run.command, OUT) {
        let end = if words[at] == OUT { at + 2 } else { at + 1 };
        words.drain(at..end.min(words.len()));
    }
    words.join(" ")
}

/// Replaces the flag if it is there.
fn set_flag(command: &str, flag: &str, value: &str) -> String {
    let mut words: Vec<String> = command.split(' ').map(str::to_owned).collect();
    match find_flag(command, flag) {
        None => words.extend([flag.to_owned(), value.to_owned()]),
        Some(at) if words[at].contains('=') => words[at] = format!("{flag}={value}"),
        Some(at) => match words.get_mut(at + 1) {
            Some(old) => *old = value.to_owned(),
            None => words.push(value.to_owned()),
        },
    }
    words.join(" ")
}

/// Index of the word with the flag, or with the flag and its value.
fn find_flag(command: &str, flag: &str) -> Option<usize> {
    let is_flag = |word: &str| word == flag || word.split('=').next() == Some(flag);
    command.split(' ').position(is_flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_takes_the_place_of_the_one_that_is_there() {
        for (command, expected) in [
            ("bakeoff run demo", "bakeoff run demo --max-time 9s"),
            ("bakeoff run demo --max-time 2h --seed 1", "bakeoff run demo --max-time 9s --seed 1"),
            ("bakeoff run demo --max-time=2h", "bakeoff run demo --max-time=9s"),
            ("bakeoff run --max-time-x 2h", "bakeoff run --max-time-x 2h --max-time 9s"),
        ] {
            assert_eq!(set_flag(command, "--max-time", "9s"), expected);
        }
    }
}
