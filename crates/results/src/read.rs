//! Reads a run folder.

use rusqlite::{OptionalExtension, Row, Transaction};

use crate::column::{
    ReadBudget, histogram, json, optional_histogram, optional_text, text, unreadable,
};
use crate::measure::Measures;
use crate::power_cut::Cut;
use crate::record::{Canary, Debts, OperationRecord, SlotRecord, Trial, TrialMeasurements};
use crate::recount::recount_rates;
use crate::run::{RunState, Status};
use crate::store::RunFolder;
use crate::summary::{OperationSummary, TrialSummary};
use crate::takeover::Platform;
use crate::{Result, Run, debts};

/// One trial of the plan that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedTrial {
    /// Which block.
    pub block: u32,
    /// Which attempt at it.
    pub attempt: u32,
    /// The trial's place in the block.
    pub order: u32,
    /// Whether it counts.
    pub valid: bool,
}

/// All reads until it is dropped see the same state of a folder, though its run may go on.
pub struct FolderSnapshot<'a>(
    #[expect(dead_code, reason = "it ends when it is dropped")] Transaction<'a>,
);

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
                ReadBudget::of_a_table().take(row)?;
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
    pub fn done(&self) -> Result<Vec<EndedTrial>> {
        self.rows("SELECT block, attempt, position, valid FROM trial ORDER BY id", |row| {
            Ok(EndedTrial {
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
                    off: optional_text(row, 5)?,
                })
            },
        )
    }

    /// Every power cut, in the order in which they were made.
    ///
    /// # Errors
    /// As [`RunFolder::run`].
    pub fn cuts(&self) -> Result<Vec<Cut>> {
        self.rows("SELECT facts FROM cut ORDER BY id", |row| json(row, 0))
    }

    /// Holds what is read fast until it is dropped.
    ///
    /// # Errors
    /// As [`RunFolder::run`].
    pub fn snapshot(&self) -> Result<FolderSnapshot<'_>> {
        self.connection.unchecked_transaction().map(FolderSnapshot).map_err(self.failed())
    }

    /// One trial as it was committed, with all its histograms and debts.
    ///
    /// # Errors
    /// As [`RunFolder::run`].
    pub fn trial(&self, block: u32, attempt: u32, order: u32) -> Result<Option<Trial>> {
        let found = || -> rusqlite::Result<Option<Trial>> {
            let found = self
                .connection
                .query_row(
                    "SELECT id, repetition, levels, started_s, valid, reason, ran_s,
                         window_start_s, window_end_s, measures, warnings
                     FROM trial WHERE block = ?1 AND attempt = ?2 AND position = ?3",
                    (block, attempt, order),
                    |row| {
                        ReadBudget::of_a_table().take(row)?;
                        Ok((row.get(0)?, self.trial_of(row, (block, attempt, order))?))
                    },
                )
                .optional()?;
            let Some((id, mut trial)) = found else { return Ok(None) };
            if let Some(measured) = &mut trial.measured {
                measured.operations = self.operations(id)?;
                measured.debts = debts::read(&self.connection, id, &mut ReadBudget::of_a_table())?;
            }
            Ok(Some(trial))
        };
        found().map_err(self.failed())
    }

    /// What ran the run last.
    ///
    /// # Errors
    /// As [`RunFolder::run`].
    pub fn last_platform(&self) -> Result<Platform> {
        let (run, ended) = (self.run()?, self.ended()?);
        let last = run.takeovers.iter().rfind(|it| it.ran_something(ended));
        Ok(last.map_or_else(|| run.platform(), |it| it.by.clone()))
    }

    /// How many trials have ended, and how many power cuts were made.
    pub(crate) fn ended(&self) -> Result<(u32, u32)> {
        let made =
            "SELECT (SELECT count(*) FROM trial), (SELECT count(*) FROM cut WHERE failed IS NULL)";
        let counted = self.connection.query_row(made, [], |row| Ok((row.get(0)?, row.get(1)?)));
        counted.map_err(self.failed())
    }

    /// Every trial's figures, in the order in which they ran. Where a trial's rates were not counted when
    /// it ran, they are counted from its seconds; else no histogram is touched.
    ///
    /// # Errors
    /// As [`RunFolder::run`].
    pub fn trials(&self) -> Result<Vec<TrialSummary>> {
        let trials = self.rows(
            "SELECT repetition, block, attempt, position, levels, started_s, valid, reason,
                 ran_s, window_start_s, window_end_s, measures, warnings, id
             FROM trial ORDER BY id",
            |row| Ok((row.get(13)?, self.summary(row)?)),
        )?;
        let all = || {
            let mut trials = self.with_operations(trials)?;
            recount_rates(self, &mut trials)?;
            Ok(trials.into_iter().map(|(_, trial)| trial).collect())
        };
        all().map_err(self.failed())
    }

    /// Hangs the operations' figures on their trials; both come in the trials' order.
    fn with_operations(
        &self,
        mut trials: Vec<(i64, TrialSummary)>,
    ) -> rusqlite::Result<Vec<(i64, TrialSummary)>> {
        let mut statement = self.connection.prepare(
            "SELECT trial, name, count, mean_s, p50_s, p95_s, p99_s, p999_s, max_s,
                 service_mean_s, service_p99_s, untrimmed_mean_s, per_second, errors, retries,
                 unfinished
             FROM operation ORDER BY trial, position",
        )?;
        let mut rows = statement.query([])?;
        let mut at = 0;
        let mut left = ReadBudget::of_a_table();
        while let Some(row) = rows.next()? {
            left.take(row)?;
            let trial: i64 = row.get(0)?;
            while trials.get(at).is_some_and(|(id, _)| *id < trial) {
                at += 1;
            }
            let Some((_, owner)) = trials.get_mut(at).filter(|(id, _)| *id == trial) else { break };
            owner.operations.push(operation_summary(row)?);
        }
        Ok(trials)
    }

    fn operations(&self, trial: i64) -> rusqlite::Result<Vec<OperationRecord>> {
        let mut statement = self.connection.prepare(
            "SELECT position, name, kept, service, errors, retries, unfinished, per_second
             FROM operation WHERE trial = ?1 ORDER BY position",
        )?;
        let mut left = ReadBudget::of_a_table();
        let operations = statement.query_map([trial], |row| {
            left.take(row)?;
            Ok(OperationRecord {
                name: text(row, 1)?,
                kept: histogram(row, 2)?,
                service: optional_histogram(row, 3)?,
                slots: self.slots(trial, row.get(0)?)?,
                errors: row.get(4)?,
                retries: row.get(5)?,
                unfinished: row.get(6)?,
                per_second: row.get(7)?,
            })
        })?;
        operations.collect()
    }

    fn slots(&self, trial: i64, operation: i64) -> rusqlite::Result<Vec<SlotRecord>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT start_s, end_s, histogram
             FROM slot WHERE trial = ?1 AND operation = ?2 ORDER BY position",
        )?;
        let mut left = ReadBudget::of_a_table();
        let slots = statement.query_map([trial, operation], |row| {
            left.take(row)?;
            Ok(SlotRecord {
                start_s: row.get(0)?,
                end_s: row.get(1)?,
                histogram: histogram(row, 2)?,
            })
        })?;
        slots.collect()
    }

    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        mut read: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let mut all = || -> rusqlite::Result<Vec<T>> {
            let mut left = ReadBudget::of_a_table();
            let read = |row: &Row| left.take(row).and_then(|()| read(row));
            self.connection.prepare(sql)?.query_map([], read)?.collect()
        };
        all().map_err(self.failed())
    }

    fn summary(&self, row: &Row) -> rusqlite::Result<TrialSummary> {
        let (measures, warnings) = measured(row, [11, 12])?.unwrap_or_default();
        let window_s = row.get::<_, Option<f64>>(9)?.zip(row.get(10)?);
        Ok(TrialSummary {
            repetition: row.get(0)?,
            block: row.get(1)?,
            attempt: row.get(2)?,
            order: row.get(3)?,
            levels: json(row, 4)?,
            started_s: row.get(5)?,
            valid: row.get(6)?,
            reason: optional_text(row, 7)?,
            ran_s: row.get(8)?,
            window_s,
            operations: Vec::new(),
            measures,
            warnings,
        })
    }

    /// A trial without its operations.
    fn trial_of(&self, row: &Row, place: (u32, u32, u32)) -> rusqlite::Result<Trial> {
        let measured = match measured(row, [9, 10])? {
            Some((measures, warnings)) => Some(TrialMeasurements {
                ran_s: row.get(6)?,
                window_s: (row.get(7)?, row.get(8)?),
                operations: Vec::new(),
                measures,
                debts: Debts::default(),
                warnings,
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
            reason: optional_text(row, 5)?,
            measured,
        })
    }
}

/// The measures and the warnings of a trial that has any.
fn measured(
    row: &Row,
    [measures, warnings]: [usize; 2],
) -> rusqlite::Result<Option<(Measures, Vec<String>)>> {
    match row.get_ref(measures)?.as_str_or_null()? {
        Some(_) => Ok(Some((json(row, measures)?, json(row, warnings)?))),
        None => Ok(None),
    }
}

fn operation_summary(row: &Row) -> rusqlite::Result<OperationSummary> {
    Ok(OperationSummary {
        name: text(row, 1)?,
        count: row.get(2)?,
        mean_s: row.get(3)?,
        p50_s: row.get(4)?,
        p95_s: row.get(5)?,
        p99_s: row.get(6)?,
        p999_s: row.get(7)?,
        max_s: row.get(8)?,
        service_mean_s: row.get(9)?,
        service_p99_s: row.get(10)?,
        untrimmed_mean_s: row.get(11)?,
        per_second: row.get(12)?,
        errors: row.get(13)?,
        retries: row.get(14)?,
        unfinished: row.get(15)?,
    })
}
