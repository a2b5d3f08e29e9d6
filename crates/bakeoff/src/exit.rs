//! Exit codes. docs/exit-codes.md lists them for users; a test compares the two.

use std::fmt;
use std::process::ExitCode;

use bakeoff_disk::mount as disk;
use bakeoff_experiment::without_passwords;
use bakeoff_lab::{LabError, MachineError, TrialError};
use bakeoff_results::escape_unseen;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done,
    Failed,
    Usage,
    Folder,
    Full,
    Trials,
    /// A power cut has destroyed data that an engine had promised to keep.
    Promise,
    /// A figure is beyond what `--fail-if` allows.
    Limit,
    /// The second of two compared runs is worse than the limit allows.
    Worse,
    /// Two runs were compared under a limit, without a decision.
    Undecided,
    Interrupted,
}

impl Exit {
    #[cfg(test)]
    pub const ALL: [Self; 11] = [
        Self::Done,
        Self::Failed,
        Self::Usage,
        Self::Folder,
        Self::Full,
        Self::Trials,
        Self::Promise,
        Self::Limit,
        Self::Worse,
        Self::Undecided,
        Self::Interrupted,
    ];

    /// Only `bakeoff compare` ends with [`Exit::Worse`] or [`Exit::Undecided`], and never with the
    /// two exits that share their codes.
    pub fn to_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Folder => 3,
            Self::Full => 4,
            Self::Trials => 5,
            Self::Promise => 6,
            Self::Limit => 7,
            Self::Worse => 1,
            Self::Undecided => 3,
            Self::Interrupted => 130,
        }
    }
}

impl From<&LabError> for Exit {
    /// The exit of a failed run. A single failed trial is recorded, and the run goes on.
    fn from(error: &LabError) -> Self {
        use bakeoff_results::Error as Results;
        match error {
            LabError::Results(Results::Full { .. } | Results::NoRoom { .. }) => Self::Full,
            LabError::Results(_) => Self::Folder,
            LabError::Trial(error) => error.into(),
            // The first problem decides: the engines' come first, then the machine's.
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
                MachineError::Full { .. }
                | MachineError::NoInodes { .. }
                | MachineError::NoSpace { .. } => Self::Full,
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
        ExitCode::from(exit.to_code())
    }
}

#[derive(Debug)]
pub struct CommandFailure {
    pub exit: Exit,
    pub message: String,
}

impl CommandFailure {
    pub fn new(exit: Exit, message: impl fmt::Display) -> Self {
        Self { exit, message: message.to_string() }
    }

    pub fn from_folder_error(error: bakeoff_results::Error) -> Self {
        Self::from_lab_error(error.into(), None)
    }

    /// `again` is the command that resumes the run, if there is something to resume.
    pub fn from_lab_error(error: LabError, again: Option<&str>) -> Self {
        let exit = Exit::from(&error);
        let mut message = error.to_string();
        // A full run folder says how to go on itself.
        let full = exit == Exit::Full && matches!(error, LabError::Trial(_));
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
        // It contains file names and engines' messages, and a terminal obeys control characters.
        let message = escape_unseen(self.message.trim_end());
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
        let told = "to go on: bakeoff run --resume r --path /mnt/array";
        for full in [
            MachineError::Full { folder, free: 0, needed: 1, what_for: String::new() },
            MachineError::NoSpace { what: "the canary".to_owned() },
        ] {
            let full = LabError::Trial(TrialError::Machine(full));
            let failure = CommandFailure::from_lab_error(full, again);
            assert_eq!(failure.exit, Exit::Full);
            assert!(failure.message.ends_with(told), "{}", failure.message);
        }
        let other =
            CommandFailure::from_lab_error(LabError::Trial(TrialError::User("no".into())), again);
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
            let row = format!("| {} | `{exit:?}`", exit.to_code());
            assert!(page.contains(&row), "docs/exit-codes.md lacks the row {row:?}");
        }
    }
}
