use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "{} exists and is not empty; name another folder with --out, or go on with the run in it: \
         bakeoff run --resume {}", .0.display(), .0.display()
    )]
    Exists(PathBuf),
    #[error(transparent)]
    Untrusted(bakeoff_folders::trust::Error),
    #[error("cannot write {}: {cause}; name a folder that you may write to with --out",
        path.display())]
    CannotWrite { path: PathBuf, cause: String },
    #[error("cannot read {}: {cause}; copy the folder to a place where you may read and write it, \
             or finish the run: bakeoff run --resume {}", path.display(), find_folder(path).display())]
    CannotRead { path: PathBuf, cause: String },
    #[error("{} is not a run folder: {why}; name the folder that `bakeoff run` wrote", path.display())]
    NotARun { path: PathBuf, why: String },
    #[error("{} has form {found}, and this bakeoff reads form {known} alone; use the bakeoff that \
             wrote it, or run its experiment anew: bakeoff run {}",
        path.display(), find_folder(path).join(crate::files::EXPERIMENT).display())]
    OtherForm { path: PathBuf, found: String, known: i64 },
    #[error("{path} is damaged: {why}; put back a copy, or save what is left of it with \
        sqlite3 {path} .recover | sqlite3 saved.sqlite", path = path.display())]
    Damaged { path: PathBuf, why: String },
    #[error("{} is refused: {why}; bakeoff never writes that, so it reads nothing of the file: \
             ask for the folder as `bakeoff run` left it", path.display())]
    Refused { path: PathBuf, why: String },
    #[error("{file} was edited or removed after the run began: {what}; start a new run with --out, or \
        put the old experiment back: sqlite3 {database} \
        \"SELECT writefile('{file}', experiment) FROM run\"",
        file = dir.join(crate::files::EXPERIMENT).display(),
        database = dir.join(crate::files::DATABASE).display())]
    ExperimentChanged { dir: PathBuf, what: String },
    /// Another bakeoff is at work in the folder.
    #[error("another bakeoff is writing to {}; wait until it ends, or name another folder with \
        --out", .0.display())]
    Busy(PathBuf),
    #[error("no space left for {}; every trial committed so far is kept: free some space, then \
             bakeoff run --resume {}", path.display(), find_folder(path).display())]
    Full { path: PathBuf },
    #[error("cannot store the trial: {0}")]
    Unfit(String),
    #[error("{}: {cause}", path.display())]
    Other { path: PathBuf, cause: rusqlite::Error },
}

/// More rows or bytes than any run has.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct SizeLimitError(pub(crate) String);

impl From<bakeoff_folders::trust::Error> for Error {
    fn from(error: bakeoff_folders::trust::Error) -> Self {
        match error {
            bakeoff_folders::trust::Error::System { path, source } => {
                Self::from_write_failure(&path, source)
            }
            error => Self::Untrusted(error),
        }
    }
}

fn find_folder(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

impl Error {
    pub(crate) fn from_sqlite(path: &Path, cause: rusqlite::Error) -> Self {
        let path = path.to_owned();
        if let rusqlite::Error::FromSqlConversionFailure(_, _, why) = cause {
            return match why.downcast::<SizeLimitError>() {
                Ok(why) => Self::Refused { path, why: why.to_string() },
                Err(why) => Self::Damaged { path, why: why.to_string() },
            };
        }
        // A value that bakeoff never stores: a number too large, a text that is none.
        if cause.sqlite_error().is_none() {
            return Self::Damaged { path, why: cause.to_string() };
        }
        let extended = cause.sqlite_error().map(|error| error.extended_code);
        if extended == Some(rusqlite::ffi::SQLITE_READONLY_ROLLBACK) {
            let cause = "the journal of a change that was cut short is beside it".to_owned();
            return Self::CannotRead { path, cause };
        }
        match cause.sqlite_error_code() {
            // SQLite gives SQLITE_ERROR for an unknown file format; bakeoff's own statements are
            // right.
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

    pub(crate) fn from_write_failure(path: &Path, cause: std::io::Error) -> Self {
        Self::CannotWrite { path: path.to_owned(), cause: cause.to_string() }
    }

    /// Not a database that bakeoff leaves.
    pub(crate) fn refused(path: &Path, why: impl ToString) -> Self {
        Self::Refused { path: path.to_owned(), why: why.to_string() }
    }

    pub(crate) fn damaged(path: &Path, why: impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), why: why.to_string() }
    }
}

/// SQLite does not call a full disk by its name where it grows its shared memory.
fn no_room(path: &Path) -> bool {
    rustix::fs::statvfs(find_folder(path)).is_ok_and(|fs| fs.f_bavail * fs.f_frsize < 64 * 1024)
}
