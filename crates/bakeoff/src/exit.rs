//! How bakeoff ends: named exit codes, and the failures that lead to them.
//!
//! docs/exit-codes.md lists them for users; a test holds it against the codes here.

use std::fmt;
use std::process::ExitCode;

use bakeoff_disk::mount as disk;
use bakeoff_experiment::without_passwords;
use bakeoff_lab::{LabError, MachineError, TrialError};
use bakeoff_results::visible;

/// What the exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// What was asked for was done.
    Done,
    /// Something failed that bakeoff has no better name for.
    Failed,
    /// The command line, the experiment or a file that it names is wrong.
    Usage,
    /// The run folder can't be used: it is there already, is no run, is damaged, was changed, is
    /// in use, can't be written, or somebody else decides what is in it. Or a disk's folder can't: it
    /// is not there, not empty, in use, inside another, or no disk of the user's is mounted on it.
    Folder,
    /// A disk is full.
    Full,
    /// The run went to its end, but some trials or power cuts failed.
    Trials,
    /// The run went to its end, and a power cut has taken what an engine had promised to keep.
    Promise,
    /// Two runs were compared, and the second is worse than the limit allows.
    Worse,
    /// Two runs were compared under a limit, and nothing could be decided.
    Undecided,
    /// The run was asked to stop; `--resume` goes on.
    Interrupted,
}

impl Exit {
    /// Every way to end.
    #[cfg(test)]
    pub const ALL: [Self; 10] = [
        Self::Done,
        Self::Failed,
        Self::Usage,
        Self::Folder,
        Self::Full,
        Self::Trials,
        Self::Promise,
        Self::Worse,
        Self::Undecided,
        Self::Interrupted,
    ];

    /// The process's exit code. `bakeoff compare` alone ends with [`Exit::Worse`] or [`Exit::Undecided`],
    /// and never with the two whose codes these are.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Folder => 3,
            Self::Full => 4,
            Self::Trials => 5,
            Self::Promise => 6,
            Self::Worse => 1,
            Self::Undecided => 3,
            Self::Interrupted => 130,
        }
    }
}

impl From<&LabError> for Exit {
    /// What a failed run ends with. A trial that fails alone is recorded, and the run goes on.
    fn from(error: &LabError) -> Self {
        use bakeoff_results::Error as Results;
        match error {
            LabError::Results(Results::Full { .. }) => Self::Full,
            LabError::Results(_) => Self::Folder,
            LabError::Trial(error) => error.into(),
            // Of several problems the first says it: the engines', then the machine's.
            LabError::Preflight(problems) => problems.0.first().map_or(Self::Failed, Self::from),
        }
    }
}

impl From<&TrialError> for Exit {
    fn from(error: &TrialError) -> Self {
        match error {
            TrialError::User(_) => Self::Usage,
            TrialError::Engine(_) => Self::Trials,
            TrialError::Machine(error) => match error {
                MachineError::Full { .. } => Self::Full,
                MachineError::Neighbours(_) => Self::Usage,
                MachineError::Interrupted => Self::Interrupted,
                MachineError::System { .. } | MachineError::Process(_) | MachineError::Place(_) => {
                    Self::Failed
                }
            },
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

/// Why a command could not do what it was asked to.
#[derive(Debug)]
pub struct CommandFailure {
    /// The exit code.
    pub exit: Exit,
    /// What was wrong, where, and what to do.
    pub message: String,
}

impl CommandFailure {
    /// A failure that ends in `exit`.
    pub fn new(exit: Exit, message: impl fmt::Display) -> Self {
        Self { exit, message: message.to_string() }
    }

    /// A failure of the run folder, under its exit code.
    pub fn folder(error: bakeoff_results::Error) -> Self {
        Self::lab(error.into(), None)
    }

    /// What stopped a run; `again` is the command that goes on with it, where there is something to resume.
    pub fn lab(error: LabError, again: Option<&str>) -> Self {
        let exit = Exit::from(&error);
        let mut message = error.to_string();
        let full = matches!(error, LabError::Trial(TrialError::Machine(MachineError::Full { .. })));
        if let Some(again) = again.filter(|_| full) {
            message += &format!("\nfinished trials are kept; to go on: {again}");
        }
        Self::new(exit, message)
    }
}

impl From<disk::Error> for CommandFailure {
    fn from(error: disk::Error) -> Self {
        let exit = match error {
            disk::Error::Usage(_) => Exit::Usage,
            disk::Error::Folder(_) => Exit::Folder,
            disk::Error::Failed(_) => Exit::Failed,
        };
        Self::new(exit, error)
    }
}

impl fmt::Display for CommandFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Names of files and what engines say are in it, and a terminal obeys what it is shown.
        let message = visible(self.message.trim_end());
        if message.starts_with("error") {
            return write!(formatter, "{message}");
        }
        // A path in it may be a URL that was given in the wrong place.
        write!(formatter, "error: {}", without_passwords(&message))
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_lab::{LabError, MachineError, TrialError};

    use super::{CommandFailure, Exit};

    #[test]
    fn a_full_disk_tells_how_to_go_on_and_nothing_else_does() {
        let again = Some("bakeoff run --resume r --path /mnt/array");
        let folder = "/mnt/array".into();
        let full = MachineError::Full { folder, free: 0, needed: 1, what_for: String::new() };
        let full = CommandFailure::lab(LabError::Trial(TrialError::Machine(full)), again);
        let told = "to go on: bakeoff run --resume r --path /mnt/array";
        assert!(full.message.ends_with(told), "{}", full.message);
        let other = CommandFailure::lab(LabError::Trial(TrialError::User("no".into())), again);
        assert!(!other.message.contains("to go on"), "{}", other.message);
    }

    #[test]
    fn a_failure_obeys_nobody() {
        let failure =
            CommandFailure::new(Exit::Failed, "\u{1b}]0;owned\u{7}\nsecond \u{202e}line\r");
        assert_eq!(failure.to_string(), "error: \\u{1b}]0;owned\\u{7}\nsecond \\u{202e}line");
    }

    #[test]
    fn every_code_is_documented() {
        let page = include_str!("../../../docs/exit-codes.md");
        for exit in Exit::ALL {
            let row = format!("| {} | `{exit:?}`", exit.code());
            assert!(page.contains(&row), "docs/exit-codes.md lacks the row {row:?}");
        }
    }
}
