use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use bakeoff_folders::trust::TrustedFolder;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Params, Row, Statement, Transaction};

use crate::column::ReadBudget;
use crate::files::DATABASE;
use crate::record::Canary;
use crate::run::{Run, Status};
use crate::shard::Merged;
use crate::store::{
    RunFolder, SQLITES, build_database, discard_unfinished, lock_for_writing, name_database,
    unwritten_error,
};
use crate::write::unfit_error;
use crate::{Error, Result, experiment_change, plain_database};

/// The part of a folder that a merged run takes.
pub struct MergePart<'a> {
    pub folder: &'a RunFolder,
    pub blocks: BTreeSet<u32>,
    /// By engine and durability.
    pub cuts: BTreeSet<(String, String)>,
    /// Positions of readings of the machine alone.
    pub canaries: Range<usize>,
}

/// The locked folder of a run that is about to be written anew.
pub struct HeldRunFolder {
    dir: PathBuf,
    folder: TrustedFolder,
}

struct WantedRows {
    table: &'static str,
    which: &'static str,
    /// The column of identifiers, which are given anew.
    anew: Option<&'static str>,
    /// Whether an existing row is kept; else it is an error.
    or_leave: bool,
}

impl WantedRows {
    const fn new(table: &'static str, which: &'static str, anew: Option<&'static str>) -> Self {
        Self { table, which, anew, or_leave: false }
    }

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
/// A resumed run starts with the first machine's calibration.
const CALIBRATIONS: WantedRows =
    WantedRows { or_leave: true, ..WantedRows::new("calibration", "ORDER BY rowid", None) };

impl RunFolder {
    pub fn merge_parts(
        dir: &Path,
        run: &Run,
        experiment: &str,
        ended: (Status, Option<f64>),
        parts: &[MergePart<'_>],
    ) -> Result<Self> {
        let path = dir.join(DATABASE);
        Self::create_with(dir, run, experiment, &|to| write_parts(to, &path, ended, parts))
    }

    pub fn lock_folder(dir: &Path) -> Result<HeldRunFolder> {
        let folder = bakeoff_folders::trust::folder(dir)?;
        lock_for_writing(&folder, dir)?;
        for end in SQLITES {
            let there = folder.open_file(format!("{DATABASE}{end}"))?.is_some();
            if there && !end.is_empty() {
                let cause = format!("{DATABASE}{end} is beside it, which a killed run has left");
                return Err(Error::CannotRead { path: dir.join(DATABASE), cause });
            }
        }
        Ok(HeldRunFolder { dir: dir.to_owned(), folder })
    }

    /// Notes the machines of a merged run and its planned power cuts. The neighbours' rate is then
    /// that of the machine that goes on.
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
        self.write_run(&run)
    }

    /// Canaries of the machine that runs it: for a merged run the one that went on last.
    pub fn own_canaries(&self) -> Result<Vec<Canary>> {
        let mut canaries = self.read_canaries()?;
        Ok(match self.run()?.merged {
            Some(merged) => canaries.drain(merged.looks_of_last(canaries.len())).collect(),
            None => canaries,
        })
    }

    pub fn read_experiment(&self) -> Result<String> {
        let read = self.connection.query_row("SELECT experiment FROM run", [], |row| row.get(0));
        read.map_err(self.map_error())
    }

    /// Compares the experiment's file with the run's record, as [`RunFolder::resume`] does. A
    /// missing file is no contradiction.
    pub fn check_experiment(&self) -> Result<()> {
        let Some(now) = plain_database::experiment_in(self.dir())? else { return Ok(()) };
        let began = self.read_experiment()?;
        if now == began.as_bytes() {
            return Ok(());
        }
        let what = experiment_change::describe_difference(began.as_bytes(), Some(&now));
        Err(Error::ExperimentChanged { dir: self.dir().to_owned(), what })
    }
}

impl HeldRunFolder {
    /// Writes the database anew from parts, even of itself; the experiment stays. After a failure
    /// the folder is as before.
    pub fn rewrite_database(
        self,
        run: &Run,
        experiment: &str,
        ended: (Status, Option<f64>),
        parts: &[MergePart<'_>],
    ) -> Result<()> {
        let path = self.dir.join(DATABASE);
        discard_unfinished(&self.folder);
        build_database(&self.folder, &path, run, experiment, &|to| {
            write_parts(to, &path, ended, parts)
        })
        .and_then(|()| name_database(&self.folder, &path))
        .map_err(|error| {
            discard_unfinished(&self.folder);
            error.before_any_trial()
        })
    }
}

fn write_parts(
    to: &Transaction<'_>,
    path: &Path,
    (status, ended_s): (Status, Option<f64>),
    parts: &[MergePart<'_>],
) -> Result<()> {
    let into = OutputDatabase { to, path };
    to.execute("UPDATE run SET status = ?1, ended_s = ?2", (status.name(), ended_s))
        .map_err(|cause| unwritten_error(path, cause))?;
    parts.iter().try_for_each(|part| part.copy_part(&into))
}

struct OutputDatabase<'a> {
    to: &'a Transaction<'a>,
    path: &'a Path,
}

/// Copies rows one at a time, to save memory.
struct RowCopier<'a> {
    from: &'a RunFolder,
    path: &'a Path,
    found: CachedStatement<'a>,
    insert: CachedStatement<'a>,
    anew: Option<usize>,
}

impl<'a> RowCopier<'a> {
    fn new(from: &'a RunFolder, into: &'a OutputDatabase<'a>, wanted: &WantedRows) -> Result<Self> {
        let WantedRows { table, which, anew, or_leave } = wanted;
        let found = from.connection.prepare_cached(&format!("SELECT * FROM {table} {which}"));
        let found = found.map_err(from.map_error())?;
        let columns: Vec<&str> = found.column_names().collect();
        // The folder was checked to have these columns.
        let anew = anew.and_then(|anew| columns.iter().position(|column| *column == anew));
        let or = if *or_leave { "OR IGNORE " } else { "" };
        let marks = vec!["?"; columns.len()].join(", ");
        let columns = columns.join(", ");
        let sql = format!("INSERT {or}INTO {table} ({columns}) VALUES ({marks})");
        let insert = into.to.prepare_cached(&sql);
        let insert = insert.map_err(|cause| unwritten_error(into.path, cause))?;
        Ok(Self { from, path: into.path, found, insert, anew })
    }

    /// Copies the rows found by `by`; `value` is the new identifier.
    fn copy_rows(&mut self, by: impl Params, value: ValueRef<'_>) -> Result<()> {
        let failed = self.from.map_error();
        let mut left = ReadBudget::of_a_table();
        let mut found = self.found.query(by).map_err(&failed)?;
        while let Some(row) = found.next().map_err(&failed)? {
            left.take_row(row).map_err(&failed)?;
            bind_row(&mut self.insert, row, self.anew, value).map_err(&failed)?;
            let written = self.insert.raw_execute();
            written
                .map_err(|cause| unfit_error(cause, |cause| unwritten_error(self.path, cause)))?;
        }
        Ok(())
    }
}

/// Allocates nothing: there are very many rows.
fn bind_row(
    insert: &mut Statement<'_>,
    row: &Row<'_>,
    anew: Option<usize>,
    value: ValueRef<'_>,
) -> rusqlite::Result<()> {
    for column in 0..row.as_ref().column_count() {
        let value = match row.get_ref(column)? {
            _ if anew == Some(column) => value,
            // Invalid text would otherwise surface only for readers of the merged run.
            own @ ValueRef::Text(_) => own.as_str().map(|_| own)?,
            own => own,
        };
        insert.raw_bind_parameter(column + 1, ToSqlOutput::Borrowed(value))?;
    }
    Ok(())
}

/// A folder may have a part for each machine, so each part reads only its own rows.
impl MergePart<'_> {
    fn copy_part(&self, into: &OutputDatabase<'_>) -> Result<()> {
        self.copy_trials(into)?;
        let looks = (self.canaries.len(), self.canaries.start);
        RowCopier::new(self.folder, into, &CANARIES)?.copy_rows(looks, ValueRef::Null)?;
        let mut disturbed = RowCopier::new(self.folder, into, &DISTURBED)?;
        for block in &self.blocks {
            disturbed.copy_rows([*block], ValueRef::Null)?;
        }
        self.copy_cuts(into)?;
        RowCopier::new(self.folder, into, &CALIBRATIONS)?.copy_rows([], ValueRef::Null)
    }

    fn copy_trials(&self, into: &OutputDatabase<'_>) -> Result<()> {
        let of_block = "SELECT id FROM trial WHERE block = ?1";
        let own = self.find_ids(of_block, self.blocks.iter().map(|block| [*block]))?;
        let mut trials = RowCopier::new(self.folder, into, &TRIAL)?;
        let mut of_trials = OF_TRIALS
            .iter()
            .map(|wanted| RowCopier::new(self.folder, into, wanted))
            .collect::<Result<Vec<RowCopier<'_>>>>()?;
        for own in own {
            trials.copy_rows([own], ValueRef::Null)?;
            let new = ValueRef::Integer(into.to.last_insert_rowid());
            of_trials.iter_mut().try_for_each(|rows| rows.copy_rows([own], new))?;
        }
        Ok(())
    }

    fn copy_cuts(&self, into: &OutputDatabase<'_>) -> Result<()> {
        let of_level = "SELECT id FROM cut WHERE engine = ?1 AND durability = ?2";
        let levels = self.cuts.iter().map(|level| (level.0.as_str(), level.1.as_str()));
        let own = self.find_ids(of_level, levels)?;
        let mut cuts = RowCopier::new(self.folder, into, &CUT)?;
        own.into_iter().try_for_each(|own| cuts.copy_rows([own], ValueRef::Null))
    }

    fn find_ids<P: Params>(&self, sql: &str, by: impl Iterator<Item = P>) -> Result<Vec<i64>> {
        let read = || -> rusqlite::Result<Vec<i64>> {
            let mut statement = self.folder.connection.prepare_cached(sql)?;
            let (mut left, mut own) = (ReadBudget::of_a_table(), Vec::<i64>::new());
            for by in by {
                let mut found = statement.query(by)?;
                while let Some(row) = found.next()? {
                    left.take_row(row)?;
                    own.push(row.get(0)?);
                }
            }
            own.sort_unstable();
            Ok(own)
        };
        read().map_err(self.folder.map_error())
    }
}
