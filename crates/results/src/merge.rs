//! One run folder of the records of several. The others are only read.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use bakeoff_trust::Folder;
use rusqlite::types::Value;
use rusqlite::{Transaction, params_from_iter};

use crate::column::Left;
use crate::files::DATABASE;
use crate::record::Canary;
use crate::run::{Run, Status};
use crate::shard::Merged;
use crate::store::{RunFolder, SQLITES, build, discard, lock, name, no_room, unwritten};
use crate::write::unfit;
use crate::{Error, Result};

/// What a merged run takes of a folder.
pub struct Part<'a> {
    /// The folder.
    pub folder: &'a RunFolder,
    /// The blocks whose trials it takes.
    pub blocks: BTreeSet<u32>,
    /// The engines and levels of durability whose power cuts it takes.
    pub cuts: BTreeSet<(String, String)>,
    /// Which of the looks at the machine alone it takes, by their places.
    pub canaries: Range<usize>,
}

/// The folder of a merged run that is about to be written anew; nobody else writes to it meanwhile.
pub struct Held {
    dir: PathBuf,
    folder: Folder,
}

/// The tables of what belongs to a trial.
const OF_TRIALS: [&str; 4] = ["operation", "slot", "owed", "payment"];

impl RunFolder {
    /// Makes the folder of a run that is merged of parts of others. It gets its name when it is whole.
    ///
    /// # Errors
    /// As [`RunFolder::create`], and what reading a part fails with.
    pub fn merge(
        dir: &Path,
        run: &Run,
        experiment: &str,
        ended: (Status, Option<f64>),
        parts: &[Part<'_>],
    ) -> Result<Self> {
        let path = dir.join(DATABASE);
        Self::create_with(dir, run, experiment, &|to| write(to, &path, ended, parts))
    }

    /// Takes the folder of a run, so that it can be written anew.
    ///
    /// # Errors
    /// [`Error::Untrusted`], [`Error::Busy`], and [`Error::CannotRead`] where a writer was killed: what it
    /// had begun is not in the database yet.
    pub fn hold(dir: &Path) -> Result<Held> {
        let folder = bakeoff_trust::folder(dir)?;
        lock(&folder, dir)?;
        for end in SQLITES {
            let there = folder.file(&format!("{DATABASE}{end}"))?.is_some();
            if there && !end.is_empty() {
                let cause = format!("{DATABASE}{end} is beside it, which a killed run has left");
                return Err(Error::CannotRead { path: dir.join(DATABASE), cause });
            }
        }
        Ok(Held { dir: dir.to_owned(), folder })
    }

    /// Notes which machines a merged run has, and how many power cuts they are to make. The neighbours' rate
    /// of the run is from then on that of the machine that goes on with it.
    ///
    /// # Errors
    /// [`Error::Full`], [`Error::CannotWrite`].
    pub fn note_machines(&mut self, merged: &Merged, cuts: u32) -> Result<()> {
        let last = merged.went_on_last();
        let mut run = Run {
            neighbour_alone_per_second: last.and_then(|it| it.neighbour_alone_per_second),
            merged: Some(merged.clone()),
            ..self.run()?
        };
        if let Some(plan) = &mut run.cuts {
            plan.planned = cuts;
        }
        self.describe(&run)
    }

    /// The looks at the machine that runs it: of a merged run those of the machine that went on last, of any
    /// other all.
    ///
    /// # Errors
    /// As [`RunFolder::run`].
    pub fn own_canaries(&self) -> Result<Vec<Canary>> {
        let mut canaries = self.canaries()?;
        Ok(match self.run()?.merged {
            Some(merged) => canaries.drain(merged.looks_of_last(canaries.len())).collect(),
            None => canaries,
        })
    }

    /// The experiment, as it was when the run began.
    ///
    /// # Errors
    /// As [`RunFolder::run`].
    pub fn experiment(&self) -> Result<String> {
        let read = self.connection.query_row("SELECT experiment FROM run", [], |row| row.get(0));
        read.map_err(self.failed())
    }
}

impl Held {
    /// Writes the folder's database anew, of these parts, which may be parts of itself; its experiment stays.
    /// What fails leaves it as it was.
    ///
    /// # Errors
    /// As [`RunFolder::merge`].
    pub fn rewrite(
        self,
        run: &Run,
        experiment: &str,
        ended: (Status, Option<f64>),
        parts: &[Part<'_>],
    ) -> Result<()> {
        let path = self.dir.join(DATABASE);
        discard(&self.folder);
        build(&self.folder, &path, run, experiment, &|to| write(to, &path, ended, parts))
            .and_then(|()| name(&self.folder, &path))
            .map_err(|error| {
                discard(&self.folder);
                no_room(error)
            })
    }
}

/// Writes how the run at `path` ended, and what its parts hold.
fn write(
    to: &Transaction<'_>,
    path: &Path,
    (status, ended_s): (Status, Option<f64>),
    parts: &[Part<'_>],
) -> Result<()> {
    let into = Output { to, path };
    to.execute("UPDATE run SET status = ?1, ended_s = ?2", (status.name(), ended_s))
        .map_err(|cause| unwritten(path, cause))?;
    parts.iter().try_for_each(|part| part.copy(&into))
}

/// A database that is being written.
struct Output<'a> {
    to: &'a Transaction<'a>,
    path: &'a Path,
}

/// The rows of a table, or some of them, by its columns' names.
struct Rows {
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

impl Rows {
    /// The rows of a table, in their order.
    fn read(from: &RunFolder, table: &str) -> Result<Self> {
        Self::found(from, &format!("SELECT * FROM {table} ORDER BY rowid"), None)
    }

    /// The rows of a table that have a number in a column.
    fn of(from: &RunFolder, table: &str, column: &str, number: i64) -> Result<Self> {
        Self::found(from, &format!("SELECT * FROM {table} WHERE {column} = ?1"), Some(number))
    }

    fn found(from: &RunFolder, sql: &str, number: Option<i64>) -> Result<Self> {
        let read = || -> rusqlite::Result<Self> {
            let mut statement = from.connection.prepare_cached(sql)?;
            let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
            let mut left = Left::of_a_table();
            let mut found = statement.query(params_from_iter(number))?;
            let mut rows = Vec::new();
            while let Some(row) = found.next()? {
                left.take(row)?;
                let values = (0..columns.len()).map(|column| row.get(column));
                rows.push(values.collect::<rusqlite::Result<Vec<Value>>>()?);
            }
            Ok(Self { columns, rows })
        };
        read().map_err(from.failed())
    }

    /// The place of a column, which the folder was seen to have.
    fn column(&self, name: &str) -> usize {
        self.columns.iter().position(|column| column == name).unwrap_or_default()
    }

    /// Keeps the rows whose number in a column is among these.
    fn keep(&mut self, column: &str, numbers: &BTreeSet<u32>) {
        let column = self.column(column);
        self.rows.retain(|row| match row[column] {
            Value::Integer(number) => {
                u32::try_from(number).is_ok_and(|number| numbers.contains(&number))
            }
            _ => false,
        });
    }

    /// Puts a value into a column of every row.
    fn set(&mut self, column: &str, value: &Value) {
        let column = self.column(column);
        self.rows.iter_mut().for_each(|row| row[column] = value.clone());
    }
}

impl Output<'_> {
    /// Writes rows; one that is there already is refused, or left as it is.
    fn insert(&self, table: &str, rows: &Rows, or_leave: bool) -> Result<()> {
        let or = if or_leave { "OR IGNORE " } else { "" };
        let marks = vec!["?"; rows.columns.len()].join(", ");
        let columns = rows.columns.join(", ");
        let sql = format!("INSERT {or}INTO {table} ({columns}) VALUES ({marks})");
        let write = || -> rusqlite::Result<()> {
            let mut statement = self.to.prepare_cached(&sql)?;
            rows.rows.iter().try_for_each(|row| statement.execute(params_from_iter(row)).map(drop))
        };
        write().map_err(|cause| unfit(cause, |cause| unwritten(self.path, cause)))
    }
}

impl Part<'_> {
    fn copy(&self, into: &Output<'_>) -> Result<()> {
        self.copy_trials(into)?;
        let mut canaries = Rows::read(self.folder, "canary")?;
        canaries.rows =
            canaries.rows.into_iter().take(self.canaries.end).skip(self.canaries.start).collect();
        canaries.set("id", &Value::Null);
        into.insert("canary", &canaries, false)?;
        let mut disturbed = Rows::read(self.folder, "disturbed")?;
        disturbed.keep("block", &self.blocks);
        into.insert("disturbed", &disturbed, false)?;
        self.copy_cuts(into)?;
        // Where two machines calibrated the same, the first's is what a run that goes on begins with.
        into.insert("calibration", &Rows::read(self.folder, "calibration")?, true)
    }

    fn copy_trials(&self, into: &Output<'_>) -> Result<()> {
        for own in self.trials()? {
            let mut trial = Rows::of(self.folder, "trial", "id", own)?;
            trial.set("id", &Value::Null);
            into.insert("trial", &trial, false)?;
            let new = Value::Integer(into.to.last_insert_rowid());
            for table in OF_TRIALS {
                let mut rows = Rows::of(self.folder, table, "trial", own)?;
                rows.set("trial", &new);
                into.insert(table, &rows, false)?;
            }
        }
        Ok(())
    }

    /// The identifiers of its trials, in the order in which they ran. Of one folder there may be many parts, so
    /// that no more is read of the trials of the others.
    fn trials(&self) -> Result<Vec<i64>> {
        let trials = self.folder.rows("SELECT id, block FROM trial ORDER BY id", |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, u32>(1)?))
        })?;
        let own = trials.into_iter().filter(|(_, block)| self.blocks.contains(block));
        Ok(own.map(|(id, _)| id).collect())
    }

    fn copy_cuts(&self, into: &Output<'_>) -> Result<()> {
        let mut cuts = Rows::read(self.folder, "cut")?;
        let (engine, durability) = (cuts.column("engine"), cuts.column("durability"));
        cuts.rows.retain(|row| match (&row[engine], &row[durability]) {
            (Value::Text(engine), Value::Text(durability)) => {
                self.cuts.contains(&(engine.clone(), durability.clone()))
            }
            _ => false,
        });
        cuts.set("id", &Value::Null);
        into.insert("cut", &cuts, false)
    }
}
