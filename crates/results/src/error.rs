use std::fmt;
use std::io::ErrorKind;
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
    #[error("no {lacks} left for {}; every trial committed so far is kept: free some, then \
             bakeoff run --resume {}", path.display(), find_folder(path).display())]
    Full { path: PathBuf, lacks: Lack },
    /// As [`Error::Full`], before there is a run to go on with.
    #[error("no {lacks} left for {}; free some, or name a folder on another disk", path.display())]
    NoRoom { path: PathBuf, lacks: Lack },
    #[error("cannot store the trial: {0}")]
    Unfit(String),
    #[error("{}: {cause}", path.display())]
    Other { path: PathBuf, cause: rusqlite::Error },
}

/// What a full file system has none of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    Space,
    Inodes,
}

impl Lack {
    /// Of the file system that a path is on, or will be.
    fn from_path(path: &Path) -> Option<Self> {
        let state = path.ancestors().find_map(|at| {
            let at = if at.as_os_str().is_empty() { Path::new(".") } else { at };
            rustix::fs::statvfs(at).ok()
        })?;
        // A file system without a fixed number of inodes may say that it has 0.
        if state.f_files > 0 && state.f_favail == 0 {
            return Some(Self::Inodes);
        }
        (state.f_bavail * state.f_frsize < 64 * 1024).then_some(Self::Space)
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Space => "space",
            Self::Inodes => "inodes (the number of files that a file system can hold)",
        })
    }
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
            Some(ErrorCode::DiskFull) => Self::from_full_disk(path),
            // SQLite does not call a full disk by its name where it makes a file or grows its shared
            // memory.
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen)
                if Lack::from_path(&path).is_some() =>
            {
                Self::from_full_disk(path)
            }
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::CannotRead { path, cause: cause.to_string() }
            }
            Some(ErrorCode::ReadOnly) => Self::CannotWrite { path, cause: cause.to_string() },
            _ => Self::Other { path, cause },
        }
    }

    pub(crate) fn from_write_failure(path: &Path, cause: std::io::Error) -> Self {
        match cause.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                Self::from_full_disk(path.to_owned())
            }
            _ => Self::CannotWrite { path: path.to_owned(), cause: cause.to_string() },
        }
    }

    fn from_full_disk(path: PathBuf) -> Self {
        let lacks = Lack::from_path(&path).unwrap_or(Lack::Space);
        Self::Full { path, lacks }
    }

    /// There is no trial yet to go on from.
    pub(crate) fn before_any_trial(self) -> Self {
        match self {
            Self::Full { path, lacks } => Self::NoRoom { path, lacks },
            error => error,
        }
    }

    /// Not a database that bakeoff leaves.
    pub(crate) fn refused(path: &Path, why: impl ToString) -> Self {
        Self::Refused { path: path.to_owned(), why: why.to_string() }
    }

    pub(crate) fn damaged(path: &Path, why: impl ToString) -> Self {
        Self::Damaged { path: path.to_owned(), why: why.to_string() }
    }
}
