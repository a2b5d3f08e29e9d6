//! What is said of a folder that others decide over.

use std::io;
use std::path::{Path, PathBuf};

/// Why a folder or file is not used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It belongs to somebody else.
    #[error(
        "{path} belongs to {}, who decides what is in it; take another folder, work as that user, \
         or take it over: chown {} {path}",
        name(*owner), name(*user), path = path.display()
    )]
    Foreign {
        /// The folder or file.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Who this is.
        user: u32,
    },
    /// Others may write it.
    #[error(
        "{path} can be written by others than its owner (mode {mode:04o}), who decide what is in \
         it; take another folder, or close it to them: chmod {bits}-w {path}",
        path = path.display()
    )]
    Open {
        /// The folder or file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
        /// Whose right to write is to go, as `chmod` calls them.
        bits: &'static str,
    },
    /// A link of somebody else's leads there.
    #[error(
        "{} is a link that belongs to {}, who decides where it leads; name the place itself",
        path.display(), name(*owner)
    )]
    Link {
        /// The link.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// A file is wanted, and something else is there.
    #[error("{path} is not a file of its own: look where it comes from, and remove it: rm {path}",
        path = path.display())]
    NoFile {
        /// What is there.
        path: PathBuf,
    },
    /// Whatever else the system says.
    #[error("{}: {source}", path.display())]
    System {
        /// What was to be opened or made.
        path: PathBuf,
        /// What it says.
        source: io::Error,
    },
}

impl Error {
    /// Something at `path` belongs to somebody who is not trusted.
    pub fn foreign(path: &Path, owner: u32) -> Self {
        let user = rustix::process::geteuid().as_raw();
        Self::Foreign { path: path.to_owned(), owner, user }
    }

    pub(crate) fn system(path: &Path, error: impl Into<io::Error>) -> Self {
        Self::System { path: path.to_owned(), source: error.into() }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::System { source, .. } => source.kind(),
            _ => io::ErrorKind::PermissionDenied,
        };
        Self::new(kind, error.to_string())
    }
}

/// A user as others call it: by the name where this machine knows one.
fn name(user: u32) -> String {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let found = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(user)).then(|| name.to_owned())
    });
    // What is taken for a name must not be read as something else.
    let plain = |name: &String| {
        name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
    };
    found.filter(plain).unwrap_or_else(|| format!("user {user}"))
}
