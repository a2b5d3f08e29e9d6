//! Walks to a folder, one name after the other from the root on. A checked folder can be replaced
//! only by trusted users, so its path may be used for the next step.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use super::{Error, NEW, Result, TrustedFolder, User, open_folder};

/// The kernel follows as many.
const MOST_LINKS: u32 = 40;

/// Makes what is missing if asked to. Each folder on the way, and each that holds a link on the
/// way, keeps its entries safe.
pub fn walk_to(path: &Path, make: bool) -> Result<TrustedFolder> {
    let absolute = std::path::absolute(path).map_err(|error| Error::from_system(path, error))?;
    let mut left = split_steps(&absolute);
    let (user, mut links) = (User::current(), 0);
    let (mut at, mut made) = (PathBuf::new(), false);
    while let Some(name) = left.pop() {
        if name == ".." {
            // It was passed on the way down: the path has no links.
            at.pop();
            made = false;
            continue;
        }
        let next = at.join(name);
        let failed = |error: Errno| Error::from_system(&next, error);
        let stat;
        (stat, made) = look_or_make(&next, make).map_err(failed)?;
        if is_kind(&stat, FileType::Symlink) {
            if !user.trusts_owner(stat.st_uid) {
                return Err(Error::Link { path: next, owner: stat.st_uid });
            }
            links += 1;
            if links > MOST_LINKS {
                return Err(failed(Errno::LOOP));
            }
            left.extend(split_steps(
                &next.read_link().map_err(|error| Error::from_system(&next, error))?,
            ));
            continue;
        }
        if !is_kind(&stat, FileType::Directory) {
            return Err(failed(Errno::NOTDIR));
        }
        user.check_entry(&next, &stat)?;
        at = next;
    }
    let handle = open_folder(&at).map_err(|error| Error::from_system(&at, error))?;
    Ok(TrustedFolder { handle, path: at, made })
}

/// The last one first; `/` is one, too.
fn split_steps(path: &Path) -> Vec<OsString> {
    let names = path.components().filter(|step| *step != Component::CurDir);
    names.rev().map(|step| step.as_os_str().to_owned()).collect()
}

/// Also returns whether it was made.
pub fn look_or_make(path: &Path, make: bool) -> rustix::io::Result<(Stat, bool)> {
    let made = match rustix::fs::lstat(path) {
        Err(Errno::NOENT) if make => match rustix::fs::mkdir(path, NEW) {
            Ok(()) => true,
            // Somebody was faster; its owner is checked like any other's.
            Err(Errno::EXIST) => false,
            Err(error) => return Err(error),
        },
        found => return found.map(|stat| (stat, false)),
    };
    Ok((rustix::fs::lstat(path)?, made))
}

pub fn is_kind(stat: &Stat, kind: FileType) -> bool {
    FileType::from_raw_mode(stat.st_mode) == kind
}
