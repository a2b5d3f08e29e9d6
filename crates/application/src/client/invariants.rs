//! How a client looks whether the invariants hold.

use bakeoff_engines::{Error, Result, Rows, Session};
use bakeoff_workloads::OperationTally;

use super::{ApplicationClient, name_place};
use crate::script::steps::{AnswerUse, PlacedStep, Step};
use crate::{Datum, SourcePlace};

/// Rows of a failing invariant that are told.
const TOLD: usize = 5;

impl ApplicationClient<'_> {
    /// Sentences on the invariants that fail. An engine without SQL has none of them if one needs
    /// SQL.
    pub fn find_violations(&mut self, session: &mut dyn Session) -> Result<Vec<String>> {
        let Some(invariants) = self.application.invariants.as_deref() else {
            return Ok(Vec::new());
        };
        self.begin_attempt(invariants, 0);
        let mut violations = Vec::new();
        for placed in &invariants.steps {
            match self.check_step(placed, session) {
                Ok(violation) => violations.extend(violation),
                Err(Error::Usage(_)) if self.application.needs_sql() => return Ok(Vec::new()),
                Err(error) => return Err(name_place(&placed.place, error)),
            }
        }
        Ok(violations)
    }

    fn check_step(
        &mut self,
        placed: &PlacedStep,
        session: &mut dyn Session,
    ) -> Result<Option<String>> {
        match &placed.step {
            Step::Assert(condition) => {
                let holds = self.evaluate_truth(condition)?;
                Ok((!holds).then(|| format!("{}: \\assert fails", placed.place)))
            }
            Step::Run(run) => {
                self.run_statement(run, session, None, &mut OperationTally::default())?;
                let is_asked = run.answer == AnswerUse::Ignore;
                Ok(if is_asked { judge_answer(&placed.place, &self.rows) } else { None })
            }
            Step::Set { slot, expression } => self.set_variable(*slot, expression).map(|()| None),
            _ => Ok(None),
        }
    }
}

/// What is wrong with an answer that is to be 0, or nothing.
fn judge_answer(place: &SourcePlace, rows: &Rows) -> Option<String> {
    let is_zero = rows.len() == 1 && rows.width() == 1 && rows.get_int(0, 0) == Some(0);
    if rows.is_empty() || is_zero {
        return None;
    }
    let told = (0..rows.len().min(TOLD)).map(|row| {
        let cells: Vec<String> = rows.row(row).map(|cell| Datum::from(cell).to_string()).collect();
        format!("({})", cells.join(", "))
    });
    let told: Vec<String> = told.collect();
    let more = if rows.len() > TOLD { ", …" } else { "" };
    Some(format!("{place}: answers {}{more}", told.join(", ")))
}
