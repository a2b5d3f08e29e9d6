//! Why a trial, a power cut or a whole run came to nothing: whose fault it is, in words that say
//! what to do.

use std::fmt;
use std::io;
use std::path::PathBuf;

use bakeoff_disk::neighbour;
use serde::{Deserialize, Serialize};

/// Why a trial or a power cut failed. Its text is the whole message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum TrialError {
    /// What is tested failed.
    #[error("{0}")]
    Engine(String),
    /// What was asked for can't be had.
    #[error("{0}")]
    User(String),
    /// The machine, or bakeoff on it, failed.
    #[error(transparent)]
    Machine(#[from] MachineError),
}

/// A failure of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum MachineError {
    /// The disk has too little room.
    #[error(
        "the disk under {} is too full: {} MB free, {} MB needed{what_for}; free some, or use --path or --out on another disk",
        folder.display(), free / 1_000_000, needed / 1_000_000
    )]
    Full {
        /// The folder on it.
        folder: PathBuf,
        /// Bytes free.
        free: u64,
        /// Bytes needed.
        needed: u64,
        /// What for, and how less would do: `: …`, or nothing.
        what_for: String,
    },
    /// Something that bakeoff needs from the system.
    #[error("{what}: {cause}")]
    System {
        /// What was wanted.
        what: String,
        /// What the system said.
        cause: String,
    },
    /// Neighbours can't run on this disk.
    #[error("{0}")]
    Neighbours(String),
    /// A process ended before its time, or took too long.
    #[error("{0}")]
    Process(String),
    /// A disk, a limit or a copy that a trial was to have.
    #[error("{0}")]
    Place(String),
    /// Somebody asked to stop.
    #[error("the run was interrupted")]
    Interrupted,
}

impl TrialError {
    /// Whether no other trial can do better, so that the run stops instead of going on.
    pub fn stops_the_run(&self) -> bool {
        use MachineError::{Full, Interrupted, Neighbours, System};
        matches!(self, Self::Machine(Full { .. } | System { .. } | Neighbours(_) | Interrupted))
    }

    /// The same with more words: what it was that failed.
    pub(crate) fn because(self, words: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Engine(text) => Self::Engine(words(text)),
            Self::User(text) => Self::User(words(text)),
            Self::Machine(MachineError::Process(text)) => MachineError::Process(words(text)).into(),
            Self::Machine(MachineError::Place(text)) => MachineError::Place(words(text)).into(),
            other => other,
        }
    }

    /// A place that can't be had.
    pub(crate) fn place(what: &str, why: impl std::fmt::Display) -> Self {
        MachineError::Place(format!("{what}: {why}")).into()
    }

    /// A process that is not as it should be.
    pub(crate) fn process(text: impl Into<String>) -> Self {
        MachineError::Process(text.into()).into()
    }
}

/// All that keeps a run from beginning, each with its remedy.
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

/// What stops a run.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// What stops its trials.
    #[error(transparent)]
    Trial(#[from] TrialError),
    /// What keeps it from beginning.
    #[error(transparent)]
    Preflight(#[from] Problems),
    /// The run folder can't be read or written.
    #[error(transparent)]
    Results(#[from] bakeoff_results::Error),
}

impl LabError {
    /// Whether somebody asked to stop.
    pub fn is_interrupted(&self) -> bool {
        matches!(self, Self::Trial(TrialError::Machine(MachineError::Interrupted)))
    }
}

impl From<MachineError> for LabError {
    fn from(error: MachineError) -> Self {
        Self::Trial(error.into())
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

/// Names what was wanted when the system says no.
pub(crate) fn wanting<T>(what: &str, result: io::Result<T>) -> Result<T, MachineError> {
    result.map_err(|error| MachineError::System { what: what.into(), cause: error.to_string() })
}
