//! Attributes: of files, of the whole file system, and those that applications add themselves.

use std::ffi::OsStr;

use rustix::fs::{AtFlags, FileType, Gid, Mode, Stat, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::Errno;

use super::durable::attributes;
use super::{InodeNumber, Volume, path_of};

/// A time that is set.
#[derive(Clone, Copy, Debug)]
pub enum FileTime {
    /// The present.
    Now,
    /// Seconds since 1970, and nanoseconds of the second that began then.
    At(i64, u32),
}

/// The attributes that are to change.
#[derive(Clone, Copy, Debug, Default)]
pub struct AttributeChanges {
    /// Permissions.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Size in bytes.
    pub size: Option<u64>,
    /// Time of the last access.
    pub accessed: Option<FileTime>,
    /// Time of the last change of the data.
    pub modified: Option<FileTime>,
}

impl Volume {
    /// A file's attributes.
    ///
    /// # Errors
    /// What the backing file system said.
    pub fn getattr(&self, ino: InodeNumber) -> Result<Stat, Errno> {
        self.inode(ino)?.stat()
    }

    /// Changes attributes, and tells what they are then.
    ///
    /// # Errors
    /// What the backing file system said. Changes made before the one that failed stay.
    pub fn setattr(&self, ino: InodeNumber, changes: &AttributeChanges) -> Result<Stat, Errno> {
        let _power = self.powered()?;
        let inode = self.inode(ino)?;
        if let Some(size) = changes.size {
            self.truncate(&inode, size)?;
        }
        if changes.uid.is_some() || changes.gid.is_some() {
            let uid = changes.uid.map(Uid::from_raw);
            let gid = changes.gid.map(Gid::from_raw);
            rustix::fs::chownat(inode.any(), "", uid, gid, AtFlags::EMPTY_PATH)?;
        }
        if let Some(mode) = changes.mode {
            rustix::fs::chmod(path_of(inode.any()), Mode::from_raw_mode(mode))?;
        }
        if changes.mode.is_some() || changes.uid.is_some() || changes.gid.is_some() {
            let attributes = attributes(&inode.stat()?);
            self.renamed(&[ino], |pending| pending.set_attributes(ino, attributes));
        }
        if changes.accessed.is_some() || changes.modified.is_some() {
            let times = Timestamps {
                last_access: timespec(changes.accessed),
                last_modification: timespec(changes.modified),
            };
            let path = path_of(inode.any());
            rustix::fs::utimensat(rustix::fs::CWD, path, &times, AtFlags::empty())?;
        }
        inode.stat()
    }

    /// Sets an extended attribute. It is durable at once: a cut of the power never takes it.
    ///
    /// # Errors
    /// What the backing file system said.
    pub fn setxattr(
        &self,
        ino: InodeNumber,
        name: &OsStr,
        value: &[u8],
        flags: XattrFlags,
    ) -> Result<(), Errno> {
        let inode = self.inode(ino)?;
        refuse_link(inode.kind)?;
        rustix::fs::setxattr(path_of(inode.any()), name, value, flags)
    }

    /// Reads an extended attribute into `buffer`; an empty one asks for the length only.
    ///
    /// # Errors
    /// `ENODATA`, `ERANGE` when the buffer is too short, or what the backing file system said.
    pub fn getxattr(
        &self,
        ino: InodeNumber,
        name: &OsStr,
        buffer: &mut [u8],
    ) -> Result<usize, Errno> {
        let inode = self.inode(ino)?;
        if inode.kind == FileType::Symlink {
            return Err(Errno::NODATA);
        }
        rustix::fs::getxattr(path_of(inode.any()), name, buffer)
    }

    /// Reads the names of all extended attributes into `buffer`, each ended by a zero byte; an
    /// empty one asks for the length only.
    ///
    /// # Errors
    /// `ERANGE` when the buffer is too short, or what the backing file system said.
    pub fn listxattr(&self, ino: InodeNumber, buffer: &mut [u8]) -> Result<usize, Errno> {
        let inode = self.inode(ino)?;
        if inode.kind == FileType::Symlink {
            return Ok(0);
        }
        rustix::fs::listxattr(path_of(inode.any()), buffer)
    }

    /// Removes an extended attribute.
    ///
    /// # Errors
    /// `ENODATA`, or what the backing file system said.
    pub fn removexattr(&self, ino: InodeNumber, name: &OsStr) -> Result<(), Errno> {
        let inode = self.inode(ino)?;
        refuse_link(inode.kind)?;
        rustix::fs::removexattr(path_of(inode.any()), name)
    }
}

/// A symbolic link takes no attributes of an application's own.
fn refuse_link(kind: FileType) -> Result<(), Errno> {
    if kind == FileType::Symlink { Err(Errno::PERM) } else { Ok(()) }
}

fn timespec(moment: Option<FileTime>) -> Timespec {
    let (tv_sec, tv_nsec) = match moment {
        None => (0, rustix::fs::UTIME_OMIT),
        Some(FileTime::Now) => (0, rustix::fs::UTIME_NOW),
        Some(FileTime::At(seconds, nanos)) => (seconds, nanos.into()),
    };
    Timespec { tv_sec, tv_nsec }
}
