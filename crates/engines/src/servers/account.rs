//! The user that a server runs as. Servers refuse to run as root, and should not.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bakeoff_folders::{Dir, EntryKind, FolderEntry};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::process::{Gid, Uid, geteuid};

use crate::servers::{Error, Result};

const USERS: &str = "/etc/passwd";

#[derive(Clone, Debug, PartialEq, Eq)]
struct Other {
    name: String,
    uid: u32,
    gid: u32,
}

#[derive(Clone, Debug)]
pub struct ServerAccount(Option<Other>);

impl ServerAccount {
    /// For root: the user of that name, else `nobody`. Otherwise this process's user.
    pub fn choose_user(name: &str) -> Result<Self> {
        if !geteuid().is_root() {
            return Ok(Self(None));
        }
        let users = fs::read_to_string(USERS).map_err(Error::at_path("read", Path::new(USERS)))?;
        let other = find_user(&users, name).or_else(|| find_user(&users, "nobody"));
        match other {
            Some(other) => Ok(Self(Some(other))),
            None => Err(Error::System {
                what: format!("a server can't run as root: add a user {name} or nobody"),
                source: ErrorKind::NotFound.into(),
            }),
        }
    }

    pub fn name(&self) -> &str {
        self.0.as_ref().map_or("you", |other| &other.name)
    }

    /// `None`: the server runs as this process's user.
    pub fn ids(&self) -> Option<(Uid, Gid)> {
        self.0.as_ref().map(|other| (Uid::from_raw(other.uid), Gid::from_raw(other.gid)))
    }

    /// Keeps a folder closed to changes by others; a server that runs as another user may pass
    /// through it.
    pub fn keep(&self, folder: &Dir) -> Result<()> {
        if self.0.is_none() {
            return Ok(());
        }
        self.check_owner(
            folder.path(),
            folder.stat_folder().map_err(Error::from_folder)?.st_uid,
            &[0],
        )?;
        change_mode(folder, 0o711)
    }

    /// Gives a folder to the user, closed to all others. A folder of root is given with all that is
    /// in it: copies belong to who made them. In a folder that is the user's already root changes
    /// nothing: the user could have put anything there.
    pub fn give(&self, folder: &Dir) -> Result<()> {
        let Some(other) = &self.0 else { return change_mode(folder, 0o700) };
        let owner = folder.stat_folder().map_err(Error::from_folder)?.st_uid;
        self.check_owner(folder.path(), owner, &[0, other.uid])?;
        change_mode(folder, 0o700)?;
        if owner == other.uid {
            return Ok(());
        }
        let given = folder.walk_entries(&mut |folder, entry| self.give_one(other, folder, entry));
        given.map_err(Error::from_folder)?;
        let (uid, gid) = (Uid::from_raw(other.uid), Gid::from_raw(other.gid));
        rustix::fs::fchown(folder, Some(uid), Some(gid)).map_err(|error| {
            Error::at_path("give to the server's user:", folder.path())(error.into())
        })
    }

    /// By a descriptor: it is what was looked at, even if its name means something else by now.
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
                return Err(folder.explain_refusal(&entry.name, what));
            }
            _ => {
                return Err(
                    folder.explain_refusal(&entry.name, "is neither a file with data nor a folder")
                );
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

    pub fn find_barrier(&self, folder: &Path) -> Option<PathBuf> {
        if self.can_enter(folder) {
            return None;
        }
        let mut way: Vec<_> = folder.ancestors().collect();
        way.reverse();
        way.into_iter().find(|folder| !self.can_enter(folder)).map(Path::to_path_buf)
    }

    fn can_enter(&self, folder: &Path) -> bool {
        let Some(other) = &self.0 else { return true };
        let mut attempt = Command::new("true");
        attempt.uid(other.uid).gid(other.gid).current_dir(folder);
        attempt.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        !matches!(attempt.status(), Err(error) if error.kind() == ErrorKind::PermissionDenied)
    }
}

fn change_mode(folder: &Dir, mode: u32) -> Result<()> {
    if folder.stat_folder().map_err(Error::from_folder)?.st_mode & 0o7777 == mode {
        return Ok(());
    }
    rustix::fs::fchmod(folder, Mode::from_raw_mode(mode))
        .map_err(|error| Error::at_path("close to others:", folder.path())(error.into()))
}

fn find_user(users: &str, name: &str) -> Option<Other> {
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
        let found = find_user(USERS, "mysql").expect("it is there");
        assert_eq!((found.uid, found.gid), (104, 105));
        assert_eq!(find_user(USERS, "mysq"), None);
        assert_eq!(find_user(USERS, "broken"), None);
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
