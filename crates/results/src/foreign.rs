//! A database that somebody else may have written: what is looked at before it is opened, and how
//! little SQLite may do with it.
//!
//! A reader writes nothing, neither into the database nor beside it, whatever its maker left there.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OpenFlags};
use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::files::{DATABASE, EXPERIMENT, PACKED};
use crate::{Error, Result};

/// The longest database, log or journal, in bytes. A run of 100,000 trials takes a tenth of it.
const LONGEST_FILE: u64 = 16 << 30;

/// The longest text or blob, in bytes.
const LONGEST_VALUE: i32 = 16 << 20;

/// The longest experiment, in bytes.
const LONGEST_EXPERIMENT: u64 = 4 << 20;

/// How much SQLite may do for one folder, in instructions of its virtual machine: a hundred for each
/// row of the largest run.
const STEPS: u32 = 500_000_000;

/// After how many of these it is asked whether that is enough.
const PERIOD: i32 = 100_000;

/// Where the journal names a file of another database, this stands at its end.
const NAMES_ANOTHER: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// What SQLite has beside a database, by the ends of their names.
const BESIDE: [&str; 3] = [LOG, JOURNAL, "-shm"];
const LOG: &str = "-wal";
const JOURNAL: &str = "-journal";

/// A database that is a plain file, as are those beside it.
pub(crate) struct PlainDatabase {
    /// As it was named.
    path: PathBuf,
    /// Without a link, for SQLite follows none.
    real: PathBuf,
    log: bool,
    journal: bool,
}

impl PlainDatabase {
    /// Looks at the files of the run folder `dir`.
    ///
    /// # Errors
    /// [`Error::NotARun`] where there is none, [`Error::CannotRead`], [`Error::Refused`] where
    /// one is a link, no plain file, or too long.
    pub(crate) fn from_folder(dir: &Path) -> Result<Self> {
        let path = dir.join(DATABASE);
        let not_a_run =
            |why: &str| Err(Error::NotARun { path: dir.to_owned(), why: why.to_owned() });
        let real = match dir.canonicalize() {
            Ok(dir) => dir.join(DATABASE),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                return Err(Error::CannotRead { path, cause: error.to_string() });
            }
            Err(_) => return not_a_run("it does not exist"),
        };
        if real.is_dir() {
            return not_a_run("run.sqlite is a folder");
        }
        if look(&real)?.is_none() {
            let packed = dir.join(PACKED);
            return match packed.exists() {
                true => not_a_run(&format!(
                    "its run.sqlite is packed: gunzip --keep {} unpacks it",
                    packed.display()
                )),
                false => not_a_run("it has no run.sqlite"),
            };
        }
        let mut lengths = [0; BESIDE.len()];
        for (length, end) in lengths.iter_mut().zip(BESIDE) {
            *length = look(&beside(&real, end))?.unwrap_or(0);
        }
        let [log, journal, _] = lengths;
        Ok(Self { path, real, log: log > 0, journal: journal > 0 })
    }

    /// Opens it to read. Where a bakeoff is writing to the folder (`written`), through what SQLite
    /// has for readers beside a writer; else nothing is made, and nothing taken away: neither the
    /// log's index, which is then in memory, nor an empty log.
    ///
    /// # Errors
    /// [`Error::CannotRead`], [`Error::Damaged`].
    pub(crate) fn read(&self, written: bool) -> Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | ALWAYS;
        let failed = |cause| Error::sqlite(&self.path, cause);
        let still = !written && !self.journal;
        let mut connection = match self.log {
            true if still => Connection::open_with_flags_and_vfs(&self.real, flags, c"unix-none"),
            false if still => {
                Connection::open_with_flags(self.immutable(), flags | OpenFlags::SQLITE_OPEN_URI)
            }
            _ => Connection::open_with_flags(&self.real, flags),
        }
        .map_err(failed)?;
        let alone = self.log && still;
        restrict(&mut connection, alone).map_err(failed)?;
        Ok(connection)
    }

    /// Opens it to go on writing to it.
    ///
    /// # Errors
    /// As [`Plain::read`], and [`Error::Refused`] where a journal names another file: SQLite would
    /// remove that.
    pub(crate) fn write(&self) -> Result<Connection> {
        let failed = |cause| Error::sqlite(&self.path, cause);
        if self.journal && names_another(&beside(&self.real, JOURNAL)) {
            return Err(Error::refused(&self.path, "its journal names a file of another database"));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | ALWAYS;
        let mut connection = Connection::open_with_flags(&self.real, flags).map_err(failed)?;
        restrict(&mut connection, false).map_err(failed)?;
        Ok(connection)
    }

    /// Its name as a URI that says that nobody changes it: no lock, no log.
    fn immutable(&self) -> String {
        let mut uri = "file:".to_owned();
        for &byte in self.real.as_os_str().as_bytes() {
            match byte {
                b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                    uri.push(byte.into());
                }
                _ => uri.push_str(&format!("%{byte:02X}")),
            }
        }
        uri + "?immutable=1"
    }
}

/// How it is opened, whoever reads or writes.
const ALWAYS: OpenFlags = OpenFlags::SQLITE_OPEN_NO_MUTEX.union(OpenFlags::SQLITE_OPEN_NOFOLLOW);

/// Lets SQLite do what bakeoff needs, and no more; `alone`: nobody writes, and its log is read.
fn restrict(connection: &mut Connection, alone: bool) -> rusqlite::Result<()> {
    use DbConfig::*;
    for (setting, on) in [
        (SQLITE_DBCONFIG_DEFENSIVE, true),
        (SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, false),
        (SQLITE_DBCONFIG_ENABLE_ATTACH_WRITE, false),
    ] {
        connection.set_db_config(setting, on)?;
    }
    for (limit, most) in [
        (Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 20_000),
        (Limit::SQLITE_LIMIT_COLUMN, 64),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 100),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 5),
        (Limit::SQLITE_LIMIT_VDBE_OP, 25_000),
        (Limit::SQLITE_LIMIT_FUNCTION_ARG, 8),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 32),
        (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, most)?;
    }
    if alone {
        connection.set_db_config(SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    }
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "cell_size_check", true)?;
    let mut left = STEPS / PERIOD.unsigned_abs();
    connection.progress_handler(
        PERIOD,
        Some(move || {
            left = left.saturating_sub(1);
            left == 0
        }),
    )
}

/// Lifts the limit on how much is done, of a database that was looked at from end to end: who writes
/// to it does so for days.
pub(crate) fn lift(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.progress_handler(0, None::<fn() -> bool>)
}

/// Whether a bakeoff is writing to the folder: it holds a lock on it ([`crate::store`]).
pub(crate) fn is_written(dir: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(handle) = rustix::fs::open(dir, flags, Mode::empty()) else { return false };
    let taken = rustix::fs::flock(handle, FlockOperation::NonBlockingLockShared);
    taken == Err(Errno::WOULDBLOCK)
}

/// The experiment in a file; `None` where that has no sane length.
pub(crate) fn experiment(file: File) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(LONGEST_EXPERIMENT + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= LONGEST_EXPERIMENT).then_some(bytes)
}

/// The experiment in the file of a folder that is only read; `None` where there is no such file.
///
/// # Errors
/// [`Error::CannotRead`], [`Error::Refused`] where it is a link, no plain file, or too long.
pub(crate) fn experiment_in(dir: &Path) -> Result<Option<Vec<u8>>> {
    let path = dir.join(EXPERIMENT);
    if look(&path)?.is_none() {
        return Ok(None);
    }
    let Some(file) = plain(&path) else {
        return Err(Error::CannotRead { path, cause: "it can't be opened".to_owned() });
    };
    let too_long = || Error::refused(&path, format!("{EXPERIMENT} is longer than any"));
    experiment(file).map(Some).ok_or_else(too_long)
}

/// Opens a plain file, and nothing else: neither does it follow a link nor wait for anybody.
fn plain(path: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    file.metadata().ok()?.is_file().then_some(file)
}

/// Whether the journal at `path` has the name of another file at its end.
fn names_another(path: &Path) -> bool {
    let end = || -> Option<[u8; 8]> {
        let mut file = plain(path)?;
        let mut end = [0; 8];
        file.seek(SeekFrom::End(-8)).ok()?;
        file.read_exact(&mut end).ok()?;
        Some(end)
    };
    end() == Some(NAMES_ANOTHER)
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// The length of a file that SQLite is to open; `None` where there is none.
fn look(path: &Path) -> Result<Option<u64>> {
    let stat: Stat = match rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(error) => {
            let cause = std::io::Error::from(error).to_string();
            return Err(Error::CannotRead { path: path.to_owned(), cause });
        }
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let refused = |what: &str| Err(Error::refused(path, format!("{name} is {what}")));
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if stat.st_size as u64 > LONGEST_FILE => {
            refused(&format!("too long: {} bytes", stat.st_size))
        }
        FileType::RegularFile => Ok(Some(stat.st_size as u64)),
        FileType::Symlink => refused("a link"),
        FileType::Fifo => refused("a FIFO"),
        FileType::Directory => refused("a folder"),
        _ => refused("no plain file"),
    }
}
