//! Checks who owns a folder and who else can change its entries: a process that writes there as
//! root could be led elsewhere by another user's links.

mod error;
#[cfg(test)]
mod tests;
mod walk;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, Stat};
use rustix::io::Errno;

pub use error::Error;

pub type Result<T> = std::result::Result<T, Error>;

/// The users whom this process trusts: itself and root.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User(u32);

/// A folder that nobody else decides over, held open. It and all folders above it belong to this
/// user or root, and nobody else can replace any of them: its path may be used, too.
#[derive(Debug)]
pub struct TrustedFolder {
    handle: OwnedFd,
    path: PathBuf,
    made: bool,
}

/// Opens a folder that is this user's or root's alone, whatever links lead to it.
pub fn folder(path: &Path) -> Result<TrustedFolder> {
    walk::walk_to(path, false)?.require_sole_writer()
}

/// As [`folder`], and makes it and those above it if they are missing.
pub fn make(path: &Path) -> Result<TrustedFolder> {
    walk::walk_to(path, true)?.require_sole_writer()
}

/// Opens a folder that a file of this user is safe in: as [`folder`], or one as `/tmp`, where
/// everybody may write and nobody can touch another's files.
pub fn holder(path: &Path) -> Result<TrustedFolder> {
    walk::walk_to(path, false)
}

/// This process's own user, and root.
pub fn is_trusted(owner: u32) -> bool {
    User::current().trusts_owner(owner)
}

impl TrustedFolder {
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn was_made(&self) -> bool {
        self.made
    }

    /// A lock on it holds until all copies are gone.
    pub fn try_clone(&self) -> Result<Self> {
        let handle =
            self.handle.try_clone().map_err(|error| Error::from_system(&self.path, error))?;
        Ok(Self { handle, path: self.path.clone(), made: self.made })
    }

    /// Makes the folder if it is missing. A link is refused, whosever it is.
    pub fn make_below(&self, name: impl AsRef<Path>) -> Result<Self> {
        let path = self.path.join(name);
        let failed = |error: Errno| Error::from_system(&path, error);
        let (_, made) = walk::look_or_make(&path, true).map_err(failed)?;
        let handle = open_folder(&path).map_err(failed)?;
        User::current().check_entry(&path, &rustix::fs::fstat(&handle).map_err(failed)?)?;
        Self { handle, path, made }.require_sole_writer()
    }

    /// A file of this user or root that nobody else can write, and no link; `None` if nothing is
    /// there.
    pub fn open_file(&self, name: impl AsRef<Path>) -> Result<Option<OwnedFd>> {
        let path = self.path.join(&name);
        // What can't be read at once, as a pipe without a writer, is refused below.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.handle, name.as_ref(), flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(Error::NoFile { path }),
            Err(error) => return Err(Error::from_system(&path, error)),
        };
        let stat = rustix::fs::fstat(&file).map_err(|error| Error::from_system(&path, error))?;
        if !walk::is_kind(&stat, rustix::fs::FileType::RegularFile) {
            return Err(Error::NoFile { path });
        }
        let user = User::current();
        if !user.trusts_owner(stat.st_uid) {
            return Err(Error::owned_by_other(&path, stat.st_uid));
        }
        user.check_alone(&path, &stat)?;
        Ok(Some(file))
    }

    /// Fails if others may make entries in it, even if they can't touch this user's.
    fn require_sole_writer(self) -> Result<Self> {
        let stat = rustix::fs::fstat(&self.handle)
            .map_err(|error| Error::from_system(&self.path, error))?;
        User::current().check_alone(&self.path, &stat)?;
        Ok(self)
    }
}

impl AsFd for TrustedFolder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// Only its owner writes in it, whatever an access list above it would give others.
const NEW: Mode = Mode::from_raw_mode(0o755);

/// The last name may be no link.
fn open_folder(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
}

impl User {
    fn current() -> Self {
        Self(rustix::process::geteuid().as_raw())
    }

    fn trusts_owner(self, owner: u32) -> bool {
        owner == 0 || owner == self.0
    }

    /// The mode bits by which others write. With an access list, the group's bits are the upper
    /// bound for everybody on it. Rights of an ordinary user's own group are left to that user.
    fn write_bits_of_others(self) -> u32 {
        if self.0 == 0 { 0o022 } else { 0o002 }
    }

    fn chmod_letters(self) -> &'static str {
        if self.0 == 0 { "go" } else { "o" }
    }

    /// Whether an entry of this user is safe in the folder.
    fn check_entry(self, path: &Path, stat: &Stat) -> Result<()> {
        const STICKY: u32 = 0o1000;
        if !self.trusts_owner(stat.st_uid) {
            return Err(Error::owned_by_other(path, stat.st_uid));
        }
        if stat.st_mode & STICKY == 0 { self.check_alone(path, stat) } else { Ok(()) }
    }

    fn check_alone(self, path: &Path, stat: &Stat) -> Result<()> {
        if stat.st_mode & self.write_bits_of_others() == 0 {
            return Ok(());
        }
        let path = path.to_owned();
        Err(Error::Open { path, mode: stat.st_mode & 0o7777, bits: self.chmod_letters() })
    }
}
