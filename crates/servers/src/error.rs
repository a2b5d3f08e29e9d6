//! What can go wrong with a server, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use crate::kind::ServerProduct;

/// What can go wrong with a private server. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server is not installed.
    #[error(
        "{kind} is not installed: there is no {executable} in PATH, nor where it is usually \
         put; install it, on Debian by: apt-get install {package}"
    )]
    Missing {
        /// Which server.
        kind: &'static dyn ServerProduct,
        /// What was looked for.
        executable: &'static str,
        /// Debian's package.
        package: &'static str,
    },
    /// The folder of an installation that was named has no such server.
    #[error(
        "there is no {executable} of {kind} in {}: name the folder of an installation, with its \
         programs in it or in a folder below it ({subfolders})",
        .folder.display()
    )]
    NotThere {
        /// Which server.
        kind: &'static dyn ServerProduct,
        /// What was looked for.
        executable: &'static str,
        /// The folder.
        folder: PathBuf,
        /// Where below it programs are looked for, with commas.
        subfolders: String,
    },
    /// The server that is installed is too old.
    #[error(
        "{kind} {version} ({executable}) is too old: bakeoff needs {oldest} or later; on \
         Debian: apt-get install {package}"
    )]
    TooOld {
        /// Which server.
        kind: &'static dyn ServerProduct,
        /// The version that it says it has.
        version: String,
        /// The program that says so.
        executable: PathBuf,
        /// The first version that will do.
        oldest: String,
        /// Debian's package.
        package: &'static str,
    },
    /// The system can't run the server's program at all.
    #[error(
        "{} is no program that this machine can run, as one for another kind of processor is none: install \
         {kind} for this machine, on Debian by: apt-get install {package}",
        .executable.display()
    )]
    Foreign {
        /// Which server.
        kind: &'static dyn ServerProduct,
        /// The program.
        executable: PathBuf,
        /// Debian's package.
        package: &'static str,
    },
    /// The path of the server's temporary files has a letter that would end it.
    #[error(
        "{kind} reads {} as several folders, since it holds '{separator}': choose a folder \
         without that character by --out",
        .path.display()
    )]
    Separator {
        /// Which server.
        kind: &'static dyn ServerProduct,
        /// The path.
        path: PathBuf,
        /// The letter.
        separator: char,
    },
    /// The user that the server runs as can't get into its folder, and bakeoff may not give it
    /// mounts of its own.
    #[error(
        "{kind} runs as the user {user}, since bakeoff runs as root; {user} can't get into {}, and \
         this container lets root mount nothing: give it the capability CAP_SYS_ADMIN, or choose \
         another place by --out",
        .folder.display()
    )]
    Unreachable {
        /// Which server.
        kind: &'static dyn ServerProduct,
        /// The user.
        user: String,
        /// The first folder on the way that is closed to it.
        folder: PathBuf,
    },
    /// Something in the server's folder belongs to somebody who has no business there.
    #[error(
        "{0} belongs to the user {owner}, who is neither root nor {user}, the server's: name another \
         folder, or give it to root (chown root {0})",
        .path.display()
    )]
    Owner {
        /// What.
        path: PathBuf,
        /// Whose it is, by number.
        owner: u32,
        /// The user that the server runs as.
        user: String,
    },
    /// A folder of the server's that can't be used; the text names it.
    #[error("the server's folder can't be used: {0}")]
    Folder(io::Error),
    /// A setting that can't be given.
    #[error("{kind}'s setting {name} can't be given: {reason}")]
    Setting {
        /// Which server.
        kind: &'static dyn ServerProduct,
        /// The setting's name.
        name: String,
        /// Why not.
        reason: &'static str,
    },
    /// It does not take its settings, whatever else is the matter.
    #[error("{kind} does not take its settings: {complaint}")]
    Complains {
        /// Which server.
        kind: &'static dyn ServerProduct,
        /// What it said.
        complaint: String,
    },
    /// The data folder could not be initialised.
    #[error(
        "{kind} could not initialise its data folder ({how}){}; it said:\n{log}",
        complaint(*.kind, .log)
    )]
    Initialise {
        /// Which server.
        kind: &'static dyn ServerProduct,
        /// How the program that does it ended.
        how: String,
        /// The last that it said.
        log: String,
    },
    /// The server ended before it answered.
    #[error(
        "{kind} ended while it was starting ({how}){}; the last lines of its log:\n{log}",
        complaint(*.kind, .log)
    )]
    Ended {
        /// Which server.
        kind: &'static dyn ServerProduct,
        /// How it ended.
        how: String,
        /// The last lines of its log.
        log: String,
    },
    /// The server did not answer in time.
    #[error("{kind} did not answer within {seconds} s; the last lines of its log:\n{log}")]
    Slow {
        /// Which server.
        kind: &'static dyn ServerProduct,
        /// How long it had, in seconds.
        seconds: f64,
        /// The last lines of its log.
        log: String,
    },
    /// The server did not stop in time, or not in order.
    #[error("{kind} did not stop in order: {how}; the last lines of its log:\n{log}")]
    Unclean {
        /// Which server.
        kind: &'static dyn ServerProduct,
        /// What happened.
        how: String,
        /// The last lines of its log.
        log: String,
    },
    /// Another server has the folder open.
    #[error(
        "another server still uses {} after {seconds} s: end the run that it belongs to",
        .folder.display()
    )]
    Busy {
        /// The folder.
        folder: PathBuf,
        /// How long it was waited for, in seconds.
        seconds: f64,
    },
    /// The operating system refused something.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the system says.
        source: io::Error,
    },
}

/// The first error among a log's lines, without its date, to be said in a line: `": …"`; nothing
/// where there is none.
fn complaint(kind: &dyn ServerProduct, log: &str) -> String {
    let words = |line: &str| {
        let (_, words) = kind.complaints().iter().find_map(|mark| line.split_once(mark))?;
        Some(format!(": {}", words.trim()))
    };
    log.lines().find_map(words).unwrap_or_default()
}

/// What this crate's calls return.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A folder that can't be used.
    pub(crate) fn folder(error: io::Error) -> Self {
        Self::Folder(error)
    }

    /// Says what was done to which path when the system refused.
    pub(crate) fn at(what: &str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let what = format!("can't {what} {}", path.display());
        move |source| Self::System { what, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_of_a_log_is_said_at_once() {
        let complaint = |log| complaint(&crate::made_up::MADE_UP, log);
        let log = "2026-01-01 [Note] a pool\n2026-01-01 [ERROR] Corruption: half a record\n\
                   2026-01-01 [ERROR] Aborting";
        assert_eq!(complaint(log), ": Corruption: half a record");
        assert_eq!(complaint("2026-01-01 UTC [7] PANIC:  no checkpoint"), ": no checkpoint");
        assert_eq!(complaint("nothing of note"), "");
    }
}
