//! Files and folders that can be trusted: one's own, or root's.
//!
//! Whoever else can write where something is looked for may have put a link, a pipe that nobody
//! writes to or a device there. So everything is opened without following a link or waiting, and
//! looked at by its descriptor, which stays what it is.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, Stat};
use rustix::process::{Uid, getuid};

/// Bits of a mode that let others than the owner write.
pub(crate) const OTHERS_WRITE: u32 = 0o022;

/// Whether something of this user may be believed: it is oneself or root.
pub fn is_trusted(user: u32) -> bool {
    user == 0 || user == getuid().as_raw()
}

/// Opens a folder that is one's own or root's and that no others can write. The last name may be
/// no link.
///
/// # Errors
/// It is something else, is not there, or may not be entered.
pub fn folder(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&opened)?;
    check(&stat).map(|()| opened)
}

/// Opens a regular file in `folder` to be read: one's own or root's, that no others can write.
///
/// # Errors
/// It is something else, such as a link, a pipe or a device; is not there; or may not be read.
pub fn file(folder: impl AsFd, name: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(folder, name, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&opened)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(denied("it is not a regular file"));
    }
    check(&stat).map(|()| opened.into())
}

/// All of a text that has at most `most` bytes.
///
/// # Errors
/// It has more, is no UTF-8, or can't be read.
pub fn text(file: &File, most: u64) -> io::Result<String> {
    let mut text = String::new();
    file.take(most + 1).read_to_string(&mut text)?;
    if text.len() as u64 > most {
        return Err(io::Error::new(
            ErrorKind::InvalidData,
            format!("it has more than {most} bytes"),
        ));
    }
    Ok(text)
}

fn check(stat: &Stat) -> io::Result<()> {
    let owner = Uid::from_raw(stat.st_uid).as_raw();
    if !is_trusted(owner) {
        return Err(denied(&format!("it belongs to user {owner}")));
    }
    if stat.st_mode & OTHERS_WRITE != 0 {
        return Err(denied("others can write it"));
    }
    Ok(())
}

fn denied(why: &str) -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    #[test]
    fn only_what_is_one_s_own_is_opened() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        fs::write(path("good"), "text").unwrap();
        fs::write(path("shared"), "text").unwrap();
        fs::set_permissions(path("shared"), fs::Permissions::from_mode(0o666)).unwrap();
        symlink("good", path("link")).unwrap();
        symlink("/dev/zero", path("zero")).unwrap();
        rustix::fs::mkfifoat(CWD, path("pipe"), Mode::from_raw_mode(0o600)).unwrap();
        fs::create_dir(path("folder")).unwrap();
        symlink("folder", path("another")).unwrap();
        let at = folder(place.path()).unwrap();
        let good = file(&at, Path::new("good")).unwrap();
        assert_eq!(text(&good, 4).unwrap(), "text");
        assert!(text(&file(&at, Path::new("good")).unwrap(), 3).is_err());
        for name in ["shared", "link", "zero", "pipe", "folder", "none"] {
            assert!(file(&at, Path::new(name)).is_err(), "{name}");
        }
        assert!(folder(&path("folder")).is_ok());
        for name in ["another", "good", "none"] {
            assert!(folder(&path(name)).is_err(), "{name}");
        }
        if getuid().is_root() {
            chown(path("good"), Some(65534), None).unwrap();
            chown(path("folder"), Some(65534), None).unwrap();
            assert!(file(&at, Path::new("good")).is_err() && folder(&path("folder")).is_err());
        }
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        assert!(folder(place.path()).is_err(), "others can write it");
    }
}
