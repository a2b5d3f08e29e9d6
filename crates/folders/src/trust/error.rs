//! Errors about a folder that others can change.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "{path} belongs to {}, who decides what is in it; take another folder, work as that user, \
         or take it over: chown {} {path}",
        user_name(*owner), user_name(*user), path = path.display()
    )]
    Foreign { path: PathBuf, owner: u32, user: u32 },
    #[error(
        "{path} can be written by others than its owner (mode {mode:04o}), who decide what is in \
         it; take another folder, or close it to them: chmod {bits}-w {path}",
        path = path.display()
    )]
    Open {
        path: PathBuf,
        mode: u32,
        /// The users whose right to write must go, as `chmod` names them.
        bits: &'static str,
    },
    #[error(
        "{} is a link that belongs to {}, who decides where it leads; name the place itself",
        path.display(), user_name(*owner)
    )]
    Link { path: PathBuf, owner: u32 },
    #[error("{path} is not a file of its own: look where it comes from, and remove it: rm {path}",
        path = path.display())]
    NoFile { path: PathBuf },
    #[error("{}: {source}", path.display())]
    System { path: PathBuf, source: io::Error },
}

impl Error {
    pub fn owned_by_other(path: &Path, owner: u32) -> Self {
        let user = rustix::process::geteuid().as_raw();
        Self::Foreign { path: path.to_owned(), owner, user }
    }

    pub(crate) fn from_system(path: &Path, error: impl Into<io::Error>) -> Self {
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

/// Returns the name if this machine knows one.
fn user_name(user: u32) -> String {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let found = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(user)).then(|| name.to_owned())
    });
    // A name must not be read as something else.
    let plain = |name: &String| {
        name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
    };
    found.filter(plain).unwrap_or_else(|| format!("user {user}"))
}
