//! What can go wrong with a run folder, in words that say what to do.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// What can go wrong with a run folder.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder for a new run holds something.
    #[error(
        "{} exists and is not empty; name another folder with --out, or go on with the run in it: \
         bakeoff run --resume {}", .0.display(), .0.display()
    )]
    Exists(PathBuf),
    /// Somebody else decides what is in the folder, or has written a file in it.
    #[error(transparent)]
    Untrusted(bakeoff_trust::Error),
    /// The folder, or a file in it, can't be written.
    #[error("cannot write {}: {cause}; name a folder that you may write to with --out",
        path.display())]
    CannotWrite {
        /// What was to be written.
        path: PathBuf,
        /// What the system says.
        cause: String,
    },
    /// The folder, or a file in it, can't be read.
    #[error("cannot read {}: {cause}; copy the folder to a place where you may read and write it, \
             or finish the run: bakeoff run --resume {}", path.display(), dir(path).display())]
    CannotRead {
        /// What was to be read.
        path: PathBuf,
        /// What the system says.
        cause: String,
    },
    /// The folder holds no run.
    #[error("{} is not a run folder: {why}; name the folder that `bakeoff run` wrote", path.display())]
    NotARun {
        /// The folder or the file.
        path: PathBuf,
        /// How it shows.
        why: String,
    },
    /// The run was written by a bakeoff that keeps its results in another form.
    #[error("{} has form {found}, and this bakeoff reads form {known} alone; use the bakeoff that \
             wrote it, or run its experiment anew: bakeoff run {}",
        path.display(), dir(path).join(crate::files::EXPERIMENT).display())]
    OtherForm {
        /// The file.
        path: PathBuf,
        /// Its form, and what of this form it lacks: an early one had not all of it yet.
        found: String,
        /// The form that this bakeoff writes.
        known: i64,
    },
    /// The run's database is broken.
    #[error("{path} is damaged: {why}; put back a copy, or save what is left of it with \
        sqlite3 {path} .recover | sqlite3 saved.sqlite", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// How it shows.
        why: String,
    },
    /// The run folder holds what bakeoff never writes, or more than it ever does.
    #[error("{} is refused: {why}; bakeoff never writes that, so it reads nothing of the file: \
             ask for the folder as `bakeoff run` left it", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What it holds.
        why: String,
    },
    /// The experiment is not the one that the run began with.
    #[error("{file} was edited or removed after the run began: {what}; start a new run with --out, or \
        put the old experiment back: sqlite3 {database} \
        \"SELECT writefile('{file}', experiment) FROM run\"",
        file = dir.join(crate::files::EXPERIMENT).display(),
        database = dir.join(crate::files::DATABASE).display())]
    ExperimentChanged {
        /// The run folder.
        dir: PathBuf,
        /// What differs.
        what: String,
    },
    /// Another bakeoff is at work in the folder.
    #[error("another bakeoff is writing to {}; wait until it ends, or name another folder with \
        --out", .0.display())]
    Busy(PathBuf),
    /// There is no room left.
    #[error("no space left for {}; every trial committed so far is kept: free some space, then \
             bakeoff run --resume {}", path.display(), dir(path).display())]
    Full {
        /// What was to be written.
        path: PathBuf,
    },
    /// The caller handed over what can't be kept.
    #[error("cannot store the trial: {0}")]
    Unfit(String),
    /// Whatever else SQLite says.
    #[error("{}: {cause}", path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What it says.
        cause: rusqlite::Error,
    },
}

/// More rows or bytes than any run has.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct TooMuch(pub(crate) String);

impl From<bakeoff_trust::Error> for Error {
    fn from(error: bakeoff_trust::Error) -> Self {
        match error {
            bakeoff_trust::Error::System { path, source } => Self::write(&path, source),
            error => Self::Untrusted(error),
        }
    }
}

/// The folder that a path in it is named by.
fn dir(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

impl Error {
    /// What SQLite says of the database at `path`.
    pub(crate) fn sqlite(path: &Path, cause: rusqlite::Error) -> Self {
        let path = path.to_owned();
        if let rusqlite::Error::FromSqlConversionFailure(_, _, why) = cause {
            return match why.downcast::<TooMuch>() {
                Ok(why) => Self::Refused { path, why: why.to_string() },
                Err(why) => Self::Damaged { path, why: why.to_string() },
            };
        }
        // What SQLite gave is not what bakeoff keeps there: a number too large, a text of no letters.
        if cause.sqlite_error().is_none() {
            return Self::Damaged { path, why: cause.to_string() };
        }
        let extended = cause.sqlite_error().map(|error| error.extended_code);
        if extended == Some(rusqlite::ffi::SQLITE_READONLY_ROLLBACK) {
            let cause = "the journal of a change that was cut short is beside it".to_owned();
            return Self::CannotRead { path, cause };
        }
        match cause.sqlite_error_code() {
            // The last is what SQLite says of a form of file that it does not know, with no more than
            // SQLITE_ERROR; every statement is bakeoff's own.
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt | ErrorCode::Unknown) => {
                Self::Damaged { path, why: cause.to_string() }
            }
            Some(ErrorCode::OperationInterrupted) => {
                Self::refused(&path, "it takes longer to read than the largest run")
            }
            Some(ErrorCode::TooBig) => {
                Self::refused(&path, "a text or a histogram is longer than any")
            }
            Some(ErrorCode::DiskFull) => Self::Full { path },
            Some(ErrorCode::SystemIoFailure) if no_room(&path) => Self::Full { path },
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::CannotRead { path, cause: cause.to_string() }
            }
            Some(ErrorCode::ReadOnly) => Self::CannotWrite { path, cause: cause.to_string() },
            _ => Self::Other { path, cause },
        }
    }

    /// What the system says of writing the file or folder at `path`.
    pub(crate) fn write(path: &Path, cause: std::io::Error) -> Self {
        Self::CannotWrite { path: path.to_owned(), cause: cause.to_string() }
    }

    /// The database at `path` is nothing that bakeoff leaves, or that it could.
    pub(crate) fn refused(path: &Path, why: impl ToString) -> Self {
        Self::Refused { path: path.to_owned(), why: why.to_string() }
    }

    /// The database at `path` holds what nobody writes.
    pub(crate) fn damaged(path: &Path, why: impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), why: why.to_string() }
    }
}

/// Whether the file system under `path` has no page to spare: SQLite calls a full disk by its name
/// in most places, but not where it grows its shared memory.
fn no_room(path: &Path) -> bool {
    rustix::fs::statvfs(dir(path)).is_ok_and(|fs| fs.f_bavail * fs.f_frsize < 64 * 1024)
}
