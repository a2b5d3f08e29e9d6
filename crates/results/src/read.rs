use rusqlite::{OptionalExtension, Row, Transaction};

use crate::column::{
    ReadBudget, optional_histogram, optional_text, read_histogram, read_json, read_text,
    reject_column,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedTrial {
    pub block: u32,
    pub attempt: u32,
    pub order: u32,
    pub valid: bool,
}

pub struct FolderSnapshot<'a>(
    #[expect(dead_code, reason = "it ends when it is dropped")] Transaction<'a>,
);

impl RunFolder {
    pub fn run(&self) -> Result<Run> {
        self.read_state().map(|state| state.run)
    }

    pub fn read_state(&self) -> Result<RunState> {
        self.connection
            .query_row("SELECT description, status, ended_s FROM run", [], |row| {
                ReadBudget::of_a_table().take_row(row)?;
                let status: String = row.get(1)?;
                Ok(RunState {
                    run: read_json(row, 0)?,
                    status: Status::from_name(&status).ok_or_else(|| reject_column(1, status))?,
                    ended_s: row.get(2)?,
                })
            })
            .map_err(self.map_error())
    }

    /// Trials that a resumed run need not repeat.
    pub fn read_ended_trials(&self) -> Result<Vec<EndedTrial>> {
        self.read_rows("SELECT block, attempt, position, valid FROM trial ORDER BY id", |row| {
            Ok(EndedTrial {
                block: row.get(0)?,
                attempt: row.get(1)?,
                order: row.get(2)?,
                valid: row.get(3)?,
            })
        })
    }

    pub fn read_canaries(&self) -> Result<Vec<Canary>> {
        self.read_rows(
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

    pub fn read_cuts(&self) -> Result<Vec<Cut>> {
        self.read_rows("SELECT facts FROM cut ORDER BY id", |row| read_json(row, 0))
    }

    /// Until it is dropped, all reads see one state.
    pub fn begin_snapshot(&self) -> Result<FolderSnapshot<'_>> {
        self.connection.unchecked_transaction().map(FolderSnapshot).map_err(self.map_error())
    }

    pub fn read_trial(&self, block: u32, attempt: u32, order: u32) -> Result<Option<Trial>> {
        let found = || -> rusqlite::Result<Option<Trial>> {
            let found = self
                .connection
                .query_row(
                    "SELECT id, repetition, levels, started_s, valid, reason, ran_s,
                         window_start_s, window_end_s, measures, warnings
                     FROM trial WHERE block = ?1 AND attempt = ?2 AND position = ?3",
                    (block, attempt, order),
                    |row| {
                        ReadBudget::of_a_table().take_row(row)?;
                        Ok((row.get(0)?, self.trial_of(row, (block, attempt, order))?))
                    },
                )
                .optional()?;
            let Some((id, mut trial)) = found else { return Ok(None) };
            if let Some(measured) = &mut trial.measured {
                measured.operations = self.read_operations(id)?;
                measured.debts =
                    debts::read_debts(&self.connection, id, &mut ReadBudget::of_a_table())?;
            }
            Ok(Some(trial))
        };
        found().map_err(self.map_error())
    }

    pub fn last_platform(&self) -> Result<Platform> {
        let (run, ended) = (self.run()?, self.count_ended()?);
        let last = run.takeovers.iter().rfind(|it| it.ran_something(ended));
        Ok(last.map_or_else(|| run.platform(), |it| it.by.clone()))
    }

    pub(crate) fn count_ended(&self) -> Result<(u32, u32)> {
        let made =
            "SELECT (SELECT count(*) FROM trial), (SELECT count(*) FROM cut WHERE failed IS NULL)";
        let counted = self.connection.query_row(made, [], |row| Ok((row.get(0)?, row.get(1)?)));
        counted.map_err(self.map_error())
    }

    /// In the order of running. If a trial's rates were not counted, they are counted from its
    /// seconds; else no histogram is read.
    pub fn read_trials(&self) -> Result<Vec<TrialSummary>> {
        let trials = self.read_rows(
            "SELECT repetition, block, attempt, position, levels, started_s, valid, reason,
                 ran_s, window_start_s, window_end_s, measures, warnings, id
             FROM trial ORDER BY id",
            |row| Ok((row.get(13)?, self.read_summary(row)?)),
        )?;
        let all = || {
            let mut trials = self.with_operations(trials)?;
            recount_rates(self, &mut trials)?;
            Ok(trials.into_iter().map(|(_, trial)| trial).collect())
        };
        all().map_err(self.map_error())
    }

    /// Both come in the order of trials.
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
            left.take_row(row)?;
            let trial: i64 = row.get(0)?;
            while trials.get(at).is_some_and(|(id, _)| *id < trial) {
                at += 1;
            }
            let Some((_, owner)) = trials.get_mut(at).filter(|(id, _)| *id == trial) else { break };
            owner.operations.push(operation_summary(row)?);
        }
        Ok(trials)
    }

    fn read_operations(&self, trial: i64) -> rusqlite::Result<Vec<OperationRecord>> {
        let mut statement = self.connection.prepare(
            "SELECT position, name, kept, service, errors, retries, unfinished, per_second
             FROM operation WHERE trial = ?1 ORDER BY position",
        )?;
        let mut left = ReadBudget::of_a_table();
        let operations = statement.query_map([trial], |row| {
            left.take_row(row)?;
            Ok(OperationRecord {
                name: read_text(row, 1)?,
                kept: read_histogram(row, 2)?,
                service: optional_histogram(row, 3)?,
                slots: self.read_slots(trial, row.get(0)?)?,
                errors: row.get(4)?,
                retries: row.get(5)?,
                unfinished: row.get(6)?,
                per_second: row.get(7)?,
            })
        })?;
        operations.collect()
    }

    fn read_slots(&self, trial: i64, operation: i64) -> rusqlite::Result<Vec<SlotRecord>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT start_s, end_s, histogram
             FROM slot WHERE trial = ?1 AND operation = ?2 ORDER BY position",
        )?;
        let mut left = ReadBudget::of_a_table();
        let slots = statement.query_map([trial, operation], |row| {
            left.take_row(row)?;
            Ok(SlotRecord {
                start_s: row.get(0)?,
                end_s: row.get(1)?,
                histogram: read_histogram(row, 2)?,
            })
        })?;
        slots.collect()
    }

    pub(crate) fn read_rows<T>(
        &self,
        sql: &str,
        mut read: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let mut all = || -> rusqlite::Result<Vec<T>> {
            let mut left = ReadBudget::of_a_table();
            let read = |row: &Row| left.take_row(row).and_then(|()| read(row));
            self.connection.prepare(sql)?.query_map([], read)?.collect()
        };
        all().map_err(self.map_error())
    }

    fn read_summary(&self, row: &Row) -> rusqlite::Result<TrialSummary> {
        let (measures, warnings) = read_measured(row, [11, 12])?.unwrap_or_default();
        let window_s = row.get::<_, Option<f64>>(9)?.zip(row.get(10)?);
        Ok(TrialSummary {
            repetition: row.get(0)?,
            block: row.get(1)?,
            attempt: row.get(2)?,
            order: row.get(3)?,
            levels: read_json(row, 4)?,
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

    fn trial_of(&self, row: &Row, place: (u32, u32, u32)) -> rusqlite::Result<Trial> {
        let measured = match read_measured(row, [9, 10])? {
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
            levels: read_json(row, 2)?,
            started_s: row.get(3)?,
            valid: row.get(4)?,
            reason: optional_text(row, 5)?,
            measured,
        })
    }
}

fn read_measured(
    row: &Row,
    [measures, warnings]: [usize; 2],
) -> rusqlite::Result<Option<(Measures, Vec<String>)>> {
    match row.get_ref(measures)?.as_str_or_null()? {
        Some(_) => Ok(Some((read_json(row, measures)?, read_json(row, warnings)?))),
        None => Ok(None),
    }
}

fn operation_summary(row: &Row) -> rusqlite::Result<OperationSummary> {
    Ok(OperationSummary {
        name: read_text(row, 1)?,
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
