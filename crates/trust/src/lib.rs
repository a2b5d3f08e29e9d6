//! Whose a folder is, and who else decides what is in it: whoever writes there as root would write
//! where somebody else's links lead.
//!
//! It must never know what is kept in a folder, a run or an engine.

mod error;
#[cfg(test)]
mod tests;
mod walk;

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, Stat};
use rustix::io::Errno;

pub use error::Error;

/// The result of asking for a folder.
pub type Result<T> = std::result::Result<T, Error>;

/// Whom this process trusts: itself and root.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User(u32);

/// A folder that nobody else decides over, held open.
///
/// It and all folders above it belong to this process's user or to root, and nobody else can put
/// something in the place of any of them. Its path may therefore be used, too.
#[derive(Debug)]
pub struct TrustedFolder {
    handle: OwnedFd,
    path: PathBuf,
    made: bool,
}

/// Opens a folder that is this user's or root's alone, whatever links lead to it.
///
/// # Errors
/// Somebody else decides over it or over one above it; or it can't be opened.
pub fn folder(path: &Path) -> Result<TrustedFolder> {
    walk::to(path, false)?.alone()
}

/// As [`folder`]; it is made where it is not there, with those above it.
///
/// # Errors
/// As [`folder`].
pub fn make(path: &Path) -> Result<TrustedFolder> {
    walk::to(path, true)?.alone()
}

/// Opens a folder that a file of this user's is safe in: as [`folder`], or one where everybody may
/// write and nobody can touch what is another's, as `/tmp`.
///
/// # Errors
/// As [`folder`].
pub fn holder(path: &Path) -> Result<TrustedFolder> {
    walk::to(path, false)
}

/// Whether a user's links and files may be relied on: this process's own, and root's.
pub fn is_trusted(owner: u32) -> bool {
    User::own().trusts(owner)
}

impl TrustedFolder {
    /// Its path, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it was not there before.
    pub fn was_made(&self) -> bool {
        self.made
    }

    /// The same, held once more: a lock on it holds until all of them are gone.
    ///
    /// # Errors
    /// When this process has no descriptor left.
    pub fn again(&self) -> Result<Self> {
        let handle = self.handle.try_clone().map_err(|error| Error::system(&self.path, error))?;
        Ok(Self { handle, path: self.path.clone(), made: self.made })
    }

    /// A folder in it, made where it is not there. A link is not followed, whosever it is.
    ///
    /// # Errors
    /// A link or a file is there, or a folder that others decide over; or it can't be made.
    pub fn below(&self, name: impl AsRef<OsStr>) -> Result<Self> {
        let name = name.as_ref();
        let path = self.path.join(name);
        let failed = |error: Errno| Error::system(&path, error);
        let made = match rustix::fs::mkdirat(&self.handle, name, NEW) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return Err(failed(error)),
        };
        let handle = open_folder(&self.handle, name).map_err(failed)?;
        User::own().check(&path, &rustix::fs::fstat(&handle).map_err(failed)?)?;
        Self { handle, path, made }.alone()
    }

    /// What belongs in it under a name: a file of this user's or of root's that nobody else can
    /// write, and no link. `None` where there is nothing.
    ///
    /// # Errors
    /// Something else is there.
    pub fn file(&self, name: &str) -> Result<Option<OwnedFd>> {
        let path = self.path.join(name);
        // One that can't be read at once, as a pipe without a writer, is refused below.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&self.handle, name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(Error::NoFile { path }),
            Err(error) => return Err(Error::system(&path, error)),
        };
        let stat = rustix::fs::fstat(&file).map_err(|error| Error::system(&path, error))?;
        if !walk::is(&stat, rustix::fs::FileType::RegularFile) {
            return Err(Error::NoFile { path });
        }
        let user = User::own();
        if !user.trusts(stat.st_uid) {
            return Err(Error::foreign(&path, stat.st_uid));
        }
        if stat.st_mode & user.others() != 0 {
            return Err(Error::Open { path, mode: stat.st_mode & 0o7777, bits: user.bits() });
        }
        Ok(Some(file))
    }

    /// Fails where others may make entries in it, even if they can't touch this user's.
    fn alone(self) -> Result<Self> {
        let stat =
            rustix::fs::fstat(&self.handle).map_err(|error| Error::system(&self.path, error))?;
        User::own().check_alone(&self.path, &stat)?;
        Ok(self)
    }
}

impl AsFd for TrustedFolder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

/// The mode of a new folder: nobody but its owner writes in it, whatever a list of access above it
/// would give others.
const NEW: Mode = Mode::from_raw_mode(0o755);

/// Opens the folder of that name, to be read and locked; no link is followed.
fn open_folder(at: impl AsFd, name: impl AsRef<OsStr>) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name.as_ref(), flags, Mode::empty())
}

impl User {
    fn own() -> Self {
        Self(rustix::process::geteuid().as_raw())
    }

    fn trusts(self, owner: u32) -> bool {
        owner == 0 || owner == self.0
    }

    /// The bits of a mode by which others write. Where there is a list of access, those of the group
    /// are the most that anybody on it may do. What an ordinary user's own group may do is left to
    /// that user.
    fn others(self) -> u32 {
        if self.0 == 0 { 0o022 } else { 0o002 }
    }

    /// How `chmod` calls them.
    fn bits(self) -> &'static str {
        if self.0 == 0 { "go" } else { "o" }
    }

    /// Whether an entry of this user's is safe in a folder.
    fn check(self, path: &Path, stat: &Stat) -> Result<()> {
        const STICKY: u32 = 0o1000;
        if !self.trusts(stat.st_uid) {
            return Err(Error::foreign(path, stat.st_uid));
        }
        if stat.st_mode & STICKY == 0 { self.check_alone(path, stat) } else { Ok(()) }
    }

    fn check_alone(self, path: &Path, stat: &Stat) -> Result<()> {
        if stat.st_mode & self.others() == 0 {
            return Ok(());
        }
        let path = path.to_owned();
        Err(Error::Open { path, mode: stat.st_mode & 0o7777, bits: self.bits() })
    }
}
