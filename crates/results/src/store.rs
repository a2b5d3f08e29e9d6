//! The run folder as files: who may write it, and whether it is what it seems.

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bakeoff_trust::TrustedFolder;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};

use crate::files::{DATABASE, EXPERIMENT};
use crate::run::Run;
use crate::shape::{TABLES, Unlike};
use crate::{Error, Result, edited, foreign, shape};

/// Marks a database as ours: "bake" in ASCII.
const APPLICATION: i64 = 0x6261_6b65;

/// The form of the tables that are written, and the only one that is read.
const FORM: i64 = 3;

/// The length of SQLite's smallest page: no database is shorter.
const SMALLEST: u64 = 512;

/// What SQLite adds to its file's name: nothing, and where it keeps what is not in it yet.
pub(crate) const SQLITES: [&str; 4] = ["", "-journal", "-wal", "-shm"];

/// The name of a database that is not whole yet.
const UNFINISHED: &str = "run.sqlite.new";

/// A run folder. One process at a time writes to it; others may read it meanwhile.
#[derive(Debug)]
pub struct RunFolder {
    dir: PathBuf,
    pub(crate) connection: Connection,
    /// Held open and locked by the one that writes; the kernel lets go of it when the process ends,
    /// however.
    held: Option<TrustedFolder>,
}

impl RunFolder {
    /// Makes the folder of a new run, with the experiment as the user wrote it.
    ///
    /// # Errors
    /// [`Error::Untrusted`] where somebody else decides over `dir`, [`Error::Exists`] where it holds
    /// anything, [`Error::CannotWrite`], [`Error::Busy`]. A folder that could not be finished is taken
    /// away again.
    pub fn create(dir: &Path, run: &Run, experiment: &str) -> Result<Self> {
        Self::create_with(dir, run, experiment, &|_| Ok(()))
    }

    /// The same with what `more` writes into it before it gets its name.
    pub(crate) fn create_with(
        dir: &Path,
        run: &Run,
        experiment: &str,
        more: &dyn Fn(&Transaction<'_>) -> Result<()>,
    ) -> Result<Self> {
        let held = bakeoff_trust::make(dir)?;
        let ours = held.was_made();
        lock(&held, dir)?;
        if !take_over(held.path()).map_err(|error| Error::write(dir, error))? {
            return Err(Error::Exists(dir.to_owned()));
        }
        Self::fill(dir, run, experiment, held, more).map_err(|error| {
            // It was empty. Nothing better can be done where even this fails.
            for (name, end) in
                [DATABASE, UNFINISHED].iter().flat_map(|name| SQLITES.map(|end| (name, end)))
            {
                let _ = fs::remove_file(dir.join(format!("{name}{end}")));
            }
            let _ = fs::remove_file(dir.join(EXPERIMENT));
            if ours {
                let _ = fs::remove_dir(dir);
            }
            // There is no trial yet to go on from.
            no_room(error)
        })
    }

    /// Whether [`RunFolder::create`] would find room in a folder, that is not there yet or holds nothing of
    /// anybody's; nothing is changed.
    ///
    /// # Errors
    /// [`Error::Exists`], or that the folder can't be read.
    pub fn check_free(dir: &Path) -> Result<()> {
        match leftovers(dir) {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(Error::Exists(dir.to_owned())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(Error::CannotRead { path: dir.to_owned(), cause: error.to_string() }),
        }
    }

    fn fill(
        dir: &Path,
        run: &Run,
        experiment: &str,
        held: TrustedFolder,
        more: &dyn Fn(&Transaction<'_>) -> Result<()>,
    ) -> Result<Self> {
        let path = dir.join(DATABASE);
        build(&held, &path, run, experiment, more)?;
        let file = dir.join(EXPERIMENT);
        write_new(&held, EXPERIMENT, experiment).map_err(|error| Error::write(&file, error))?;
        name(&held, &path)?;
        let open = || -> rusqlite::Result<Connection> {
            let connection =
                connect(&held.path().join(DATABASE), OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            set_up(&connection)?;
            Ok(connection)
        };
        let connection = open().map_err(|cause| unwritten(&path, cause))?;
        Ok(Self { dir: dir.to_owned(), connection, held: Some(held) })
    }

    /// Opens the folder of a run that did not finish, to go on writing to it.
    ///
    /// # Errors
    /// [`Error::Untrusted`] where somebody else decides over it or has written in it,
    /// [`Error::NotARun`], [`Error::Damaged`] (every page is looked at), [`Error::Refused`],
    /// [`Error::OtherForm`], [`Error::ExperimentChanged`], [`Error::Busy`], [`Error::CannotWrite`].
    pub fn resume(dir: &Path) -> Result<Self> {
        let files = foreign::PlainDatabase::from_folder(dir)?;
        let path = dir.join(DATABASE);
        let held = bakeoff_trust::folder(dir)?;
        lock(&held, dir)?;
        for end in SQLITES {
            held.file(&format!("{DATABASE}{end}"))?;
        }
        let experiment = held.file(EXPERIMENT)?;
        let connection = files.write()?;
        // Until it is known to be ours nothing of it is touched, not even to close it.
        let mut folder = Self { dir: dir.to_owned(), connection, held: None };
        folder.check()?;
        folder.held = Some(held);
        // SQLite opens what it may not write all the same.
        if folder.connection.is_readonly("main").map_err(folder.failed())? {
            let cause = "it may only be read".to_owned();
            return Err(Error::CannotWrite { path, cause });
        }
        folder.check_pages()?;
        foreign::lift(&mut folder.connection).map_err(folder.failed())?;
        set_up(&folder.connection).map_err(folder.failed())?;
        let began_with: Vec<u8> = folder
            .connection
            .query_row("SELECT CAST(experiment AS BLOB) FROM run", [], |row| row.get(0))
            .map_err(folder.failed())?;
        let now = experiment.and_then(|file| foreign::experiment(file.into()));
        if now.as_ref() != Some(&began_with) {
            let what = edited::difference(&began_with, now.as_deref());
            return Err(Error::ExperimentChanged { dir: dir.to_owned(), what });
        }
        Ok(folder)
    }

    /// Opens the folder of a run to read it; the run may be going on. Nothing is written.
    ///
    /// # Errors
    /// [`Error::NotARun`], [`Error::Damaged`], [`Error::Refused`], [`Error::OtherForm`],
    /// [`Error::CannotRead`].
    pub fn open(dir: &Path) -> Result<Self> {
        let files = foreign::PlainDatabase::from_folder(dir)?;
        let connection = files.read(foreign::is_written(dir))?;
        let folder = Self { dir: dir.to_owned(), connection, held: None };
        folder.check()?;
        Ok(folder)
    }

    /// Removes what [`RunFolder::create`] made: for a run in which nothing was measured.
    ///
    /// # Errors
    /// [`Error::CannotWrite`].
    pub fn remove(self) -> Result<()> {
        let dir = self.dir.clone();
        drop(self);
        let removed =
            [DATABASE, EXPERIMENT].iter().try_for_each(|file| fs::remove_file(dir.join(file)));
        removed.and_then(|()| fs::remove_dir(&dir)).map_err(|cause| Error::write(&dir, cause))
    }

    /// Whether a bakeoff on this machine is writing to the folder.
    pub fn is_written(&self) -> bool {
        foreign::is_written(&self.dir)
    }

    /// Where the folder is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The folder as whoever writes to it holds it; `None` where it is only read.
    pub fn held(&self) -> Option<&TrustedFolder> {
        self.held.as_ref()
    }

    /// Where its database is.
    pub(crate) fn path(&self) -> PathBuf {
        self.dir.join(DATABASE)
    }

    /// Turns what SQLite says into what a user can act on.
    pub(crate) fn failed(&self) -> impl Fn(rusqlite::Error) -> Error + use<> {
        let path = self.path();
        move |cause| Error::sqlite(&path, cause)
    }

    /// Whether the database is one of ours, in the form that we write.
    fn check(&self) -> Result<()> {
        let path = self.path();
        // SQLite takes what is shorter than its header for a new database.
        if fs::metadata(&path).is_ok_and(|file| file.len() < SMALLEST) {
            return Err(Error::damaged(&path, "it is cut short"));
        }
        let number = |pragma| self.connection.pragma_query_value(None, pragma, |row| row.get(0));
        let application: i64 = number("application_id").map_err(self.failed())?;
        if application != APPLICATION {
            let why = "run.sqlite was not written by bakeoff".to_owned();
            return Err(Error::NotARun { path, why });
        }
        let found: i64 = number("user_version").map_err(self.failed())?;
        let other = |found: String| Error::OtherForm { path: path.clone(), found, known: FORM };
        if found != FORM {
            return Err(other(found.to_string()));
        }
        match shape::unlike(&self.connection).map_err(self.failed())? {
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

    /// Whether every page is as SQLite left it.
    fn check_pages(&self) -> Result<()> {
        let verdict: String = self
            .connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(self.failed())?;
        if verdict == "ok" { Ok(()) } else { Err(Error::damaged(&self.path(), verdict)) }
    }
}

impl Drop for RunFolder {
    /// Leaves one plain file, readable from a medium that can't be written. Where somebody reads
    /// it at this moment it stays in two, which is as good.
    fn drop(&mut self) {
        if self.held.is_some() {
            let _ = self.connection.busy_timeout(Duration::ZERO);
            let _ = self.connection.pragma_update(None, "journal_mode", "DELETE");
        }
    }
}

/// Makes the database that is going to be at `path`, whole but for its name: a process that is killed before
/// leaves no run.
pub(crate) fn build(
    held: &TrustedFolder,
    path: &Path,
    run: &Run,
    experiment: &str,
    more: &dyn Fn(&Transaction<'_>) -> Result<()>,
) -> Result<()> {
    let failed = |cause| unwritten(path, cause);
    let access = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let mut connection = connect(&held.path().join(UNFINISHED), access).map_err(failed)?;
    connection.pragma_update(None, "application_id", APPLICATION).map_err(failed)?;
    connection.pragma_update(None, "user_version", FORM).map_err(failed)?;
    // Rows come together with those that they refer to: none is looked up for each of them.
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

/// Gives the database that was built its name, in the place of what has it.
pub(crate) fn name(held: &TrustedFolder, path: &Path) -> Result<()> {
    rustix::fs::renameat(held, UNFINISHED, held, DATABASE)
        .map_err(|error| Error::write(path, error.into()))
}

/// Removes what is left of a database that was not finished.
pub(crate) fn discard(held: &TrustedFolder) {
    for end in SQLITES {
        let _ = fs::remove_file(held.path().join(format!("{UNFINISHED}{end}")));
    }
}

/// What SQLite says of the database at `path`, which was to be written.
pub(crate) fn unwritten(path: &Path, cause: rusqlite::Error) -> Error {
    match Error::sqlite(path, cause) {
        Error::CannotRead { path, cause } => Error::CannotWrite { path, cause },
        error => error,
    }
}

/// A full disk, where there is no run yet to go on with.
pub(crate) fn no_room(error: Error) -> Error {
    match error {
        Error::Full { path } => {
            Error::CannotWrite { path, cause: "no space left on the device".to_owned() }
        }
        error => error,
    }
}

/// Takes the folder for writing. The lock is on the folder itself: SQLite's own locks on its file
/// would go if another handle on that file were closed, and a lock file would have to be taken
/// away.
pub(crate) fn lock(held: &TrustedFolder, dir: &Path) -> Result<()> {
    // A reader that asks whether anybody writes holds the lock for a moment.
    for _ in 0..10 {
        match flock(held.as_fd(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(5)),
            Err(error) => return Err(Error::write(dir, error.into())),
        }
    }
    Err(Error::Busy(dir.to_owned()))
}

/// Makes a file that is not there.
fn write_new(folder: &TrustedFolder, name: &str, text: &str) -> std::io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(0o644))?;
    File::from(file).write_all(text.as_bytes())
}

/// Opens a database in a folder whose path has no links; SQLite goes through none, either.
fn connect(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    Connection::open_with_flags(path, access | flags)
}

/// What is in a folder where a run may begin: nothing, or what a killed process had begun to make in it,
/// in the order in which that can be removed. `None` where anything else is.
fn leftovers(dir: &Path) -> std::io::Result<Option<Vec<String>>> {
    let entries = fs::read_dir(dir)?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<std::io::Result<Vec<String>>>()?;
    let begun = SQLITES.map(|end| format!("{UNFINISHED}{end}"));
    let all_begun = names.iter().all(|name| name == EXPERIMENT || begun.contains(name));
    let goes_on = all_begun && names.contains(&begun[0]);
    if !names.is_empty() && !goes_on {
        return Ok(None);
    }
    // The database last: without it, the rest would be taken for somebody's.
    let rank = |name: &String| usize::from(*name == begun[0]);
    names.sort_by_key(rank);
    Ok(Some(names))
}

/// Whether a folder is empty, once what a killed process had begun to make in it is removed.
fn take_over(dir: &Path) -> std::io::Result<bool> {
    let Some(names) = leftovers(dir)? else { return Ok(false) };
    names.iter().try_for_each(|name| fs::remove_file(dir.join(name)))?;
    Ok(true)
}

/// What a connection that writes needs: readers beside it, and a commit that outlives a power cut.
fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)
}
