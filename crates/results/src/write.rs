//! What is committed to a run folder: one transaction a trial, on the disk when it returns.

use rusqlite::{Connection, Transaction, params};

use crate::answers::Answers;
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
    /// Keeps a trial, with all its histograms and debts. A trial that measured nothing never counts,
    /// whatever `valid` says.
    ///
    /// # Errors
    /// [`Error::Full`], [`Error::CannotWrite`], [`Error::Unfit`] where a figure is not a number or
    /// the trial is there already. Nothing of the trial is kept then, and nothing else is lost.
    pub fn commit_trial(&mut self, trial: &Trial) -> Result<()> {
        trial.measured.as_ref().map_or(Ok(()), fit)?;
        let failed = self.failed();
        let mut write = || -> rusqlite::Result<()> {
            let transaction = self.connection.transaction()?;
            insert_trial(&transaction, trial)?;
            let id = transaction.last_insert_rowid();
            if let Some(measured) = &trial.measured {
                insert_operations(&transaction, id, measured)?;
                debts::insert(&transaction, id, &measured.debts)?;
            }
            transaction.commit()
        };
        write().map_err(|cause| unfit(cause, &failed))
    }

    /// Keeps a power cut. It takes the place of a failed attempt at the same one, which says nothing.
    ///
    /// # Errors
    /// As [`RunFolder::commit_trial`].
    pub fn commit_cut(&mut self, cut: &Cut) -> Result<()> {
        let facts = serde_json::to_string(cut).map_err(|error| Error::Unfit(error.to_string()))?;
        let failed = self.failed();
        self.connection
            .transaction()
            .and_then(|transaction| {
                replace(&transaction, cut, &facts)?;
                transaction.commit()
            })
            .map_err(|cause| unfit(cause, failed))
    }

    /// Keeps what a look at the machine alone has shown.
    ///
    /// # Errors
    /// As [`RunFolder::commit_trial`].
    pub fn commit_canary(&mut self, canary: &Canary) -> Result<()> {
        let Canary { at_s, cpu_s, memory_s, sync_s, read_s, off } = canary;
        self.connection
            .execute(
                "INSERT INTO canary (at_s, cpu_s, memory_s, sync_s, read_s, off)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                (at_s, cpu_s, memory_s, sync_s, read_s, off),
            )
            .map(|_| ())
            .map_err(|cause| unfit(cause, self.failed()))
    }

    /// Says how far the run came, and when it ended, in seconds since 1970.
    ///
    /// # Errors
    /// [`Error::Full`], [`Error::CannotWrite`].
    pub fn set_status(&mut self, status: Status, ended_s: Option<f64>) -> Result<()> {
        self.connection
            .execute("UPDATE run SET status = ?1, ended_s = ?2", (status.name(), ended_s))
            .map(|_| ())
            .map_err(self.failed())
    }

    /// Notes what one neighbour stream reaches alone, in requests a second: it is measured after
    /// the run has begun, and holds for all of it; of a merged run for the machine that went on last.
    ///
    /// # Errors
    /// [`Error::Full`], [`Error::CannotWrite`].
    pub fn set_neighbour_alone(&mut self, per_second: f64) -> Result<()> {
        let mut run = self.run()?;
        run.neighbour_alone_per_second = Some(per_second);
        if let Some(last) = run.merged.as_mut().and_then(Merged::went_on_last_mut) {
            last.neighbour_alone_per_second = Some(per_second);
        }
        self.describe(&run)
    }

    /// Notes that this program under this kernel goes on with the run, where another one ran it last. Those that
    /// went on before and ended nothing are forgotten.
    ///
    /// # Errors
    /// As [`RunFolder::run`]; [`Error::Full`], [`Error::CannotWrite`].
    pub fn note_platform(&mut self, by: Platform) -> Result<()> {
        let (last, ended @ (trials, cuts)) = (self.last_platform()?, self.ended()?);
        let mut run = self.run()?;
        run.takeovers.retain(|it| it.ran_something(ended));
        if !by.has_program_of(&last) || !by.has_kernel_of(&last) {
            run.takeovers.push(Takeover { by, trials, cuts });
        }
        self.describe(&run)
    }

    /// Notes how many seconds the run has taken so far, where that can end it.
    ///
    /// # Errors
    /// [`Error::Full`], [`Error::CannotWrite`].
    pub fn note_used(&mut self, seconds: f64) -> Result<()> {
        let mut run = self.run()?;
        let Some(sequential) = &mut run.sequential else { return Ok(()) };
        sequential.used_s = seconds;
        self.describe(&run)
    }

    /// Puts what is known of the run in the place of what was.
    pub(crate) fn describe(&mut self, run: &Run) -> Result<()> {
        let description = serde_json::to_string(run).expect("a run is plain data");
        self.connection
            .execute("UPDATE run SET description = ?1", [description])
            .map(|_| ())
            .map_err(self.failed())
    }

    /// Notes what an engine was opened with, once for each combination of terms.
    ///
    /// # Errors
    /// [`Error::Full`], [`Error::CannotWrite`].
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
        self.describe(&run)
    }

    /// Notes what an image answered, in the place of what was noted of it before.
    ///
    /// # Errors
    /// [`Error::Full`], [`Error::CannotWrite`].
    pub fn note_answers(&mut self, answers: &Answers) -> Result<()> {
        let mut run = self.run()?;
        run.answers
            .retain(|known| (&known.image, &known.levels) != (&answers.image, &answers.levels));
        run.answers.push(answers.clone());
        self.describe(&run)
    }

    /// Keeps the trials of a disturbed block, but counts them no more. A reason that a trial has
    /// already stands.
    ///
    /// # Errors
    /// [`Error::Full`], [`Error::CannotWrite`].
    pub fn invalidate(&mut self, block: u32, attempt: u32, reason: &str) -> Result<()> {
        self.connection
            .execute(
                "UPDATE trial SET valid = 0, reason = coalesce(reason, ?3)
                 WHERE block = ?1 AND attempt = ?2",
                (block, attempt, reason),
            )
            .map(|_| ())
            .map_err(self.failed())
    }
}

/// Refuses debts that would not be read again, and what is not a number: neither JSON nor SQLite has
/// a word for it.
fn fit(measured: &TrialMeasurements) -> Result<()> {
    let times = [measured.ran_s, measured.window_s.0, measured.window_s.1];
    let readings = measured.measures.iter();
    let off = readings.map(|reading| (&*reading.name, reading.value));
    let rates = measured.operations.iter().map(|it| ("the rate", it.per_second));
    let mut off = off.chain(rates).chain(times.map(|time| ("the time that it took", time)));
    match off.find(|(_, value)| !value.is_finite()) {
        Some((name, value)) => {
            Err(Error::Unfit(format!("a figure is not a number ({name}: {value})")))
        }
        None => debts::unfit(&measured.debts).map_or(Ok(()), |why| Err(Error::Unfit(why))),
    }
}

/// A constraint says that the caller is at fault, not the disk.
pub(crate) fn unfit(cause: rusqlite::Error, failed: impl Fn(rusqlite::Error) -> Error) -> Error {
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
        json(&trial.levels),
        trial.started_s,
        trial.valid && measured.is_some(),
        trial.reason,
        measured.map(|measured| measured.ran_s),
        measured.map(|measured| measured.window_s.0),
        measured.map(|measured| measured.window_s.1),
        measured.map(|measured| json(&measured.measures)),
        measured.map(|measured| json(&measured.warnings)),
    ])?;
    Ok(())
}

fn json(plain: &impl serde::Serialize) -> String {
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

fn replace(database: &Connection, cut: &Cut, facts: &str) -> rusqlite::Result<()> {
    database.execute(
        "DELETE FROM cut
         WHERE engine = ?1 AND durability = ?2 AND file_system = ?3 AND number = ?4
             AND failed IS NOT NULL",
        (&cut.engine, &cut.durability, cut.file_system.name(), cut.number),
    )?;
    let broken = cut.broken().count() as u64;
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
        Run {
            name: String::new(),
            title: String::new(),
            workload: String::new(),
            operations: Vec::new(),
            figure_of_merit: crate::FigureOfMerit::Time,
            compare: String::new(),
            baseline: String::new(),
            factors: Vec::new(),
            seconds: 1.0,
            operations_each: None,
            repetitions: 1,
            seed: 1,
            planned: 2,
            command: String::new(),
            version: String::new(),
            program_sha256: None,
            takeovers: Vec::new(),
            started_s: 0.0,
            machine: Machine::default(),
            engines: Vec::new(),
            harness_s: 5e-8,
            debug_build: false,
            load: None,
            disks: Vec::new(),
            neighbour_alone_per_second: None,
            text: String::new(),
            applied: Vec::new(),
            cuts: None,
            estimated_s: None,
            planner: None,
            left_out: Vec::new(),
            sequential: None,
            answers: Vec::new(),
            published: None,
            limit: None,
            shard: None,
            merged: None,
        }
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
        assert_eq!(folder.done().unwrap().len(), 1);
        drop(folder);

        let mut folder = RunFolder::resume(&path).unwrap();
        folder.commit_trial(&large).unwrap();
        assert_eq!(folder.done().unwrap().len(), 2);
    }
}
