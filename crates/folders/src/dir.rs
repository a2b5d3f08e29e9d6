//! A folder that is held by its descriptor.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, Stat};
use rustix::io::Errno;

/// Bytes of entries that are read at once.
const BUFFER: usize = 32 << 10;
/// How many folders may be in one another: each takes a descriptor on the way to the next.
const DEEPEST: usize = 900;

/// A folder, held by its descriptor: its names lead to what is in it, wherever it is moved and
/// whatever takes its place.
#[derive(Debug)]
pub struct Dir {
    descriptor: OwnedFd,
    /// Where it was found, for messages.
    path: PathBuf,
    /// How many folders it is in below the one that was opened first.
    depth: usize,
}

/// What something in a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A file with data.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A pipe, a socket or a device.
    Special,
}

/// Something in a folder, as it was when it was looked at.
#[derive(Clone, Debug)]
pub struct FolderEntry {
    /// Its name.
    pub name: OsString,
    /// What it is.
    pub kind: EntryKind,
    /// Owner, mode, size and the like.
    pub stat: Stat,
}

impl Dir {
    /// Opens the folder at the end of a path. Links on the way to it are followed, and it may not
    /// be one itself.
    ///
    /// # Errors
    /// There is no such folder, or it is a link; the message names it.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_in(CWD, path, path.to_owned())
    }

    /// The folder of a descriptor that may be open for nothing; it was found at `path`.
    ///
    /// # Errors
    /// What the system says.
    pub fn from_descriptor(descriptor: impl AsFd, path: &Path) -> io::Result<Self> {
        Self::open_in(descriptor.as_fd(), Path::new("."), path.to_owned())
    }

    /// Opens a folder in this one.
    ///
    /// # Errors
    /// As [`Dir::open`]; or it is in more than 900 folders.
    pub fn enter(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = name.as_ref();
        if self.depth >= DEEPEST {
            return Err(self.refusal(name, "is in too many folders"));
        }
        let entered = Self::open_in(self.as_fd(), Path::new(name), self.path.join(name))?;
        Ok(Self { depth: self.depth + 1, ..entered })
    }

    fn open_in(folder: BorrowedFd<'_>, name: &Path, path: PathBuf) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(folder, name, flags, Mode::empty()) {
            Ok(descriptor) => Ok(Self { descriptor, path, depth: 0 }),
            // Of a link, O_DIRECTORY says that it is no folder.
            Err(Errno::NOTDIR | Errno::LOOP) => {
                let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
                let what = match found.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
                    Ok(FileType::Symlink) => "is a link, which is not followed",
                    _ => "is not a folder",
                };
                let text = format!("{} {what}", path.display());
                Err(io::Error::new(io::ErrorKind::NotADirectory, text))
            }
            Err(error) => Err(at(&path, error)),
        }
    }

    /// Where it was found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the file system says of it.
    ///
    /// # Errors
    /// What the system says.
    pub fn stat(&self) -> io::Result<Stat> {
        rustix::fs::fstat(self).map_err(|error| at(&self.path, error))
    }

    /// What is in it, each looked at without following it. What vanishes meanwhile is left out.
    ///
    /// # Errors
    /// It can't be read.
    pub fn entries(&self) -> io::Result<Vec<FolderEntry>> {
        let failed = |error| at(&self.path, error);
        // A place in the folder of its own, so that it can be listed again.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let listing = rustix::fs::openat(self, c".", flags, Mode::empty()).map_err(failed)?;
        let mut buffer = Vec::with_capacity(BUFFER);
        let mut names = RawDir::new(listing, buffer.spare_capacity_mut());
        let mut entries = Vec::new();
        while let Some(name) = names.next() {
            let name = name.map_err(failed)?;
            let name = OsStr::from_bytes(name.file_name().to_bytes());
            if name != "." && name != ".." {
                entries.extend(self.look(name)?);
            }
        }
        Ok(entries)
    }

    /// What has this name in it; `None` where nothing has.
    ///
    /// # Errors
    /// What the system says.
    pub fn look(&self, name: impl AsRef<OsStr>) -> io::Result<Option<FolderEntry>> {
        let name = name.as_ref();
        match rustix::fs::statat(self, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FolderEntry {
                name: name.to_owned(),
                kind: EntryKind::from_stat(&stat),
                stat,
            })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(at(&self.path.join(name), error)),
        }
    }

    /// Opens a file with data in it, to be read. Waits for nobody.
    ///
    /// # Errors
    /// There is none of that name, or it is a link, a pipe, a socket or a device.
    pub fn read(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.open_file(name.as_ref(), OFlags::RDONLY)
    }

    /// Opens a file with data in it, to be read and appended to; it is made, with mode 0600, where
    /// there is none. Waits for nobody.
    ///
    /// # Errors
    /// As [`Dir::read`]; or it has other names, too, which may be anywhere.
    pub fn append(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let name = name.as_ref();
        let file = self.open_file(name, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE)?;
        let stat = rustix::fs::fstat(&file).map_err(|error| at(&self.path.join(name), error))?;
        if stat.st_nlink > 1 {
            let what = "has several names, and the others may be anywhere";
            return Err(self.refusal(name, what));
        }
        Ok(file)
    }

    fn open_file(&self, name: &OsStr, flags: OFlags) -> io::Result<File> {
        // A device is not even opened, where it is not swapped in this very moment.
        if self.look(name)?.is_some_and(|entry| entry.kind != EntryKind::File) {
            return Err(self.refusal(name, "is not a file with data"));
        }
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(self, name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|error| at(&self.path.join(name), error))?;
        let stat = rustix::fs::fstat(&file).map_err(|error| at(&self.path.join(name), error))?;
        if EntryKind::from_stat(&stat) != EntryKind::File {
            return Err(self.refusal(name, "is not a file with data"));
        }
        Ok(file.into())
    }

    /// Says what is wrong with something in it.
    pub fn refusal(&self, name: impl AsRef<OsStr>, what: &str) -> io::Error {
        let path = self.path.join(name.as_ref());
        io::Error::new(io::ErrorKind::InvalidInput, format!("{} {what}", path.display()))
    }

    /// Syncs its entries.
    ///
    /// # Errors
    /// What the system says.
    pub fn sync(&self) -> io::Result<()> {
        rustix::fs::fsync(self).map_err(|error| at(&self.path, error))
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl EntryKind {
    fn from_stat(stat: &Stat) -> Self {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            _ => Self::Special,
        }
    }
}

/// The system's error, with the path that it is about.
pub(crate) fn at(path: &Path, error: Errno) -> io::Error {
    let error = io::Error::from(error);
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
