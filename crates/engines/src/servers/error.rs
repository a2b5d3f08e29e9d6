//! Errors of a server, with their remedies.

use std::io;
use std::path::{Path, PathBuf};

use crate::servers::kind::ServerProduct;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "{kind} is not installed: there is no {executable} in PATH, nor where it is usually \
         put; install it, on Debian by: apt-get install {package}"
    )]
    Missing { kind: &'static dyn ServerProduct, executable: &'static str, package: &'static str },
    #[error(
        "there is no {executable} of {kind} in {}: name the folder of an installation, with its \
         programs in it or in a folder below it ({subfolders})",
        .folder.display()
    )]
    NotThere {
        kind: &'static dyn ServerProduct,
        executable: &'static str,
        folder: PathBuf,
        subfolders: String,
    },
    #[error(
        "{kind} {version} ({executable}) is too old: bakeoff needs {oldest} or later; on \
         Debian: apt-get install {package}"
    )]
    TooOld {
        kind: &'static dyn ServerProduct,
        version: String,
        executable: PathBuf,
        oldest: String,
        package: &'static str,
    },
    #[error(
        "{} is no program that this machine can run, as one for another kind of processor is none: install \
         {kind} for this machine, on Debian by: apt-get install {package}",
        .executable.display()
    )]
    Foreign { kind: &'static dyn ServerProduct, executable: PathBuf, package: &'static str },
    /// The server's user can't get into its folder, and bakeoff may not give it mounts of its own.
    #[error(
        "{kind} runs as the user {user}, since bakeoff runs as root; {user} can't get into {}, and \
         this container lets root mount nothing: give it the capability CAP_SYS_ADMIN, or choose \
         another place by --out",
        .folder.display()
    )]
    Unreachable { kind: &'static dyn ServerProduct, user: String, folder: PathBuf },
    /// Something in the server's folder belongs to an unexpected user.
    #[error(
        "{0} belongs to the user {owner}, who is neither root nor {user}, the server's: name another \
         folder, or give it to root (chown root {0})",
        .path.display()
    )]
    Owner { path: PathBuf, owner: u32, user: String },
    #[error("the server's folder can't be used: {0}")]
    Folder(io::Error),
    #[error("{kind}'s setting {name} can't be given: {reason}")]
    Setting { kind: &'static dyn ServerProduct, name: String, reason: &'static str },
    #[error("{kind} does not take its settings: {complaint}")]
    Complains { kind: &'static dyn ServerProduct, complaint: String },
    #[error(
        "{kind} could not initialise its data folder ({how}){}; {}",
        find_complaint(*.kind, .log), format_log("it said", .log)
    )]
    Initialise { kind: &'static dyn ServerProduct, how: String, log: String },
    #[error(
        "{kind} ended while it was starting ({how}){}; {}",
        find_complaint(*.kind, .log), format_log("the last lines of its log", .log)
    )]
    Ended { kind: &'static dyn ServerProduct, how: String, log: String },
    #[error("{kind} did not answer within {seconds} s; {}", format_log("the last lines of its log", .log))]
    Slow { kind: &'static dyn ServerProduct, seconds: f64, log: String },
    #[error("{kind} did not stop in order: {how}; {}", format_log("the last lines of its log", .log))]
    Unclean { kind: &'static dyn ServerProduct, how: String, log: String },
    #[error(
        "another server still uses {} after {seconds} s: end the run that it belongs to",
        .folder.display()
    )]
    Busy { folder: PathBuf, seconds: f64 },
    #[error("{what}: {source}")]
    System { what: String, source: io::Error },
}

fn format_log(what: &str, log: &str) -> String {
    match log.trim() {
        "" => "it said nothing, as one that is killed: look in the system's log whether memory ran out"
            .into(),
        log => format!("{what}:\n{log}"),
    }
}

/// The first error in a log, without its date, as `": …"`; empty if there is none.
fn find_complaint(kind: &dyn ServerProduct, log: &str) -> String {
    let words = |line: &str| {
        let (_, words) = kind.complaint_marks().iter().find_map(|mark| line.split_once(mark))?;
        Some(format!(": {}", words.trim()))
    };
    // Of a server whose words nobody knows, the last ones say most.
    let last = || {
        let line = log.lines().rfind(|line| !line.trim().is_empty())?;
        kind.complaint_marks().is_empty().then(|| format!(": {}", line.trim()))
    };
    log.lines().find_map(words).or_else(last).unwrap_or_default()
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn from_folder(error: io::Error) -> Self {
        Self::Folder(error)
    }

    pub(crate) fn at_path(what: &str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let what = format!("can't {what} {}", path.display());
        move |source| Self::System { what, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_of_a_log_is_said_at_once() {
        let complaint = |log| find_complaint(&crate::servers::made_up::MADE_UP, log);
        let log = "2026-01-01 [Note] a pool\n2026-01-01 [ERROR] Corruption: half a record\n\
                   2026-01-01 [ERROR] Aborting";
        assert_eq!(complaint(log), ": Corruption: half a record");
        assert_eq!(complaint("2026-01-01 UTC [7] PANIC:  no checkpoint"), ": no checkpoint");
        assert_eq!(complaint("nothing of note"), "");
    }

    #[test]
    fn what_was_killed_before_it_wrote_a_line_said_nothing() {
        let kind = &crate::servers::made_up::MADE_UP;
        let how = || "exit status: 1".to_owned();
        for (log, said) in [
            ("", "(exit status: 1); it said nothing, as one that is killed"),
            (" \n\n", "(exit status: 1); it said nothing, as one that is killed"),
            ("no room\n", "(exit status: 1); it said:\nno room"),
        ] {
            let error = Error::Initialise { kind, how: how(), log: log.to_owned() };
            assert!(error.to_string().contains(said), "{error}");
            let error = Error::Unclean { kind, how: how(), log: log.to_owned() };
            assert_eq!(
                error.to_string().contains("said nothing"),
                log.trim().is_empty(),
                "{error}"
            );
        }
    }
}
