//! Clients that first turn the target's debts over: they start at once, and the lab hears "ready"
//! when they have. They go on meanwhile.

use std::time::{Duration, Instant};

use bakeoff_engines::Debt;
use bakeoff_load as load;
use bakeoff_results::{Conditioned, DebtTurnover};

use crate::TrialError;
use crate::process::MessageOutput;
use crate::process::job::Message;
use crate::targets::RunningTarget;

/// The disk takes no time: an engine that has not paid once by then pays seldom.
const LONGEST: Duration = Duration::from_secs(20 * 60);

pub(super) struct TurnoverWatch<'a, 'o> {
    running: &'a dyn RunningTarget,
    output: &'a MessageOutput<'o>,
    /// Reports ready, and returns when the lab says go.
    go: &'a mut dyn FnMut() -> Result<(), TrialError>,
    start: Instant,
    longest: Duration,
    is_over: bool,
}

impl<'a, 'o> TurnoverWatch<'a, 'o> {
    pub fn new(
        running: &'a dyn RunningTarget,
        output: &'a MessageOutput<'o>,
        go: &'a mut dyn FnMut() -> Result<(), TrialError>,
    ) -> Self {
        Self { running, output, go, start: Instant::now(), longest: LONGEST, is_over: false }
    }

    fn look(&mut self, operations: u64) -> Result<bool, TrialError> {
        let debt = self.running.debt()?.ok_or_else(|| {
            let why = "nobody knows what it owes, so that it can't be steady";
            TrialError::User(format!("{why}: cut its power at --state warm"))
        })?;
        if debt.has_turned_over() {
            self.output.send(&Message::Conditioned(Conditioned {
                operations,
                seconds: self.start.elapsed().as_secs_f64(),
                turns: turned_over(&debt),
            }));
            (self.go)()?;
            return Ok(true);
        }
        self.output.send(&Message::Conditioning { done: operations, of: None });
        if self.start.elapsed() > self.longest {
            return Err(unpaid_error(&debt, operations, self.longest));
        }
        Ok(false)
    }
}

impl load::Observer<TrialError> for TurnoverWatch<'_, '_> {
    fn start_ready(&mut self) -> Result<(), TrialError> {
        self.start = Instant::now();
        Ok(())
    }

    fn show_progress(&mut self, progress: &load::DriveProgress) {
        if self.is_over {
            return;
        }
        self.is_over = self.look(progress.operations).unwrap_or_else(|reason| {
            self.output.send(&Message::Failed(reason));
            true
        });
    }
}

fn turned_over(debt: &Debt) -> Vec<DebtTurnover> {
    let turn = |turn: &bakeoff_engines::DebtTurn| DebtTurnover {
        name: turn.name.into(),
        done: turn.done,
        whole: turn.whole,
    };
    debt.turns.iter().map(turn).collect()
}

fn unpaid_error(debt: &Debt, operations: u64, longest: Duration) -> TrialError {
    let open = debt.turns.iter().filter(|turn| turn.done < turn.whole);
    let open: Vec<String> =
        open.map(|turn| format!("{}: {} of {}", turn.name, turn.done, turn.whole)).collect();
    TrialError::Engine(format!(
        "its deferred work had not been through one cycle after {operations} operations in {} s ({}): cut its power at \
         --state warm, or let a setting of the engine's shorten the cycle",
        longest.as_secs(),
        open.join("; "),
    ))
}

#[cfg(test)]
mod tests;
