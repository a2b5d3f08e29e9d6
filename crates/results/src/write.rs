//! Commits to a run folder: one transaction a trial, durable on return.

use rusqlite::{Connection, Params, Transaction, params};

use crate::answers::Answers;
use crate::disk_timing::FlushTiming;
use crate::histogram::to_bytes;
use crate::power_cut::Cut;
use crate::record::{Canary, OperationRecord, Trial, TrialMeasurements};
use crate::run::{Applied, Run, Status};
use crate::shard::Merged;
use crate::store::RunFolder;
use crate::summary::OperationSummary;
use crate::takeover::{Platform, Takeover};
use crate::{Error, Result, debts};

impl RunFolder {
    /// A trial that measured nothing never counts, whatever `valid` says.
    pub fn commit_trial(&mut self, trial: &Trial) -> Result<()> {
        trial.measured.as_ref().map_or(Ok(()), check_fit)?;
        let failed = self.map_error();
        let mut write = || -> rusqlite::Result<()> {
            let transaction = self.connection.transaction()?;
            insert_trial(&transaction, trial)?;
            let id = transaction.last_insert_rowid();
            if let Some(measured) = &trial.measured {
                insert_operations(&transaction, id, measured)?;
                debts::insert_debts(&transaction, id, &measured.debts)?;
            }
            transaction.commit()
        };
        write().map_err(|cause| unfit_error(cause, &failed))
    }

    /// Replaces a failed attempt at the same cut.
    pub fn commit_cut(&mut self, cut: &Cut) -> Result<()> {
        let facts = serde_json::to_string(cut).map_err(|error| Error::Unfit(error.to_string()))?;
        let failed = self.map_error();
        self.connection
            .transaction()
            .and_then(|transaction| {
                replace_cut(&transaction, cut, &facts)?;
                transaction.commit()
            })
            .map_err(|cause| unfit_error(cause, failed))
    }

    pub fn commit_canary(&mut self, canary: &Canary) -> Result<()> {
        let Canary { at_s, cpu_s, memory_s, sync_s, read_s, off } = canary;
        let sql = "INSERT INTO canary (at_s, cpu_s, memory_s, sync_s, read_s, off)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        self.execute_sql(sql, (at_s, cpu_s, memory_s, sync_s, read_s, off))
    }

    /// `ended_s` is since 1970.
    pub fn set_status(&mut self, status: Status, ended_s: Option<f64>) -> Result<()> {
        self.execute_sql("UPDATE run SET status = ?1, ended_s = ?2", (status.name(), ended_s))
    }

    /// Requests a second, measured after the run's start, for all of it; of a merged run for the
    /// last machine.
    pub fn set_neighbour_alone(&mut self, per_second: f64) -> Result<()> {
        let mut run = self.run()?;
        run.neighbour_alone_per_second = Some(per_second);
        if let Some(last) = run.merged.as_mut().and_then(Merged::went_on_last_mut) {
            last.neighbour_alone_per_second = Some(per_second);
        }
        self.write_run(&run)
    }

    /// Notes that this program and kernel go on with the run. Earlier ones that ended nothing are
    /// forgotten.
    pub fn note_platform(&mut self, by: Platform) -> Result<()> {
        let (last, ended @ (trials, cuts)) = (self.last_platform()?, self.count_ended()?);
        let mut run = self.run()?;
        run.takeovers.retain(|it| it.ran_something(ended));
        if !by.has_program_of(&last) || !by.has_kernel_of(&last) {
            run.takeovers.push(Takeover { by, trials, cuts });
        }
        self.write_run(&run)
    }

    /// For a run with a limit of time.
    pub fn note_used(&mut self, seconds: f64) -> Result<()> {
        let mut run = self.run()?;
        let Some(sequential) = &mut run.sequential else { return Ok(()) };
        sequential.used_s = seconds;
        self.write_run(&run)
    }

    pub(crate) fn write_run(&mut self, run: &Run) -> Result<()> {
        let description = serde_json::to_string(run).expect("a run is plain data");
        self.execute_sql("UPDATE run SET description = ?1", [description])
    }

    /// What the disk of a level `like:PATH` took after the run.
    pub fn note_timed_after(&mut self, level: &str, after: &FlushTiming) -> Result<()> {
        let mut run = self.run()?;
        for disk in run.disks.iter_mut().filter(|disk| disk.level == level) {
            if let Some(timed) = &mut disk.timed {
                timed.after = Some(after.clone());
            }
        }
        self.write_run(&run)
    }

    /// Once for each combination.
    pub fn note_applied(&mut self, applied: &Applied) -> Result<()> {
        let mut run = self.run()?;
        let same = |other: &Applied| {
            (&other.engine, &other.durability, &other.memory, &other.options)
                == (&applied.engine, &applied.durability, &applied.memory, &applied.options)
        };
        if run.applied.iter().any(same) {
            return Ok(());
        }
        run.applied.push(applied.clone());
        self.write_run(&run)
    }

    /// Replaces an earlier note of the image.
    pub fn note_answers(&mut self, answers: &Answers) -> Result<()> {
        let mut run = self.run()?;
        run.answers
            .retain(|known| (&known.image, &known.levels) != (&answers.image, &answers.levels));
        run.answers.push(answers.clone());
        self.write_run(&run)
    }

    /// Keeps the trials of a disturbed block without counting them. An earlier reason stands.
    pub fn invalidate_block(&mut self, block: u32, attempt: u32, reason: &str) -> Result<()> {
        let sql = "UPDATE trial SET valid = 0, reason = coalesce(reason, ?3)
                   WHERE block = ?1 AND attempt = ?2";
        self.execute_sql(sql, (block, attempt, reason))
    }

    pub(crate) fn execute_sql(&self, sql: &str, values: impl Params) -> Result<()> {
        let done = self.connection.execute(sql, values);
        done.map(drop).map_err(|cause| unfit_error(cause, self.map_error()))
    }
}

/// Rejects debts that would not be read again, and NaN and infinities: JSON and SQLite have none.
fn check_fit(measured: &TrialMeasurements) -> Result<()> {
    let times = [measured.ran_s, measured.window_s.0, measured.window_s.1];
    let readings = measured.measures.iter();
    let off = readings.map(|reading| (&*reading.name, reading.value));
    let rates = measured.operations.iter().map(|it| ("the rate", it.per_second));
    let mut off = off.chain(rates).chain(times.map(|time| ("the time that it took", time)));
    match off.find(|(_, value)| !value.is_finite()) {
        Some((name, value)) => {
            Err(Error::Unfit(format!("a figure is not a number ({name}: {value})")))
        }
        None => debts::explain_unfit(&measured.debts).map_or(Ok(()), |why| Err(Error::Unfit(why))),
    }
}

/// A violated constraint is the caller's fault, not the disk's.
pub(crate) fn unfit_error(
    cause: rusqlite::Error,
    failed: impl Fn(rusqlite::Error) -> Error,
) -> Error {
    match cause.sqlite_error_code() {
        Some(rusqlite::ErrorCode::ConstraintViolation) => Error::Unfit(cause.to_string()),
        _ => failed(cause),
    }
}

fn insert_trial(to: &Transaction, trial: &Trial) -> rusqlite::Result<()> {
    let measured = trial.measured.as_ref();
    to.prepare_cached(
        "INSERT INTO trial (repetition, block, attempt, position, levels, started_s, valid,
             reason, ran_s, window_start_s, window_end_s, measures, warnings)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?
    .execute(params![
        trial.repetition,
        trial.block,
        trial.attempt,
        trial.order,
        to_json(&trial.levels),
        trial.started_s,
        trial.valid && measured.is_some(),
        trial.reason,
        measured.map(|measured| measured.ran_s),
        measured.map(|measured| measured.window_s.0),
        measured.map(|measured| measured.window_s.1),
        measured.map(|measured| to_json(&measured.measures)),
        measured.map(|measured| to_json(&measured.warnings)),
    ])?;
    Ok(())
}

fn to_json(plain: &impl serde::Serialize) -> String {
    serde_json::to_string(plain).expect("names, numbers and sentences are plain data")
}

fn insert_operations(
    to: &Transaction,
    trial: i64,
    measured: &TrialMeasurements,
) -> rusqlite::Result<()> {
    for (position, operation) in measured.operations.iter().enumerate() {
        let summary = OperationSummary::of_trial(operation);
        insert_operation(to, trial, position, &summary, operation)?;
        insert_slots(to, trial, position, operation)?;
    }
    Ok(())
}

fn insert_operation(
    to: &Transaction,
    trial: i64,
    position: usize,
    summary: &OperationSummary,
    operation: &OperationRecord,
) -> rusqlite::Result<()> {
    to.prepare_cached(
        "INSERT INTO operation (trial, position, name, count, mean_s, p50_s, p95_s, p99_s,
             p999_s, max_s, service_mean_s, service_p99_s, untrimmed_mean_s, per_second, errors,
             retries, unfinished, kept, service)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
             ?19)",
    )?
    .execute(params![
        trial,
        position,
        summary.name,
        summary.count,
        summary.mean_s,
        summary.p50_s,
        summary.p95_s,
        summary.p99_s,
        summary.p999_s,
        summary.max_s,
        summary.service_mean_s,
        summary.service_p99_s,
        summary.untrimmed_mean_s,
        summary.per_second,
        summary.errors,
        summary.retries,
        summary.unfinished,
        to_bytes(&operation.kept),
        operation.service.as_ref().map(to_bytes),
    ])?;
    Ok(())
}

fn insert_slots(
    to: &Transaction,
    trial: i64,
    position: usize,
    operation: &OperationRecord,
) -> rusqlite::Result<()> {
    let mut statement = to.prepare_cached(
        "INSERT INTO slot (trial, operation, position, start_s, end_s, histogram)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (number, slot) in operation.slots.iter().enumerate() {
        let bytes = to_bytes(&slot.histogram);
        statement.execute((trial, position, number, slot.start_s, slot.end_s, bytes))?;
    }
    Ok(())
}

fn replace_cut(database: &Connection, cut: &Cut, facts: &str) -> rusqlite::Result<()> {
    database.execute(
        "DELETE FROM cut
         WHERE engine = ?1 AND durability = ?2 AND file_system = ?3 AND number = ?4
             AND failed IS NOT NULL",
        (&cut.engine, &cut.durability, cut.file_system.name(), cut.number),
    )?;
    let broken = cut.broken_images().count() as u64;
    database
        .execute(
            "INSERT INTO cut (engine, durability, file_system, number, broken, failed, facts)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            (
                &cut.engine,
                &cut.durability,
                cut.file_system.name(),
                cut.number,
                broken,
                &cut.failed,
                facts,
            ),
        )
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use crate::record::Levels;

    fn run() -> Run {
        let facts = serde_json::json!({
            "name": "", "title": "", "workload": "", "operations": [], "compare": "", "baseline": "",
            "factors": [], "seconds": 1.0, "repetitions": 1, "seed": 1, "planned": 2, "command": "",
            "version": "", "started_s": 0.0, "machine": Machine::default(), "engines": [],
            "harness_s": 5e-8, "text": "",
        });
        serde_json::from_value(facts).unwrap()
    }

    fn failed(order: u32, reason: String) -> Trial {
        let levels = Levels::new();
        let reason = Some(reason);
        let (repetition, block, attempt, started_s) = (0, 0, 0, 0.0);
        let (valid, measured) = (false, None);
        Trial { repetition, block, attempt, order, levels, started_s, valid, reason, measured }
    }

    /// SQLite is told that the disk ends here; what it does then is what it does on a full disk.
    #[test]
    fn a_full_disk_loses_nothing_and_the_run_goes_on_once_there_is_room() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run");
        let mut folder = RunFolder::create(&path, &run(), "").unwrap();
        folder.commit_trial(&failed(0, "small".to_owned())).unwrap();
        // No more pages than it has.
        folder.connection.query_row("PRAGMA max_page_count = 1", [], |_| Ok(())).unwrap();
        let large = failed(1, "x".repeat(1 << 20));
        let error = folder.commit_trial(&large).unwrap_err();
        assert!(matches!(error, Error::Full { .. }), "{error:?}");
        assert!(error.to_string().contains(&format!("--resume {}", path.display())), "{error}");
        assert_eq!(folder.read_ended_trials().unwrap().len(), 1);
        drop(folder);

        let mut folder = RunFolder::resume(&path).unwrap();
        folder.commit_trial(&large).unwrap();
        assert_eq!(folder.read_ended_trials().unwrap().len(), 2);
    }
}
