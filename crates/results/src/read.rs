//! What a run folder gives back.

use hdrhistogram::Histogram;
use rusqlite::types::Type;
use rusqlite::{OptionalExtension, Row, Statement, Transaction};
use serde::de::DeserializeOwned;

use crate::document::{FactsView, OperationView, RunState, Status, TrialView};
use crate::record::{Canary, Facts, Measured, Operation, Slot, Trial};
use crate::store::RunFolder;
use crate::{Result, Run, figures};

/// One trial of the plan that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Which block.
    pub block: u32,
    /// Which attempt at it.
    pub attempt: u32,
    /// The trial's place in the block.
    pub order: u32,
    /// Whether it counts.
    pub valid: bool,
}

/// A trial as the tables have it.
#[derive(Clone, Debug)]
pub(crate) struct TrialRow {
    /// Its key in the tables.
    pub id: i64,
    /// How long its clients ran.
    pub ran_s: Option<f64>,
    /// What is told of it.
    pub view: TrialView,
}

impl RunFolder {
    /// What was known before the first trial.
    ///
    /// # Errors
    /// [`crate::Error::Damaged`] where it can't be read, as everything below.
    pub fn run(&self) -> Result<Run> {
        self.state().map(|state| state.run)
    }

    /// The run, and how far it came.
    ///
    /// # Errors
    /// As [`RunFolder::run`].
    pub fn state(&self) -> Result<RunState> {
        self.connection
            .query_row("SELECT description, status, ended_s FROM run", [], |row| {
                let status: String = row.get(1)?;
                Ok(RunState {
                    run: json(row, 0)?,
                    status: Status::named(&status).ok_or_else(|| unreadable(1, status))?,
                    ended_s: row.get(2)?,
                })
            })
            .map_err(self.failed())
    }

    /// The trials that have ended, in the order in which they ran: what a resumed run need not
    /// do again.
    ///
    /// # Errors
    /// As [`RunFolder::run`].
    pub fn done(&self) -> Result<Vec<Done>> {
        self.rows("SELECT block, attempt, position, valid FROM trial ORDER BY id", |row| {
            Ok(Done {
                block: row.get(0)?,
                attempt: row.get(1)?,
                order: row.get(2)?,
                valid: row.get(3)?,
            })
        })
    }

    /// What was seen of the machine alone, in order.
    ///
    /// # Errors
    /// As [`RunFolder::run`].
    pub fn canaries(&self) -> Result<Vec<Canary>> {
        self.rows(
            "SELECT at_s, cpu_s, memory_s, sync_s, read_s, off FROM canary ORDER BY id",
            |row| {
                Ok(Canary {
                    at_s: row.get(0)?,
                    cpu_s: row.get(1)?,
                    memory_s: row.get(2)?,
                    sync_s: row.get(3)?,
                    read_s: row.get(4)?,
                    off: row.get(5)?,
                })
            },
        )
    }

    /// All reads until it is dropped see the same state, though the run may go on.
    pub(crate) fn snapshot(&self) -> Result<Transaction<'_>> {
        self.connection.unchecked_transaction().map_err(self.failed())
    }

    /// One trial as it was committed, with all its histograms.
    ///
    /// # Errors
    /// As [`RunFolder::run`].
    pub fn trial(&self, block: u32, attempt: u32, order: u32) -> Result<Option<Trial>> {
        let found = || -> rusqlite::Result<Option<Trial>> {
            let found = self
                .connection
                .query_row(
                    "SELECT id, repetition, levels, started_s, valid, reason, ran_s,
                         window_start_s, window_end_s, facts
                     FROM trial WHERE block = ?1 AND attempt = ?2 AND position = ?3",
                    (block, attempt, order),
                    |row| Ok((row.get(0)?, trial(row, (block, attempt, order))?)),
                )
                .optional()?;
            let Some((id, mut trial)) = found else { return Ok(None) };
            if let Some(measured) = &mut trial.measured {
                measured.operations = self.operations(id)?;
            }
            Ok(Some(trial))
        };
        found().map_err(self.failed())
    }

    /// Every trial's figures, in the order in which they ran. No histogram is touched.
    pub(crate) fn trials(&self) -> Result<Vec<TrialRow>> {
        let trials = self.rows(
            "SELECT id, ran_s, repetition, block, attempt, position, levels, started_s, valid,
                 reason, facts
             FROM trial ORDER BY id",
            trial_row,
        )?;
        self.with_operations(trials).map_err(self.failed())
    }

    /// Hangs the operations' figures on their trials; both come in the trials' order.
    fn with_operations(&self, mut trials: Vec<TrialRow>) -> rusqlite::Result<Vec<TrialRow>> {
        let mut statement = self.connection.prepare(
            "SELECT trial, name, count, mean_s, p50_s, p95_s, p99_s, p999_s, max_s,
                 untrimmed_mean_s, per_second, errors, retries
             FROM operation ORDER BY trial, position",
        )?;
        let mut rows = statement.query([])?;
        let mut at = 0;
        while let Some(row) = rows.next()? {
            let trial: i64 = row.get(0)?;
            while trials.get(at).is_some_and(|row| row.id < trial) {
                at += 1;
            }
            let Some(owner) = trials.get_mut(at).filter(|row| row.id == trial) else { break };
            owner.view.operations.push(operation_view(row)?);
        }
        Ok(trials)
    }

    /// Adds the histograms of one trial's window to `merged`, an entry an operation.
    pub(crate) fn merge_kept(
        &self,
        statement: &mut Statement,
        trial: i64,
        merged: &mut Vec<Histogram<u64>>,
    ) -> Result<()> {
        let mut merge = || -> rusqlite::Result<()> {
            let mut rows = statement.query([trial])?;
            for number in 0.. {
                let Some(row) = rows.next()? else { break };
                let kept = histogram(row, 0)?;
                match merged.get_mut(number) {
                    Some(merged) => merged.add(&kept).map_err(|e| unreadable(0, e))?,
                    None => {
                        merged.push(kept);
                        merged[number].auto(true);
                    }
                }
            }
            Ok(())
        };
        merge().map_err(self.failed())
    }

    /// The statement that [`RunFolder::merge_kept`] runs.
    pub(crate) fn kept(&self) -> Result<Statement<'_>> {
        self.connection
            .prepare("SELECT kept FROM operation WHERE trial = ?1 ORDER BY position")
            .map_err(self.failed())
    }

    fn operations(&self, trial: i64) -> rusqlite::Result<Vec<Operation>> {
        let mut statement = self.connection.prepare(
            "SELECT position, name, kept, errors, retries
             FROM operation WHERE trial = ?1 ORDER BY position",
        )?;
        let operations = statement.query_map([trial], |row| {
            Ok(Operation {
                name: row.get(1)?,
                kept: histogram(row, 2)?,
                slots: self.slots(trial, row.get(0)?)?,
                errors: row.get(3)?,
                retries: row.get(4)?,
            })
        })?;
        operations.collect()
    }

    fn slots(&self, trial: i64, operation: i64) -> rusqlite::Result<Vec<Slot>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT start_s, end_s, histogram
             FROM slot WHERE trial = ?1 AND operation = ?2 ORDER BY position",
        )?;
        let slots = statement.query_map([trial, operation], |row| {
            Ok(Slot { start_s: row.get(0)?, end_s: row.get(1)?, histogram: histogram(row, 2)? })
        })?;
        slots.collect()
    }

    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        read: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let all = || -> rusqlite::Result<Vec<T>> {
            self.connection.prepare(sql)?.query_map([], read)?.collect()
        };
        all().map_err(self.failed())
    }
}

fn trial_row(row: &Row) -> rusqlite::Result<TrialRow> {
    let facts: Option<Facts> = optional_json(row, 10)?;
    Ok(TrialRow {
        id: row.get(0)?,
        ran_s: row.get(1)?,
        view: TrialView {
            repetition: row.get(2)?,
            block: row.get(3)?,
            attempt: row.get(4)?,
            order: row.get(5)?,
            levels: json(row, 6)?,
            started_s: row.get(7)?,
            valid: row.get(8)?,
            reason: row.get(9)?,
            operations: Vec::new(),
            space_bytes: facts.as_ref().and_then(|facts| facts.space_bytes),
            cpu_s: facts.as_ref().map(|facts| facts.cpu_s),
            facts: facts.as_ref().map(FactsView::of),
        },
    })
}

fn operation_view(row: &Row) -> rusqlite::Result<OperationView> {
    Ok(OperationView {
        name: row.get(1)?,
        count: row.get(2)?,
        mean_s: row.get(3)?,
        p50_s: row.get(4)?,
        p95_s: row.get(5)?,
        p99_s: row.get(6)?,
        p999_s: row.get(7)?,
        max_s: row.get(8)?,
        untrimmed_mean_s: row.get(9)?,
        per_second: row.get(10)?,
        errors: row.get(11)?,
        retries: row.get(12)?,
    })
}

/// A trial without its operations.
fn trial(row: &Row, place: (u32, u32, u32)) -> rusqlite::Result<Trial> {
    let facts: Option<Facts> = optional_json(row, 9)?;
    let measured = match facts {
        Some(facts) => Some(Measured {
            ran_s: row.get(6)?,
            window_s: (row.get(7)?, row.get(8)?),
            operations: Vec::new(),
            facts,
        }),
        None => None,
    };
    Ok(Trial {
        repetition: row.get(1)?,
        block: place.0,
        attempt: place.1,
        order: place.2,
        levels: json(row, 2)?,
        started_s: row.get(3)?,
        valid: row.get(4)?,
        reason: row.get(5)?,
        measured,
    })
}

fn histogram(row: &Row, column: usize) -> rusqlite::Result<Histogram<u64>> {
    let bytes = row.get_ref(column)?.as_blob()?;
    figures::from_bytes(bytes).map_err(|why| unreadable(column, why))
}

fn json<T: DeserializeOwned>(row: &Row, column: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    serde_json::from_str(text).map_err(|error| unreadable(column, error))
}

fn optional_json<T: DeserializeOwned>(row: &Row, column: usize) -> rusqlite::Result<Option<T>> {
    let text = row.get_ref(column)?.as_str_or_null()?;
    text.map(serde_json::from_str).transpose().map_err(|error| unreadable(column, error))
}

/// What stands in a column is not what is ever written there.
fn unreadable(
    column: usize,
    why: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, why.into())
}
