//! A database of unknown origin: checks before it is opened, and limits for SQLite.
//!
//! A reader writes nothing, whatever the file holds.

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

/// In bytes, of a database, log or journal. A run of 100,000 trials takes a tenth.
const LONGEST_FILE: u64 = 16 << 30;

/// In bytes, of a text or blob.
const LONGEST_VALUE: i32 = 16 << 20;

const LONGEST_EXPERIMENT: u64 = 4 << 20;

/// Instructions of SQLite's virtual machine for one folder: a hundred for each row of the largest
/// run.
const STEPS: u32 = 500_000_000;

/// After how many instructions they are counted.
const PERIOD: i32 = 100_000;

/// At the end of a journal that names another database.
const NAMES_ANOTHER: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// The files of SQLite beside a database.
const BESIDE: [&str; 3] = [LOG, JOURNAL, "-shm"];
const LOG: &str = "-wal";
const JOURNAL: &str = "-journal";

pub(crate) struct PlainDatabase {
    path: PathBuf,
    /// Without links: SQLite follows none.
    real: PathBuf,
    log: bool,
    journal: bool,
}

impl PlainDatabase {
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
        if check_length(&real)?.is_none() {
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
            *length = check_length(&path_beside(&real, end))?.unwrap_or(0);
        }
        let [log, journal, _] = lengths;
        Ok(Self { path, real, log: log > 0, journal: journal > 0 })
    }

    /// Opens it for reading. If a bakeoff writes (`written`), by SQLite's means for readers; else
    /// no file is made or removed: the log's index is in memory.
    pub(crate) fn open_for_reading(&self, written: bool) -> Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | ALWAYS;
        let failed = |cause| Error::from_sqlite(&self.path, cause);
        let still = !written && !self.journal;
        let mut connection = match self.log {
            true if still => Connection::open_with_flags_and_vfs(&self.real, flags, c"unix-none"),
            false if still => Connection::open_with_flags(
                self.to_immutable_uri(),
                flags | OpenFlags::SQLITE_OPEN_URI,
            ),
            _ => Connection::open_with_flags(&self.real, flags),
        }
        .map_err(failed)?;
        let alone = self.log && still;
        restrict_connection(&mut connection, alone).map_err(failed)?;
        Ok(connection)
    }

    pub(crate) fn open_for_writing(&self) -> Result<Connection> {
        let failed = |cause| Error::from_sqlite(&self.path, cause);
        if self.journal && names_another(&path_beside(&self.real, JOURNAL)) {
            return Err(Error::refused(&self.path, "its journal names a file of another database"));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | ALWAYS;
        let mut connection = Connection::open_with_flags(&self.real, flags).map_err(failed)?;
        restrict_connection(&mut connection, false).map_err(failed)?;
        Ok(connection)
    }

    /// A URI that declares the file unchanging: no lock, no log.
    fn to_immutable_uri(&self) -> String {
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

const ALWAYS: OpenFlags = OpenFlags::SQLITE_OPEN_NO_MUTEX.union(OpenFlags::SQLITE_OPEN_NOFOLLOW);

/// Limits SQLite; `alone` if no process writes and its log is read.
fn restrict_connection(connection: &mut Connection, alone: bool) -> rusqlite::Result<()> {
    use DbConfig::*;
    for (setting, on) in [
        (SQLITE_DBCONFIG_DEFENSIVE, true),
        (SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (SQLITE_DBCONFIG_ENABLE_VIEW, false),
    ] {
        connection.set_db_config(setting, on)?;
    }
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_VALUE)?;
    // Only the SQL of the tables is of unknown origin.
    connection.set_limit(Limit::SQLITE_LIMIT_SQL_LENGTH, 20_000)?;
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

/// A writer works for days; its database has been checked from end to end.
pub(crate) fn lift_limits(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.progress_handler(0, None::<fn() -> bool>)
}

/// It holds a lock on the folder ([`crate::store`]).
pub(crate) fn is_written(dir: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(handle) = rustix::fs::open(dir, flags, Mode::empty()) else { return false };
    let taken = rustix::fs::flock(handle, FlockOperation::NonBlockingLockShared);
    taken == Err(Errno::WOULDBLOCK)
}

pub(crate) fn read_experiment(file: File) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(LONGEST_EXPERIMENT + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= LONGEST_EXPERIMENT).then_some(bytes)
}

pub(crate) fn experiment_in(dir: &Path) -> Result<Option<Vec<u8>>> {
    let path = dir.join(EXPERIMENT);
    if check_length(&path)?.is_none() {
        return Ok(None);
    }
    let Some(file) = open_plain(&path) else {
        return Err(Error::CannotRead { path, cause: "it can't be opened".to_owned() });
    };
    let too_long = || Error::refused(&path, format!("{EXPERIMENT} is longer than any"));
    read_experiment(file).map(Some).ok_or_else(too_long)
}

/// Follows no link and waits for nobody.
fn open_plain(path: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    file.metadata().ok()?.is_file().then_some(file)
}

fn names_another(path: &Path) -> bool {
    let end = || -> Option<[u8; 8]> {
        let mut file = open_plain(path)?;
        let mut end = [0; 8];
        file.seek(SeekFrom::End(-8)).ok()?;
        file.read_exact(&mut end).ok()?;
        Some(end)
    };
    end() == Some(NAMES_ANOTHER)
}

fn path_beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn check_length(path: &Path) -> Result<Option<u64>> {
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
