//! Transactions on every path through a script: each is ended once, and nothing that is committed
//! runs again.

use bakeoff_engines::Access;

use super::steps::{DuplicateRule, PlacedStep, RunStep, Step};
use crate::sql::CompiledStatement;
use crate::{Mistakes, SourcePlace};

/// What holds on a path when it comes to a step.
#[derive(Clone, Copy)]
struct PathState {
    is_open: bool,
    /// The open transaction has written.
    wrote: bool,
    committed: bool,
    rule: DuplicateRule,
}

const RULES: [DuplicateRule; 3] = [DuplicateRule::Fail, DuplicateRule::Skip, DuplicateRule::Again];

impl PathState {
    const BEGINNING: Self =
        Self { is_open: false, wrote: false, committed: false, rule: DuplicateRule::Fail };

    fn from_bit(bit: u32) -> Self {
        Self {
            is_open: bit & 1 > 0,
            wrote: bit & 2 > 0,
            committed: bit & 4 > 0,
            rule: RULES[(bit >> 3) as usize],
        }
    }

    fn bit(self) -> u32 {
        let Self { is_open, wrote, committed, rule } = self;
        u32::from(is_open) | u32::from(wrote) << 1 | u32::from(committed) << 2 | (rule as u32) << 3
    }

    /// What holds behind a step; nothing if no path goes on there.
    fn after(self, step: &Step) -> Option<Self> {
        let ended = Self { is_open: false, wrote: false, ..self };
        Some(match step {
            Step::Begin(_) => Self { is_open: true, wrote: false, ..self },
            Step::Commit => Self { committed: self.committed || self.wrote, ..ended },
            Step::Rollback => ended,
            Step::Run(RunStep { writes: true, .. }) if self.is_open => Self { wrote: true, ..self },
            Step::Run(RunStep { writes: true, .. }) => Self { committed: true, ..self },
            Step::OnDuplicate(rule) => Self { rule: *rule, ..self },
            Step::Again => return None,
            _ => self,
        })
    }
}

/// The states in which paths come to a step.
#[derive(Clone, Copy, Default)]
struct PathStates(u32);

impl PathStates {
    fn iter(self) -> impl Iterator<Item = PathState> {
        (0..24).filter(move |bit| self.0 & (1 << bit) > 0).map(PathState::from_bit)
    }

    fn any(self, is: impl Fn(PathState) -> bool) -> bool {
        self.iter().any(is)
    }
}

/// What comes to a step, on all paths together. The end of the script is behind the last step.
#[derive(Clone, Copy, Default)]
struct StepArrival {
    states: PathStates,
    /// Steps that began the open transaction and ended the last one, each on one of the paths.
    begun: Option<usize>,
    ended: Option<usize>,
}

/// Adds what is wrong with the transactions of steps whose jumps are set.
pub fn check_transactions(steps: &[PlacedStep], mistakes: &mut Mistakes) {
    let arrivals = follow_paths(steps);
    for (placed, arrival) in steps.iter().zip(&arrivals) {
        if let Some(what) = explain_fault(&placed.step, arrival, steps) {
            mistakes.add(placed.place.clone(), what);
        }
    }
    let end = arrivals[steps.len()];
    let open = end.begun.filter(|_| end.states.any(|state| state.is_open));
    if let Some(begun) = open {
        let what = match end.states.any(|state| !state.is_open) {
            true => {
                "a path through the script leaves this transaction open: write COMMIT or ROLLBACK \
                 in each branch"
            }
            false => "the transaction has no end: write COMMIT",
        };
        mistakes.add(steps[begun].place.clone(), what);
    }
}

fn follow_paths(steps: &[PlacedStep]) -> Vec<StepArrival> {
    let mut arrivals = vec![StepArrival::default(); steps.len() + 1];
    arrivals[0].states.0 = 1 << PathState::BEGINNING.bit();
    let mut waiting = vec![0];
    while let Some(at) = waiting.pop() {
        let Some(PlacedStep { step, .. }) = steps.get(at) else { continue };
        let arrival = arrivals[at];
        let states = arrival.states.iter().filter_map(|state| state.after(step));
        let states = states.fold(0, |bits, state| bits | 1 << state.bit());
        let begun = if matches!(step, Step::Begin(_)) { Some(at) } else { arrival.begun };
        let ends = matches!(step, Step::Commit | Step::Rollback);
        let ended = if ends { Some(at) } else { arrival.ended };
        for next in list_next(steps, at) {
            let StepArrival { states: known, begun: known_begun, ended: known_ended } =
                &mut arrivals[next];
            *known_begun = known_begun.or(begun);
            *known_ended = known_ended.or(ended);
            if known.0 | states != known.0 {
                known.0 |= states;
                waiting.push(next);
            }
        }
    }
    arrivals
}

/// The steps that may come next.
fn list_next(steps: &[PlacedStep], at: usize) -> impl Iterator<Item = usize> {
    let (next, jump) = match &steps[at].step {
        Step::Jump(to) => (None, Some(*to)),
        Step::JumpUnless { to, .. } | Step::TakeTurn { to, .. } | Step::TakeItem { to, .. } => {
            (Some(at + 1), Some(*to))
        }
        Step::Again => (None, None),
        _ => (Some(at + 1), None),
    };
    next.into_iter().chain(jump)
}

fn explain_fault(step: &Step, arrival: &StepArrival, steps: &[PlacedStep]) -> Option<String> {
    let StepArrival { states, begun, ended } = arrival;
    let place = |step: Option<usize>| -> Option<&SourcePlace> { Some(&steps[step?].place) };
    let (is_open, is_closed) =
        (states.any(|state| state.is_open), states.any(|state| !state.is_open));
    let what = match step {
        Step::Begin(_) if is_open => {
            format!("the transaction of {} has not ended: write COMMIT", place(*begun)?)
        }
        Step::Commit | Step::Rollback if is_closed => match place(*ended).filter(|_| is_open) {
            Some(ended) => format!(
                "a path comes here on which the transaction has ended already, at {ended}: end it \
                 once on each path"
            ),
            None if is_open => {
                "a path comes here on which there is no transaction: write BEGIN before the \\if"
                    .into()
            }
            None => "there is no transaction to end: write BEGIN before it".into(),
        },
        Step::Again if states.any(|state| state.committed) => EXPLAINED_AGAIN.into(),
        Step::Run(RunStep { writes: true, .. })
            if states.any(|state| state.committed && state.rule == DuplicateRule::Again) =>
        {
            EXPLAINED_AGAIN.into()
        }
        _ => return None,
    };
    Some(what)
}

const EXPLAINED_AGAIN: &str = "\\again would run again what is committed: put all before it in one \
                               transaction, BEGIN to COMMIT";

/// Finds out which transactions write or lock rows: an engine has to know it when they begin.
pub fn set_access(steps: &mut [PlacedStep], statements: &[CompiledStatement]) {
    let mut before = vec![Vec::new(); steps.len() + 1];
    for at in 0..steps.len() {
        list_next(steps, at).for_each(|next| before[next].push(at));
    }
    let writes = |step: &Step| match step {
        // Rows are locked in a writing transaction only.
        Step::Run(run) => run.writes || statements[run.statement].locks,
        _ => false,
    };
    let mut leads_to_write: Vec<bool> = steps.iter().map(|placed| writes(&placed.step)).collect();
    let mut waiting: Vec<usize> = (0..steps.len()).filter(|at| leads_to_write[*at]).collect();
    while let Some(at) = waiting.pop() {
        for earlier in &before[at] {
            let step = &mut steps[*earlier].step;
            match step {
                Step::Begin(access) => *access = Access::Write,
                Step::Commit | Step::Rollback => {}
                _ if !leads_to_write[*earlier] => {
                    leads_to_write[*earlier] = true;
                    waiting.push(*earlier);
                }
                _ => {}
            }
        }
    }
}
