//! What to do where the answer is undecided: the command that measures more, and when none is needed.

use bakeoff_analysis::{ConditionState, Verdict};
use bakeoff_results::{MOST_REPETITIONS, Run, Sequential, Status};

use crate::apart::OverMachines;
use crate::block::{Answered, StyledText};
use crate::layout::DocumentLayout;
use crate::verdict::{LeaderOutcome, OperationCase};

/// The flag that names a run's folder.
const OUT: &str = "--out";

/// Said of intervals that leave it open.
const NO_MATTER: &str =
    "It does not matter where neither end of the interval in brackets would change your choice.";
/// Said before the command.
const WIDER: &str = "More blocks may decide it. The same run with more room for them:";
const REPEATED: &str = "More blocks may decide it. The same run with more of them:";
const SHORT: &str = "Threads waited for a processor: fewer clients, or a machine with more processors, decide more than \
     more blocks do.";
const FEW: &str =
    "Trials have too few operations of a kind for a verdict: longer trials bring more.";
const LONGER: &str =
    "More blocks are not likely to decide it. Longer trials differ less from each other, and may.";
/// Said of a shard, and of a run that was merged: no command of one machine runs them again.
const PART: &str =
    "This is one part of a plan: what decides it is the run that bakeoff merge makes of all parts.";
const DEALT: &str = "More blocks may decide it: the same plan with more repetitions, dealt to as many machines or more, \
     and merged.";
/// Said of machines that disagree: more blocks bring each of them nearer to its own answer.
const APART: &str = "Where the machines disagree, more blocks on them decide nothing: the machines differ. Measure on \
     the machine that will be used, or on more machines of its kind.";

/// What is left open.
struct OpenReasons {
    /// By intervals.
    open: bool,
    /// By intervals over machines that disagree.
    apart: bool,
    /// For want of processors.
    short: bool,
    /// For want of operations.
    few: bool,
}

impl OpenReasons {
    fn from_cases<'a>(layout: &DocumentLayout<'a>, cases: &[OperationCase<'a>]) -> Self {
        let disagree = OverMachines::from_cases(layout, cases).disagree;
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

/// The question and its answer; `None` where a run of more trials decides no more.
pub fn undecided<'a>(layout: &DocumentLayout<'a>, cases: &[OperationCase<'a>]) -> Option<Answered> {
    let left = OpenReasons::from_cases(layout, cases);
    if !left.open && !left.apart && !left.short && !left.few {
        return None;
    }
    let (why, command) = more(layout, &left);
    let apart = left.apart.then_some(APART);
    let short = left.short.then_some(SHORT);
    let has_interval = cases.iter().any(|case| case.contrast.ends != (None, None));
    let no_matter = (left.open && has_interval).then_some(NO_MATTER);
    Some(Answered {
        question: "What would decide it?".into(),
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

/// What may decide more, and the command that does it.
fn more(layout: &DocumentLayout<'_>, left: &OpenReasons) -> (Option<&'static str>, Option<String>) {
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
        (false, _) if left.few => (Some(FEW), Some(longer(run))),
        (false, _) => (None, None),
        (true, Some(sequential)) => {
            let ended = |state| document.conditions.iter().any(|it| it.state == state);
            let [time, blocks] =
                [ConditionState::MaxTime, ConditionState::MaxRepetitions].map(ended);
            match (time, blocks) {
                (false, false) => (Some(LONGER), Some(longer(run))),
                _ => (Some(WIDER), Some(wider(run, sequential, blocks))),
            }
        }
        (true, None) if run.planner.as_deref().is_none_or(|it| it == "fixed") => {
            (Some(REPEATED), Some(repeated(run)))
        }
        (true, None) => (None, None),
    }
}

/// The run with trials that last twice as long.
fn longer(run: &Run) -> String {
    with(&command(run), "--seconds", &(2.0 * run.seconds).to_string())
}

/// The run with twice as many blocks at most, where it had all that it might have, and with three times the time,
/// where that is limited.
fn wider(run: &Run, sequential: &Sequential, blocks: bool) -> String {
    let most = sequential.looks.last().copied().unwrap_or(run.repetitions);
    let most = most.saturating_mul(2).min(MOST_REPETITIONS).to_string();
    let command = match blocks {
        true => with(&command(run), "--max-repetitions", &most),
        false => command(run),
    };
    match sequential.max_time_s {
        Some(seconds) => with(&command, "--max-time", &format!("{}s", (3.0 * seconds).ceil())),
        None => command,
    }
}

/// The run until it is decided; where its command says how many repetitions, with twice as many.
fn repeated(run: &Run) -> String {
    let command = command(run);
    if place(&command, "--repetitions").is_some() {
        let twice = run.repetitions.saturating_mul(2).min(MOST_REPETITIONS);
        return with(&command, "--repetitions", &twice.to_string());
    }
    format!("{command} --until-decided")
}

/// The command of a run without the folder that it made: that is there already.
fn command(run: &Run) -> String {
    let mut words: Vec<&str> = run.command.split(' ').collect();
    if let Some(at) = place(&run.command, OUT) {
        let end = if words[at] == OUT { at + 2 } else { at + 1 };
        words.drain(at..end.min(words.len()));
    }
    words.join(" ")
}

/// A command with a flag at this value, which takes the place of the one that it has.
fn with(command: &str, flag: &str, value: &str) -> String {
    let mut words: Vec<String> = command.split(' ').map(str::to_owned).collect();
    match place(command, flag) {
        None => words.extend([flag.to_owned(), value.to_owned()]),
        Some(at) if words[at].contains('=') => words[at] = format!("{flag}={value}"),
        Some(at) => match words.get_mut(at + 1) {
            Some(old) => *old = value.to_owned(),
            None => words.push(value.to_owned()),
        },
    }
    words.join(" ")
}

/// Which word of a command is this flag, or the flag with its value.
fn place(command: &str, flag: &str) -> Option<usize> {
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
            assert_eq!(with(command, "--max-time", "9s"), expected);
        }
    }
}
