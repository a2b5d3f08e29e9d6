//! The run folder as files: its lock, and the checks of its form.

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bakeoff_folders::trust::TrustedFolder;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};

use crate::files::{DATABASE, EXPERIMENT};
use crate::run::Run;
use crate::table_shapes::{TABLES, Unlike};
use crate::{Error, Result, experiment_change, plain_database, table_shapes};

/// "bake" in ASCII.
const APPLICATION: i64 = 0x6261_6b65;

/// The only one that is written and read.
const FORM: i64 = 3;

/// SQLite's smallest page.
const SMALLEST: u64 = 512;

/// Suffixes of SQLite's files.
pub(crate) const SQLITES: [&str; 4] = ["", "-journal", "-wal", "-shm"];

const UNFINISHED: &str = "run.sqlite.new";

/// One process at a time writes; others may read.
#[derive(Debug)]
pub struct RunFolder {
    dir: PathBuf,
    pub(crate) connection: Connection,
    /// Locked by the writer; the kernel unlocks when the process ends.
    held: Option<TrustedFolder>,
}

impl RunFolder {
    /// Makes the folder of a new run, with the experiment as the user wrote it.
    pub fn create(dir: &Path, run: &Run, experiment: &str) -> Result<Self> {
        Self::create_with(dir, run, experiment, &|_| Ok(()))
    }

    /// Also runs `more` on the database before it gets its name.
    pub(crate) fn create_with(
        dir: &Path,
        run: &Run,
        experiment: &str,
        more: &dyn Fn(&Transaction<'_>) -> Result<()>,
    ) -> Result<Self> {
        let made = bakeoff_folders::trust::make(dir);
        let held = made.map_err(|error| Error::from(error).before_any_trial())?;
        let ours = held.was_made();
        lock_for_writing(&held, dir)?;
        if !take_over(held.path()).map_err(|error| Error::from_write_failure(dir, error))? {
            return Err(Error::Exists(dir.to_owned()));
        }
        Self::fill_folder(dir, run, experiment, held, more).map_err(|error| {
            // It was empty; if this fails, nothing better can be done.
            for (name, end) in
                [DATABASE, UNFINISHED].iter().flat_map(|name| SQLITES.map(|end| (name, end)))
            {
                let _ = fs::remove_file(dir.join(format!("{name}{end}")));
            }
            let _ = fs::remove_file(dir.join(EXPERIMENT));
            if ours {
                let _ = fs::remove_dir(dir);
            }
            error.before_any_trial()
        })
    }

    /// Fails if [`RunFolder::create`] would fail; changes nothing.
    pub fn check_free(dir: &Path) -> Result<()> {
        match find_leftovers(dir) {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(Error::Exists(dir.to_owned())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(Error::CannotRead { path: dir.to_owned(), cause: error.to_string() }),
        }
    }

    fn fill_folder(
        dir: &Path,
        run: &Run,
        experiment: &str,
        held: TrustedFolder,
        more: &dyn Fn(&Transaction<'_>) -> Result<()>,
    ) -> Result<Self> {
        let path = dir.join(DATABASE);
        build_database(&held, &path, run, experiment, more)?;
        let file = dir.join(EXPERIMENT);
        write_new(&held, EXPERIMENT, experiment)
            .map_err(|error| Error::from_write_failure(&file, error))?;
        name_database(&held, &path)?;
        let open = || -> rusqlite::Result<Connection> {
            let connection =
                open_database(&held.path().join(DATABASE), OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            set_up(&connection)?;
            Ok(connection)
        };
        let connection = open().map_err(|cause| unwritten_error(&path, cause))?;
        Ok(Self { dir: dir.to_owned(), connection, held: Some(held) })
    }

    pub fn resume(dir: &Path) -> Result<Self> {
        let files = plain_database::PlainDatabase::from_folder(dir)?;
        let path = dir.join(DATABASE);
        let held = bakeoff_folders::trust::folder(dir)?;
        lock_for_writing(&held, dir)?;
        for end in SQLITES {
            held.open_file(format!("{DATABASE}{end}"))?;
        }
        let experiment = held.open_file(EXPERIMENT)?;
        let connection = files.open_for_writing()?;
        // Until it is known to be ours it is not touched, not even closed.
        let mut folder = Self { dir: dir.to_owned(), connection, held: None };
        folder.check_form()?;
        folder.held = Some(held);
        // SQLite also opens what it may not write.
        if folder.connection.is_readonly("main").map_err(folder.map_error())? {
            let cause = "it may only be read".to_owned();
            return Err(Error::CannotWrite { path, cause });
        }
        folder.check_pages()?;
        plain_database::lift_limits(&mut folder.connection).map_err(folder.map_error())?;
        set_up(&folder.connection).map_err(folder.map_error())?;
        let began_with: Vec<u8> = folder
            .connection
            .query_row("SELECT CAST(experiment AS BLOB) FROM run", [], |row| row.get(0))
            .map_err(folder.map_error())?;
        let now = experiment.and_then(|file| plain_database::read_experiment(file.into()));
        if now.as_ref() != Some(&began_with) {
            let what = experiment_change::describe_difference(&began_with, now.as_deref());
            return Err(Error::ExperimentChanged { dir: dir.to_owned(), what });
        }
        Ok(folder)
    }

    /// Opens a run for reading, perhaps while it goes on.
    pub fn open(dir: &Path) -> Result<Self> {
        let files = plain_database::PlainDatabase::from_folder(dir)?;
        let connection = files.open_for_reading(plain_database::is_written(dir))?;
        let folder = Self { dir: dir.to_owned(), connection, held: None };
        folder.check_form()?;
        Ok(folder)
    }

    pub fn remove(self) -> Result<()> {
        let dir = self.dir.clone();
        drop(self);
        let removed =
            [DATABASE, EXPERIMENT].iter().try_for_each(|file| fs::remove_file(dir.join(file)));
        removed
            .and_then(|()| fs::remove_dir(&dir))
            .map_err(|cause| Error::from_write_failure(&dir, cause))
    }

    /// By a bakeoff on this machine.
    pub fn is_written(&self) -> bool {
        plain_database::is_written(&self.dir)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub fn held(&self) -> Option<&TrustedFolder> {
        self.held.as_ref()
    }

    pub(crate) fn database_path(&self) -> PathBuf {
        self.dir.join(DATABASE)
    }

    pub(crate) fn map_error(&self) -> impl Fn(rusqlite::Error) -> Error + use<> {
        let path = self.database_path();
        move |cause| Error::from_sqlite(&path, cause)
    }

    /// In the form of today.
    fn check_form(&self) -> Result<()> {
        let path = self.database_path();
        // SQLite takes a shorter file for a new database.
        if fs::metadata(&path).is_ok_and(|file| file.len() < SMALLEST) {
            return Err(Error::damaged(&path, "it is cut short"));
        }
        let number = |pragma| self.connection.pragma_query_value(None, pragma, |row| row.get(0));
        let application: i64 = number("application_id").map_err(self.map_error())?;
        if application != APPLICATION {
            let why = "run.sqlite was not written by bakeoff".to_owned();
            return Err(Error::NotARun { path, why });
        }
        let found: i64 = number("user_version").map_err(self.map_error())?;
        let other = |found: String| Error::OtherForm { path: path.clone(), found, known: FORM };
        if found != FORM {
            return Err(other(found.to_string()));
        }
        match table_shapes::find_unlike(&self.connection).map_err(self.map_error())? {
            Some(Unlike::Lacks(what)) => return Err(other(format!("{found} without {what}"))),
            Some(Unlike::Has(what)) => return Err(Error::refused(&path, what)),
            None => {}
        }
        let runs: Option<i64> = self
            .connection
            .query_row("SELECT id FROM run", [], |row| row.get(0))
            .optional()
            .map_err(|cause| Error::damaged(&path, cause))?;
        runs.map(drop).ok_or_else(|| Error::damaged(&path, "it does not say what was run"))
    }

    fn check_pages(&self) -> Result<()> {
        let verdict: String = self
            .connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(self.map_error())?;
        if verdict == "ok" { Ok(()) } else { Err(Error::damaged(&self.database_path(), verdict)) }
    }
}

impl Drop for RunFolder {
    /// Leaves one plain file, readable from a read-only medium, unless a reader is at work.
    fn drop(&mut self) {
        if self.held.is_some() {
            let _ = self.connection.busy_timeout(Duration::ZERO);
            let _ = self.connection.pragma_update(None, "journal_mode", "DELETE");
        }
    }
}

/// Builds the database for `path` whole before it gets its name: a killed process leaves no run.
pub(crate) fn build_database(
    held: &TrustedFolder,
    path: &Path,
    run: &Run,
    experiment: &str,
    more: &dyn Fn(&Transaction<'_>) -> Result<()>,
) -> Result<()> {
    let failed = |cause| unwritten_error(path, cause);
    let access = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut connection = open_database(&held.path().join(UNFINISHED), access).map_err(failed)?;
    connection.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
    connection.pragma_update(None, "user_version", FORM).map_err(failed)?;
    // Rows come with those that they refer to: no check for each.
    connection.pragma_update(None, "foreign_keys", false).map_err(failed)?;
    let transaction = connection.transaction().map_err(failed)?;
    transaction.execute_batch(TABLES).map_err(failed)?;
    let description = serde_json::to_string(run).expect("a run is plain data");
    transaction
        .execute(
            "INSERT INTO run (id, description, experiment, status)
             VALUES (1, ?1, ?2, 'unfinished')",
            (description, experiment),
        )
        .map_err(failed)?;
    more(&transaction)?;
    transaction.commit().map_err(failed)?;
    connection.close().map_err(|(_, error)| failed(error))
}

/// Replaces what has the name.
pub(crate) fn name_database(held: &TrustedFolder, path: &Path) -> Result<()> {
    rustix::fs::renameat(held, UNFINISHED, held, DATABASE)
        .map_err(|error| Error::from_write_failure(path, error.into()))
}

pub(crate) fn discard_unfinished(held: &TrustedFolder) {
    for end in SQLITES {
        let _ = fs::remove_file(held.path().join(format!("{UNFINISHED}{end}")));
    }
}

pub(crate) fn unwritten_error(path: &Path, cause: rusqlite::Error) -> Error {
    match Error::from_sqlite(path, cause) {
        Error::CannotRead { path, cause } => Error::CannotWrite { path, cause },
        error => error,
    }
}

/// Locks the folder itself: SQLite's locks on its file go when any handle of it is closed, and a
/// lock file would have to be removed.
pub(crate) fn lock_for_writing(held: &TrustedFolder, dir: &Path) -> Result<()> {
    // A reader that checks for a writer holds the lock for a moment.
    for _ in 0..10 {
        match flock(held.as_fd(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(5)),
            Err(error) => return Err(Error::from_write_failure(dir, error.into())),
        }
    }
    Err(Error::Busy(dir.to_owned()))
}

/// Durable: after a power cut the run goes on.
fn write_new(folder: &TrustedFolder, name: &str, text: &str) -> std::io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(0o644))?;
    let mut file = File::from(file);
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// SQLite follows no links, either.
fn open_database(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    Connection::open_with_flags(path, access | flags)
}

/// Files that a killed process had begun to make, in the order of removal; `None` if anything else
/// is there.
fn find_leftovers(dir: &Path) -> std::io::Result<Option<Vec<String>>> {
    let entries = fs::read_dir(dir)?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<std::io::Result<Vec<String>>>()?;
    let begun = SQLITES.map(|end| format!("{UNFINISHED}{end}"));
    let all_begun = names.iter().all(|name| name == EXPERIMENT || begun.contains(name));
    let goes_on = all_begun && names.contains(&begun[0]);
    if !names.is_empty() && !goes_on {
        return Ok(None);
    }
    // The database last: without it, the rest would look like foreign files.
    let rank = |name: &String| usize::from(*name == begun[0]);
    names.sort_by_key(rank);
    Ok(Some(names))
}

fn take_over(dir: &Path) -> std::io::Result<bool> {
    let Some(names) = find_leftovers(dir)? else { return Ok(false) };
    names.iter().try_for_each(|name| fs::remove_file(dir.join(name)))?;
    Ok(true)
}

/// Allows readers beside it, and makes commits survive a power cut.
fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // Where there is no room for the log's files, only the first statement says so.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)
}
