//! The way to a folder, one name after the other, each held open before the next is looked at: what
//! is checked is what is used.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::{Error, NEW, Result, TrustedFolder, User, open_folder};

/// As many links are followed as the kernel follows.
const MOST_LINKS: u32 = 40;

/// A step of the way.
enum PathStep {
    Root,
    Up,
    Down(OsString),
}

/// Goes to a folder, making what is not there if it is to; each on the way, and each that a link on
/// the way lies in, holds its entries safe.
pub fn to(path: &Path, make: bool) -> Result<TrustedFolder> {
    let failed = |error: std::io::Error| Error::system(path, error);
    let mut left = steps(&std::path::absolute(path).map_err(failed)?);
    let (user, mut links) = (User::own(), 0);
    let mut at = root(user)?;
    while let Some(step) = left.pop() {
        let name = match step {
            PathStep::Root => {
                at = root(user)?;
                continue;
            }
            PathStep::Up => {
                at = up(at)?;
                continue;
            }
            PathStep::Down(name) => name,
        };
        let next = at.path.join(&name);
        let failed = |error: Errno| Error::system(&next, error);
        let (entry, made) = enter(&at.handle, &name, make).map_err(failed)?;
        let stat = rustix::fs::fstat(&entry).map_err(failed)?;
        if is(&stat, FileType::Symlink) {
            if !user.trusts(stat.st_uid) {
                return Err(Error::Link { path: next, owner: stat.st_uid });
            }
            links += 1;
            if links > MOST_LINKS {
                return Err(failed(Errno::LOOP));
            }
            let target = rustix::fs::readlinkat(&entry, "", Vec::new()).map_err(failed)?;
            left.extend(steps(&PathBuf::from(OsString::from_vec(target.into_bytes()))));
            continue;
        }
        if !is(&stat, FileType::Directory) {
            return Err(failed(Errno::NOTDIR));
        }
        user.check(&next, &stat)?;
        at = TrustedFolder { handle: entry, path: next, made };
    }
    // So far it is only a name; now it can be read and locked.
    at.handle = open_folder(&at.handle, ".").map_err(|error| Error::system(&at.path, error))?;
    Ok(at)
}

/// The steps of a path, the last one first.
fn steps(path: &Path) -> Vec<PathStep> {
    let step = |component: Component<'_>| match component {
        Component::RootDir => Some(PathStep::Root),
        Component::ParentDir => Some(PathStep::Up),
        Component::Normal(name) => Some(PathStep::Down(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    };
    let mut steps: Vec<PathStep> = path.components().filter_map(step).collect();
    steps.reverse();
    steps
}

fn root(user: User) -> Result<TrustedFolder> {
    let path = PathBuf::from("/");
    let opened = name_only(CWD, "/".as_ref());
    let handle = opened.map_err(|error| Error::system(&path, error))?;
    let stat = rustix::fs::fstat(&handle).map_err(|error| Error::system(&path, error))?;
    user.check(&path, &stat)?;
    Ok(TrustedFolder { handle, path, made: false })
}

/// The folder above, which was passed on the way down: the path has no links.
fn up(at: TrustedFolder) -> Result<TrustedFolder> {
    let handle = name_only(&at.handle, "..".as_ref());
    let handle = handle.map_err(|error| Error::system(&at.path, error))?;
    let path = at.path.parent().unwrap_or(&at.path).to_owned();
    Ok(TrustedFolder { handle, path, made: false })
}

/// The entry of a name, and whether it was made.
fn enter(at: &OwnedFd, name: &OsString, make: bool) -> rustix::io::Result<(OwnedFd, bool)> {
    match name_only(at, name) {
        Err(Errno::NOENT) if make => {}
        entry => return entry.map(|entry| (entry, false)),
    }
    let made = match rustix::fs::mkdirat(at, name, NEW) {
        Ok(()) => true,
        // Somebody else was faster; whose it is is looked at like any other's.
        Err(Errno::EXIST) => false,
        Err(error) => return Err(error),
    };
    Ok((name_only(at, name)?, made))
}

/// Holds what is there under a name, a link itself too, without opening it.
fn name_only(at: impl std::os::fd::AsFd, name: &std::ffi::OsStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty())
}

/// Whether something is of that type.
pub fn is(stat: &Stat, kind: FileType) -> bool {
    FileType::from_raw_mode(stat.st_mode) == kind
}
