//! The user that a server runs as. Servers refuse to be root's, and should not be.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::{Gid, Uid, geteuid};

use crate::{Error, Result};

/// The local users, a line each.
const USERS: &str = "/etc/passwd";

/// Another user than oneself.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Other {
    name: String,
    uid: u32,
    gid: u32,
}

/// The user that a server runs as: oneself, or another one when oneself is root.
#[derive(Clone, Debug)]
pub struct Account(Option<Other>);

impl Account {
    /// The user of that name if this process is root's, or `nobody` where there is none of that
    /// name; oneself otherwise.
    pub fn choose(name: &str) -> Result<Self> {
        if !geteuid().is_root() {
            return Ok(Self(None));
        }
        let users = fs::read_to_string(USERS).map_err(Error::at("read", Path::new(USERS)))?;
        let other = find(&users, name).or_else(|| find(&users, "nobody"));
        match other {
            Some(other) => Ok(Self(Some(other))),
            None => Err(Error::System {
                what: format!("a server can't run as root: add a user {name} or nobody"),
                source: ErrorKind::NotFound.into(),
            }),
        }
    }

    /// The user's name, for messages.
    pub fn name(&self) -> &str {
        self.0.as_ref().map_or("you", |other| &other.name)
    }

    /// The ids to change to, when it is another user than oneself.
    pub fn ids(&self) -> Option<(Uid, Gid)> {
        self.0.as_ref().map(|other| (Uid::from_raw(other.uid), Gid::from_raw(other.gid)))
    }

    /// Gives a file or folder to the user; does not follow a link.
    pub fn give(&self, path: &Path) -> Result<()> {
        let Some(other) = &self.0 else { return Ok(()) };
        let error = || Error::at("give to the server's user:", path);
        let owner = fs::symlink_metadata(path).map_err(error())?.uid();
        if owner != other.uid {
            lchown(path, Some(other.uid), Some(other.gid)).map_err(error())?;
        }
        Ok(())
    }

    /// Gives a folder to the user, with all that is in it: copies have their maker's owner.
    pub fn give_all(&self, folder: &Path) -> Result<()> {
        if self.0.is_none() {
            return Ok(());
        }
        self.give(folder)?;
        let error = || Error::at("read the folder", folder);
        for entry in fs::read_dir(folder).map_err(error())? {
            let entry = entry.map_err(error())?;
            if entry.file_type().map_err(error())?.is_dir() {
                self.give_all(&entry.path())?;
            } else {
                self.give(&entry.path())?;
            }
        }
        Ok(())
    }

    /// Closes a folder to all but its owner.
    pub fn close(&self, folder: &Path) -> Result<()> {
        fs::set_permissions(folder, Permissions::from_mode(0o700))
            .map_err(Error::at("close to others:", folder))
    }

    /// The first folder on the way to this one, or itself, that the user can't get into.
    pub fn barrier(&self, folder: &Path) -> Option<PathBuf> {
        if self.enters(folder) {
            return None;
        }
        let mut way: Vec<_> = folder.ancestors().collect();
        way.reverse();
        way.into_iter().find(|folder| !self.enters(folder)).map(Path::to_path_buf)
    }

    /// Whether the user can get into a folder: only the kernel knows, so a child tries.
    fn enters(&self, folder: &Path) -> bool {
        let Some(other) = &self.0 else { return true };
        let mut attempt = Command::new("true");
        attempt.uid(other.uid).gid(other.gid).current_dir(folder);
        attempt.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        !matches!(attempt.status(), Err(error) if error.kind() == ErrorKind::PermissionDenied)
    }
}

/// The user of that name in the text of `/etc/passwd`.
fn find(users: &str, name: &str) -> Option<Other> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next() != Some(name) {
            return None;
        }
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        Some(Other { name: name.into(), uid, gid })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: &str = "root:x:0:0:root:/root:/bin/bash\n\
                         mysql2:x:7:8::/:/bin/false\n\
                         mysql:x:104:105:MariaDB,,,:/nonexistent:/bin/false\n\
                         broken:x:many\n";

    #[test]
    fn a_user_is_found_by_its_whole_name() {
        let found = find(USERS, "mysql").expect("it is there");
        assert_eq!((found.uid, found.gid), (104, 105));
        assert_eq!(find(USERS, "mysq"), None);
        assert_eq!(find(USERS, "broken"), None);
    }
}
