//! The user that a server runs as. Servers refuse to be root's, and should not be.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bakeoff_folders::{Dir, EntryKind, FolderEntry};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
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
pub struct ServerAccount(Option<Other>);

impl ServerAccount {
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

    /// Keeps a folder for oneself when the server runs as another user: that one may go through it,
    /// and nobody else may change what is in it.
    pub fn keep(&self, folder: &Dir) -> Result<()> {
        if self.0.is_none() {
            return Ok(());
        }
        self.check_owner(folder.path(), folder.stat().map_err(Error::folder)?.st_uid, &[0])?;
        change_mode(folder, 0o711)
    }

    /// Gives a folder to the user, closed to all others. One that is still root's is given with all
    /// that is in it: copies have their maker's owner. In one that is the user's already root changes
    /// nothing, since the user could have put anything there.
    pub fn give(&self, folder: &Dir) -> Result<()> {
        let Some(other) = &self.0 else { return change_mode(folder, 0o700) };
        let owner = folder.stat().map_err(Error::folder)?.st_uid;
        self.check_owner(folder.path(), owner, &[0, other.uid])?;
        // From here on nobody else gets in.
        change_mode(folder, 0o700)?;
        if owner == other.uid {
            return Ok(());
        }
        let given = folder.walk(&mut |folder, entry| self.give_one(other, folder, entry));
        given.map_err(Error::folder)?;
        let (uid, gid) = (Uid::from_raw(other.uid), Gid::from_raw(other.gid));
        rustix::fs::fchown(folder, Some(uid), Some(gid))
            .map_err(|error| Error::at("give to the server's user:", folder.path())(error.into()))
    }

    /// Gives one thing in a folder, by a descriptor: it is what was looked at, whatever has its name
    /// by now.
    fn give_one(&self, other: &Other, folder: &Dir, entry: &FolderEntry) -> io::Result<()> {
        if entry.kind == EntryKind::Link {
            return Ok(());
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let it = rustix::fs::openat(folder, &entry.name, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&it)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {}
            FileType::RegularFile if stat.st_uid == other.uid || stat.st_nlink == 1 => {}
            FileType::RegularFile => {
                let what = "has several names, and the others may be anywhere: make a copy of it";
                return Err(folder.refusal(&entry.name, what));
            }
            _ => {
                return Err(folder.refusal(&entry.name, "is neither a file with data nor a folder"));
            }
        }
        let path = folder.path().join(&entry.name);
        self.check_owner(&path, stat.st_uid, &[0, other.uid]).map_err(io::Error::other)?;
        let (uid, gid) = (Uid::from_raw(other.uid), Gid::from_raw(other.gid));
        Ok(rustix::fs::chownat(&it, "", Some(uid), Some(gid), AtFlags::EMPTY_PATH)?)
    }

    fn check_owner(&self, path: &Path, owner: u32, may: &[u32]) -> Result<()> {
        if may.contains(&owner) {
            return Ok(());
        }
        Err(Error::Owner { path: path.into(), owner, user: self.name().into() })
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

fn change_mode(folder: &Dir, mode: u32) -> Result<()> {
    // One that is right already is no change that a disk would have to keep.
    if folder.stat().map_err(Error::folder)?.st_mode & 0o7777 == mode {
        return Ok(());
    }
    rustix::fs::fchmod(folder, Mode::from_raw_mode(mode))
        .map_err(|error| Error::at("close to others:", folder.path())(error.into()))
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
    use std::os::unix::fs::{MetadataExt, symlink};
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

    use bakeoff_testkit::needs_root;

    use super::*;

    /// How often a folder is given away while it is swapped so often.
    const GIVEN: u64 = 10_000;

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

    /// Somebody who is still at work in what root gives away swaps a folder with a link.
    #[test]
    fn what_is_swapped_while_it_is_given_leads_nowhere_else() {
        if !needs_root("give something away") {
            return;
        }
        let place = tempfile::tempdir().expect("a folder");
        let (folder, outside) = (place.path().join("data"), place.path().join("outside"));
        fs::create_dir_all(folder.join("swapped")).expect("a folder");
        fs::create_dir(&outside).expect("a folder");
        for file in [outside.join("file"), folder.join("swapped/file")] {
            fs::write(file, "root's").expect("room");
        }
        symlink(&outside, folder.join("other")).expect("a link");
        let account = ServerAccount(Some(Other { name: "somebody".into(), uid: 4711, gid: 4711 }));
        let (stop, swaps) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            let swapper = scope.spawn(|| {
                let (one, other) = (folder.join("swapped"), folder.join("other"));
                let (cwd, exchange) = (rustix::fs::CWD, rustix::fs::RenameFlags::EXCHANGE);
                while !stop.load(Relaxed) {
                    rustix::fs::renameat_with(cwd, &one, cwd, &other, exchange).expect("both");
                    swaps.fetch_add(1, Relaxed);
                }
            });
            let (mut tried, mut given) = (0, 0);
            let enough = |tried, given| tried >= GIVEN && given > 0 && swaps.load(Relaxed) >= GIVEN;
            while !swapper.is_finished() && !enough(tried, given) {
                tried += 1;
                let dir = Dir::open(&folder).expect("a folder");
                given += u64::from(account.give(&dir).is_ok());
                rustix::fs::fchown(&dir, Some(Uid::ROOT), Some(Gid::ROOT)).expect("root may");
                let owner = |path: &Path| fs::metadata(path).expect("it is there").uid();
                if (owner(&outside), owner(&outside.join("file"))) != (0, 0) {
                    stop.store(true, Relaxed);
                    panic!("root's own was given away");
                }
            }
            stop.store(true, Relaxed);
        });
    }
}
