//! A folder that is held by its descriptor.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// Each level of nesting takes a descriptor.
const DEEPEST: usize = 900;

/// Its names lead to its own entries, wherever it is moved and whatever takes its place.
#[derive(Debug)]
pub struct Dir {
    descriptor: OwnedFd,
    /// For messages.
    path: PathBuf,
    /// How deep it is below the folder that was opened first.
    depth: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    File,
    Folder,
    Link,
    /// A pipe, a socket or a device.
    Special,
}

#[derive(Clone, Debug)]
pub struct FolderEntry {
    pub name: OsString,
    pub kind: EntryKind,
    pub stat: Stat,
}

impl Dir {
    /// Links on the way are followed, but the folder itself may not be one.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_in(CWD, path, path.to_owned())
    }

    /// A folder whose descriptor may be open for nothing (`O_PATH`), found at `path`.
    pub fn from_descriptor(descriptor: impl AsFd, path: &Path) -> io::Result<Self> {
        Self::open_in(descriptor.as_fd(), Path::new("."), path.to_owned())
    }

    pub fn enter_folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let name = name.as_ref();
        if self.depth >= DEEPEST {
            return Err(self.explain_refusal(name, "is in too many folders"));
        }
        let entered = Self::open_in(self.as_fd(), Path::new(name), self.path.join(name))?;
        Ok(Self { depth: self.depth + 1, ..entered })
    }

    fn open_in(folder: BorrowedFd<'_>, name: &Path, path: PathBuf) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(folder, name, flags, Mode::empty()) {
            Ok(descriptor) => Ok(Self { descriptor, path, depth: 0 }),
            // For a link, O_DIRECTORY says that it is no folder.
            Err(Errno::NOTDIR | Errno::LOOP) => {
                let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
                let what = match found.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
                    Ok(FileType::Symlink) => "is a link, which is not followed",
                    _ => "is not a folder",
                };
                let text = format!("{} {what}", path.display());
                Err(io::Error::new(io::ErrorKind::NotADirectory, text))
            }
            Err(error) => Err(error_at(&path, error)),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn stat_folder(&self) -> io::Result<Stat> {
        rustix::fs::fstat(self).map_err(|error| error_at(&self.path, error))
    }

    /// None of them is followed. What vanishes meanwhile is left out.
    pub fn list_entries(&self) -> io::Result<Vec<FolderEntry>> {
        let failed = |error| error_at(&self.path, error);
        let mut entries = Vec::new();
        for name in rustix::fs::Dir::read_from(self).map_err(failed)? {
            let name = name.map_err(failed)?;
            let name = OsStr::from_bytes(name.file_name().to_bytes());
            if name != "." && name != ".." {
                entries.extend(self.find_entry(name)?);
            }
        }
        Ok(entries)
    }

    pub fn find_entry(&self, name: impl AsRef<OsStr>) -> io::Result<Option<FolderEntry>> {
        let name = name.as_ref();
        match rustix::fs::statat(self, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FolderEntry {
                name: name.to_owned(),
                kind: EntryKind::from_stat(&stat),
                stat,
            })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error_at(&self.path.join(name), error)),
        }
    }

    /// Waits for nobody. Refuses a link, a pipe, a socket or a device.
    pub fn open_for_read(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.open_file(name.as_ref(), OFlags::RDONLY)
    }

    /// Makes the file with mode 0600 if there is none. As [`Dir::open_for_read`], and refuses a file with
    /// other names, which may be anywhere.
    pub fn open_for_append(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let name = name.as_ref();
        let file = self.open_file(name, OFlags::RDWR | OFlags::APPEND | OFlags::CREATE)?;
        let stat =
            rustix::fs::fstat(&file).map_err(|error| error_at(&self.path.join(name), error))?;
        if stat.st_nlink > 1 {
            let what = "has several names, and the others may be anywhere";
            return Err(self.explain_refusal(name, what));
        }
        Ok(file)
    }

    fn open_file(&self, name: &OsStr, flags: OFlags) -> io::Result<File> {
        // Opening a device may already do something to it.
        if self.find_entry(name)?.is_some_and(|entry| entry.kind != EntryKind::File) {
            return Err(self.explain_refusal(name, "is not a file with data"));
        }
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(self, name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|error| error_at(&self.path.join(name), error))?;
        let stat =
            rustix::fs::fstat(&file).map_err(|error| error_at(&self.path.join(name), error))?;
        if EntryKind::from_stat(&stat) != EntryKind::File {
            return Err(self.explain_refusal(name, "is not a file with data"));
        }
        Ok(file.into())
    }

    pub fn explain_refusal(&self, name: impl AsRef<OsStr>, what: &str) -> io::Error {
        let path = self.path.join(name.as_ref());
        io::Error::new(io::ErrorKind::InvalidInput, format!("{} {what}", path.display()))
    }

    pub fn sync(&self) -> io::Result<()> {
        rustix::fs::fsync(self).map_err(|error| error_at(&self.path, error))
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

pub(crate) fn error_at(path: &Path, error: Errno) -> io::Error {
    let error = io::Error::from(error);
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
