//! One run folder of the records of several. The others are only read.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use bakeoff_trust::TrustedFolder;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Params, Row, Statement, Transaction};

use crate::column::ReadBudget;
use crate::files::DATABASE;
use crate::record::Canary;
use crate::run::{Run, Status};
use crate::shard::Merged;
use crate::store::{RunFolder, SQLITES, build, discard, lock, name, no_room, unwritten};
use crate::write::unfit;
use crate::{Error, Result, edited, foreign};

/// What a merged run takes of a folder.
pub struct MergePart<'a> {
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
pub struct HeldRunFolder {
    dir: PathBuf,
    folder: TrustedFolder,
}

/// Rows of a table that a part has, and how they are written.
struct WantedRows {
    table: &'static str,
    /// Which of the table's rows, in SQL; what is not known before stands there as a parameter.
    which: &'static str,
    /// The column that has another value in the merged run: identifiers are given anew.
    anew: Option<&'static str>,
    /// Whether a row that is there already is left as it is; else it is refused.
    or_leave: bool,
}

impl WantedRows {
    const fn new(table: &'static str, which: &'static str, anew: Option<&'static str>) -> Self {
        Self { table, which, anew, or_leave: false }
    }

    /// Those of a trial, by its identifier.
    const fn of_trial(table: &'static str) -> Self {
        Self::new(table, "WHERE trial = ?1", Some("trial"))
    }
}

const TRIAL: WantedRows = WantedRows::new("trial", "WHERE id = ?1", Some("id"));
const OF_TRIALS: [WantedRows; 4] = [
    WantedRows::of_trial("operation"),
    WantedRows::of_trial("slot"),
    WantedRows::of_trial("owed"),
    WantedRows::of_trial("payment"),
];
const CANARIES: WantedRows =
    WantedRows::new("canary", "ORDER BY id LIMIT ?1 OFFSET ?2", Some("id"));
const DISTURBED: WantedRows =
    WantedRows::new("disturbed", "WHERE block = ?1 ORDER BY attempt", None);
const CUT: WantedRows = WantedRows::new("cut", "WHERE id = ?1", Some("id"));
/// Where two machines calibrated the same, the first's is what a run that goes on begins with.
const CALIBRATIONS: WantedRows =
    WantedRows { or_leave: true, ..WantedRows::new("calibration", "ORDER BY rowid", None) };

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
        parts: &[MergePart<'_>],
    ) -> Result<Self> {
        let path = dir.join(DATABASE);
        Self::create_with(dir, run, experiment, &|to| write(to, &path, ended, parts))
    }

    /// Takes the folder of a run, so that it can be written anew.
    ///
    /// # Errors
    /// [`Error::Untrusted`], [`Error::Busy`], and [`Error::CannotRead`] where a writer was killed: what it
    /// had begun is not in the database yet.
    pub fn hold(dir: &Path) -> Result<HeldRunFolder> {
        let folder = bakeoff_trust::folder(dir)?;
        lock(&folder, dir)?;
        for end in SQLITES {
            let there = folder.file(&format!("{DATABASE}{end}"))?.is_some();
            if there && !end.is_empty() {
                let cause = format!("{DATABASE}{end} is beside it, which a killed run has left");
                return Err(Error::CannotRead { path: dir.join(DATABASE), cause });
            }
        }
        Ok(HeldRunFolder { dir: dir.to_owned(), folder })
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

    /// Holds the folder's file of the experiment against what the run began with, as [`RunFolder::resume`]
    /// does, for a folder that is only read. Where the file is not there nothing contradicts the record.
    ///
    /// # Errors
    /// [`Error::ExperimentChanged`], [`Error::CannotRead`], and [`Error::Refused`] where the file is a link, no
    /// plain file, or too long.
    pub fn check_experiment(&self) -> Result<()> {
        let Some(now) = foreign::experiment_in(self.dir())? else { return Ok(()) };
        let began = self.experiment()?;
        if now == began.as_bytes() {
            return Ok(());
        }
        let what = edited::difference(began.as_bytes(), Some(&now));
        Err(Error::ExperimentChanged { dir: self.dir().to_owned(), what })
    }
}

impl HeldRunFolder {
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
        parts: &[MergePart<'_>],
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
    parts: &[MergePart<'_>],
) -> Result<()> {
    let into = OutputDatabase { to, path };
    to.execute("UPDATE run SET status = ?1, ended_s = ?2", (status.name(), ended_s))
        .map_err(|cause| unwritten(path, cause))?;
    parts.iter().try_for_each(|part| part.copy(&into))
}

/// A database that is being written.
struct OutputDatabase<'a> {
    to: &'a Transaction<'a>,
    path: &'a Path,
}

/// Copies rows of one table from a folder, one at a time: no more than a row of them is in memory.
struct RowCopier<'a> {
    from: &'a RunFolder,
    path: &'a Path,
    found: CachedStatement<'a>,
    insert: CachedStatement<'a>,
    /// The place of the column that has another value.
    anew: Option<usize>,
}

impl<'a> RowCopier<'a> {
    fn new(from: &'a RunFolder, into: &'a OutputDatabase<'a>, wanted: &WantedRows) -> Result<Self> {
        let WantedRows { table, which, anew, or_leave } = wanted;
        let found = from.connection.prepare_cached(&format!("SELECT * FROM {table} {which}"));
        let found = found.map_err(from.failed())?;
        let columns: Vec<&str> = found.column_names().collect();
        // The folder was seen to have the columns of its form.
        let anew = anew.and_then(|anew| columns.iter().position(|column| *column == anew));
        let or = if *or_leave { "OR IGNORE " } else { "" };
        let marks = vec!["?"; columns.len()].join(", ");
        let columns = columns.join(", ");
        let sql = format!("INSERT {or}INTO {table} ({columns}) VALUES ({marks})");
        let insert = into.to.prepare_cached(&sql);
        let insert = insert.map_err(|cause| unwritten(into.path, cause))?;
        Ok(Self { from, path: into.path, found, insert, anew })
    }

    /// Copies the rows that are found by these parameters; `value` is what they have anew.
    fn copy(&mut self, by: impl Params, value: ValueRef<'_>) -> Result<()> {
        let failed = self.from.failed();
        let mut left = ReadBudget::of_a_table();
        let mut found = self.found.query(by).map_err(&failed)?;
        while let Some(row) = found.next().map_err(&failed)? {
            left.take(row).map_err(&failed)?;
            bind(&mut self.insert, row, self.anew, value).map_err(&failed)?;
            let written = self.insert.raw_execute();
            written.map_err(|cause| unfit(cause, |cause| unwritten(self.path, cause)))?;
        }
        Ok(())
    }
}

/// Gives a statement the values of a row, one of which is another. There are very many rows: nothing is made
/// for each.
fn bind(
    insert: &mut Statement<'_>,
    row: &Row<'_>,
    anew: Option<usize>,
    value: ValueRef<'_>,
) -> rusqlite::Result<()> {
    for column in 0..row.as_ref().column_count() {
        let value = match row.get_ref(column)? {
            _ if anew == Some(column) => value,
            // What is no text at all would be found only by who reads the merged run.
            own @ ValueRef::Text(_) => own.as_str().map(|_| own)?,
            own => own,
        };
        insert.raw_bind_parameter(column + 1, ToSqlOutput::Borrowed(value))?;
    }
    Ok(())
}

/// Of one folder there may be as many parts as there were machines. So each part looks up what is its own, and
/// reads nothing of the others.
impl MergePart<'_> {
    fn copy(&self, into: &OutputDatabase<'_>) -> Result<()> {
        self.copy_trials(into)?;
        let looks = (self.canaries.len(), self.canaries.start);
        RowCopier::new(self.folder, into, &CANARIES)?.copy(looks, ValueRef::Null)?;
        let mut disturbed = RowCopier::new(self.folder, into, &DISTURBED)?;
        for block in &self.blocks {
            disturbed.copy([*block], ValueRef::Null)?;
        }
        self.copy_cuts(into)?;
        RowCopier::new(self.folder, into, &CALIBRATIONS)?.copy([], ValueRef::Null)
    }

    fn copy_trials(&self, into: &OutputDatabase<'_>) -> Result<()> {
        let of_block = "SELECT id FROM trial WHERE block = ?1";
        let own = self.found(of_block, self.blocks.iter().map(|block| [*block]))?;
        let mut trials = RowCopier::new(self.folder, into, &TRIAL)?;
        let mut of_trials = OF_TRIALS
            .iter()
            .map(|wanted| RowCopier::new(self.folder, into, wanted))
            .collect::<Result<Vec<RowCopier<'_>>>>()?;
        for own in own {
            trials.copy([own], ValueRef::Null)?;
            let new = ValueRef::Integer(into.to.last_insert_rowid());
            of_trials.iter_mut().try_for_each(|rows| rows.copy([own], new))?;
        }
        Ok(())
    }

    fn copy_cuts(&self, into: &OutputDatabase<'_>) -> Result<()> {
        let of_level = "SELECT id FROM cut WHERE engine = ?1 AND durability = ?2";
        let levels = self.cuts.iter().map(|level| (level.0.as_str(), level.1.as_str()));
        let own = self.found(of_level, levels)?;
        let mut cuts = RowCopier::new(self.folder, into, &CUT)?;
        own.into_iter().try_for_each(|own| cuts.copy([own], ValueRef::Null))
    }

    /// The identifiers that are found by each of these parameters, in the order in which their rows were
    /// written.
    fn found<P: Params>(&self, sql: &str, by: impl Iterator<Item = P>) -> Result<Vec<i64>> {
        let read = || -> rusqlite::Result<Vec<i64>> {
            let mut statement = self.folder.connection.prepare_cached(sql)?;
            let (mut left, mut own) = (ReadBudget::of_a_table(), Vec::<i64>::new());
            for by in by {
                let mut found = statement.query(by)?;
                while let Some(row) = found.next()? {
                    left.take(row)?;
                    own.push(row.get(0)?);
                }
            }
            own.sort_unstable();
            Ok(own)
        };
        read().map_err(self.folder.failed())
    }
}
