//! Says whether more trials would decide more, and which command brings them.

use bakeoff_results::{MOST_REPETITIONS, Run, SequentialDesign, Status};

use crate::comparison::Verdict;
use crate::condition::ConditionState;
use crate::document::Document;
use crate::layout::DocumentLayout;
use crate::leader::LeaderOutcome;
use crate::machine_differences::MachineDifferences;
use crate::operation_case::OperationCase;

const OUT: &str = "--out";

/// What leaves cases open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenReasons {
    /// Intervals are too wide.
    pub by_interval: bool,
    /// Machines disagree.
    pub by_machines: bool,
    /// Threads waited for a processor.
    pub by_processors: bool,
    /// Trials have too few operations.
    pub by_few: bool,
}

/// What more trials can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrialAdvice {
    /// The run has not come to its end.
    Resume,
    /// A shard: no command of one machine runs it again.
    Merge,
    /// A merged run: the same plan with more repetitions.
    Deal,
    /// Longer trials, since they have too few operations.
    LengthenFew,
    /// Longer trials, since more of them would hardly decide it.
    Lengthen,
    /// More repetitions than the run was allowed.
    Widen,
    Repeat,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoreTrials {
    pub open: OpenReasons,
    pub advice: Option<TrialAdvice>,
    pub command: Option<String>,
    pub has_interval: bool,
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
            by_interval: cases.iter().any(|case| by_interval(case) && !is_apart(case)),
            by_machines: cases.iter().any(|case| by_interval(case) && is_apart(case)),
            by_processors: cases.iter().any(|case| is_open(case) && is_short(case)),
            by_few: cases.iter().any(|case| case.outcome == LeaderOutcome::TooFew),
        }
    }

    fn is_any(self) -> bool {
        self.by_interval || self.by_machines || self.by_processors || self.by_few
    }
}

impl MoreTrials {
    /// `None` if more trials would decide nothing more.
    pub fn from_cases<'a>(
        layout: &DocumentLayout<'a>,
        cases: &[OperationCase<'a>],
    ) -> Option<Self> {
        let open = OpenReasons::from_cases(layout, cases);
        if !open.is_any() {
            return None;
        }
        let (advice, command) = choose_command(layout.document, open);
        let has_interval = cases.iter().any(|case| case.contrast.ends != (None, None));
        Some(Self { open, advice, command, has_interval })
    }
}

fn choose_command(document: &Document, open: OpenReasons) -> (Option<TrialAdvice>, Option<String>) {
    let run = &document.run.run;
    if document.run.status != Status::Finished {
        return (Some(TrialAdvice::Resume), Some("bakeoff run --resume DIR".into()));
    }
    if run.shard.is_some() {
        return (Some(TrialAdvice::Merge), None);
    }
    if run.merged.is_some() {
        let few = open.by_few.then_some(TrialAdvice::LengthenFew);
        return (if open.by_interval { Some(TrialAdvice::Deal) } else { few }, None);
    }
    match (open.by_interval, &run.sequential) {
        (false, _) if open.by_few => (Some(TrialAdvice::LengthenFew), Some(lengthen_command(run))),
        (false, _) => (None, None),
        (true, Some(sequential)) => {
            let ended = |state| document.conditions.iter().any(|it| it.state == state);
            let [time, blocks] =
                [ConditionState::MaxTime, ConditionState::MaxRepetitions].map(ended);
            match (time, blocks) {
                (false, false) => (Some(TrialAdvice::Lengthen), Some(lengthen_command(run))),
                _ => (Some(TrialAdvice::Widen), Some(widen_command(run, sequential, blocks))),
            }
        }
        (true, None) if run.planner.as_deref().is_none_or(|it| it == "fixed") => {
            (Some(TrialAdvice::Repeat), Some(repeat_command(run)))
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
