//! Errors of trials, power cuts and runs, with whose fault they are and how to mend them.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use bakeoff_disk::neighbour;
use serde::{Deserialize, Serialize};

/// Its text is the whole message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum TrialError {
    #[error("{0}")]
    Engine(String),
    #[error("{0}")]
    User(String),
    #[error(transparent)]
    Machine(#[from] MachineError),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum MachineError {
    #[error(
        "the disk under {} is too full: {} MB free, {} MB needed{what_for}; free some, or use --path or --out on another disk",
        folder.display(), free / 1_000_000, needed / 1_000_000
    )]
    Full { folder: PathBuf, free: u64, needed: u64, what_for: String },
    #[error(
        "no inodes left under {}: its file system can hold {free} files more, and a run makes at least \
         {needed}; remove some, or use --path or --out on another disk", folder.display()
    )]
    NoInodes { folder: PathBuf, free: u64, needed: u64 },
    /// The disk filled up while the lab wrote to it.
    #[error("{what}: no space left on the disk; free some, or use --path or --out on another disk")]
    NoSpace { what: String },
    #[error("{what}: {cause}")]
    System { what: String, cause: String },
    #[error("{0}")]
    Neighbours(String),
    #[error("{0}")]
    Process(String),
    #[error("{0}")]
    Place(String),
    #[error("the run was interrupted")]
    Interrupted,
}

impl MachineError {
    /// Of a folder that was there when the run began.
    pub(crate) fn from_folder(folder: &Path, error: &io::Error) -> Self {
        let cause = match error.kind() {
            io::ErrorKind::NotFound => {
                "the folder is gone: somebody renamed or removed it, or one above \
                                        it; name it as before, and go on with --resume"
                    .to_owned()
            }
            _ => error.to_string(),
        };
        Self::System { what: folder.display().to_string(), cause }
    }
}

impl TrialError {
    pub fn stops_the_run(&self) -> bool {
        use MachineError::{Full, Interrupted, Neighbours, NoInodes, NoSpace, System};
        matches!(
            self,
            Self::Machine(
                Full { .. }
                    | NoInodes { .. }
                    | NoSpace { .. }
                    | System { .. }
                    | Neighbours(_)
                    | Interrupted
            )
        )
    }

    pub(crate) fn map_text(self, words: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Engine(text) => Self::Engine(words(text)),
            Self::User(text) => Self::User(words(text)),
            Self::Machine(MachineError::Process(text)) => MachineError::Process(words(text)).into(),
            Self::Machine(MachineError::Place(text)) => MachineError::Place(words(text)).into(),
            Self::Machine(MachineError::System { what, cause }) => {
                MachineError::System { what, cause: words(cause) }.into()
            }
            other => other,
        }
    }

    pub(crate) fn place_error(what: &str, why: impl std::fmt::Display) -> Self {
        MachineError::Place(format!("{what}: {why}")).into()
    }

    pub(crate) fn process_error(text: impl Into<String>) -> Self {
        MachineError::Process(text.into()).into()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problems(pub Vec<TrialError>);

impl fmt::Display for Problems {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [one] = &self.0[..] {
            return one.fmt(formatter);
        }
        write!(formatter, "{} things keep this run from beginning:", self.0.len())?;
        self.0.iter().try_for_each(|problem| write!(formatter, "\n- {problem}"))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error(transparent)]
    Trial(#[from] TrialError),
    #[error(transparent)]
    Preflight(#[from] Problems),
    #[error(transparent)]
    Results(#[from] bakeoff_results::Error),
}

impl LabError {
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Self::Trial(TrialError::Machine(MachineError::Interrupted)))
    }
}

impl From<MachineError> for LabError {
    fn from(error: MachineError) -> Self {
        Self::Trial(error.into())
    }
}

impl From<bakeoff_engines::Error> for TrialError {
    fn from(error: bakeoff_engines::Error) -> Self {
        Self::Engine(error.to_string())
    }
}

impl From<neighbour::Error> for MachineError {
    fn from(error: neighbour::Error) -> Self {
        let remedy = match error {
            neighbour::Error::NotDirect(_) => {
                ": choose a folder on a disk with --out, or run with --neighbours 0"
            }
            neighbour::Error::NoSpace { .. } => {
                ": make room, choose another folder with --out, or run with --neighbours 0"
            }
            _ => "",
        };
        Self::Neighbours(format!("{error}{remedy}"))
    }
}

pub(crate) fn with_context<T>(what: &str, result: io::Result<T>) -> Result<T, MachineError> {
    result.map_err(|error| match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            MachineError::NoSpace { what: what.into() }
        }
        _ => MachineError::System { what: what.into(), cause: error.to_string() },
    })
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn a_folder_that_is_gone_is_told_with_what_brings_it_back() {
        for (errno, said) in [(Errno::NOENT, "/data: the folder is gone"), (Errno::IO, "/data: ")] {
            let error = MachineError::from_folder(Path::new("/data"), &errno.into());
            assert!(error.to_string().starts_with(said), "{error}");
            assert_eq!(error.to_string().contains("renamed"), errno == Errno::NOENT);
            assert!(TrialError::from(error).stops_the_run());
        }
    }

    #[test]
    fn a_disk_without_room_is_told_from_other_failures() {
        for errno in [Errno::NOSPC, Errno::DQUOT] {
            let error = with_context("the canary", Err::<(), _>(io::Error::from(errno)));
            assert_eq!(error, Err(MachineError::NoSpace { what: "the canary".to_owned() }));
        }
        let other = with_context("the canary", Err::<(), _>(io::Error::from(Errno::IO)));
        assert!(matches!(other, Err(MachineError::System { .. })), "{other:?}");
    }
}
