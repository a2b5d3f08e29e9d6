use std::ffi::OsStr;
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Gid, Mode, Stat, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::Errno;

use super::durable::to_attributes;
use super::{InodeNumber, Volume, path_of};

#[derive(Clone, Copy, Debug)]
pub enum FileTime {
    Now,
    /// Seconds since 1970, and nanoseconds of that second.
    At(i64, u32),
}

#[derive(Clone, Copy, Debug, Default)]
pub struct AttributeChanges {
    pub mode: Option<u32>,
    pub uid: Option<u32>,
    pub gid: Option<u32>,
    pub size: Option<u64>,
    pub accessed: Option<FileTime>,
    pub modified: Option<FileTime>,
}

impl Volume {
    pub fn getattr(&self, ino: InodeNumber) -> Result<Stat, Errno> {
        self.find_inode(ino)?.stat()
    }

    /// Returns the attributes after the changes. Changes before one that fails stay.
    pub fn setattr(
        self: &Arc<Self>,
        ino: InodeNumber,
        changes: &AttributeChanges,
    ) -> Result<Stat, Errno> {
        if let Some(size) = changes.size {
            // What is cut off is copied first.
            let whole = self.find_inode(ino)?.lock_shape().size;
            self.await_room(whole.saturating_sub(size));
        }
        let _power = self.hold_power()?;
        let inode = self.find_inode(ino)?;
        if let Some(size) = changes.size {
            self.truncate(&inode, size)?;
        }
        if changes.uid.is_some() || changes.gid.is_some() {
            let uid = changes.uid.map(Uid::from_raw);
            let gid = changes.gid.map(Gid::from_raw);
            rustix::fs::chownat(inode.any_descriptor(), "", uid, gid, AtFlags::EMPTY_PATH)?;
        }
        if let Some(mode) = changes.mode {
            rustix::fs::chmod(path_of(inode.any_descriptor()), Mode::from_raw_mode(mode))?;
        }
        if changes.mode.is_some() || changes.uid.is_some() || changes.gid.is_some() {
            let attributes = to_attributes(&inode.stat()?);
            self.note_renamed(&[ino], |pending| pending.set_attributes(ino, attributes));
        }
        if changes.accessed.is_some() || changes.modified.is_some() {
            let times = Timestamps {
                last_access: to_timespec(changes.accessed),
                last_modification: to_timespec(changes.modified),
            };
            let path = path_of(inode.any_descriptor());
            rustix::fs::utimensat(rustix::fs::CWD, path, &times, AtFlags::empty())?;
        }
        inode.stat()
    }

    /// It is durable at once: a power cut never takes it.
    pub fn setxattr(
        self: &Arc<Self>,
        ino: InodeNumber,
        name: &OsStr,
        value: &[u8],
        flags: XattrFlags,
    ) -> Result<(), Errno> {
        let inode = self.find_inode(ino)?;
        refuse_link(inode.kind)?;
        self.await_room(value.len() as u64);
        rustix::fs::setxattr(path_of(inode.any_descriptor()), name, value, flags)
    }

    /// An empty buffer asks for the length only; `ERANGE` if the buffer is too short.
    pub fn getxattr(
        &self,
        ino: InodeNumber,
        name: &OsStr,
        buffer: &mut [u8],
    ) -> Result<usize, Errno> {
        let inode = self.find_inode(ino)?;
        if inode.kind == FileType::Symlink {
            return Err(Errno::NODATA);
        }
        let path = path_of(inode.any_descriptor());
        if buffer.is_empty() {
            return rustix::fs::getxattr_query(path, name);
        }
        rustix::fs::getxattr(path, name, buffer)
    }

    /// Each name ends in a zero byte; an empty buffer asks for the length only.
    pub fn listxattr(&self, ino: InodeNumber, buffer: &mut [u8]) -> Result<usize, Errno> {
        let inode = self.find_inode(ino)?;
        if inode.kind == FileType::Symlink {
            return Ok(0);
        }
        let path = path_of(inode.any_descriptor());
        if buffer.is_empty() {
            return rustix::fs::listxattr_query(path);
        }
        rustix::fs::listxattr(path, buffer)
    }

    pub fn removexattr(&self, ino: InodeNumber, name: &OsStr) -> Result<(), Errno> {
        let inode = self.find_inode(ino)?;
        refuse_link(inode.kind)?;
        rustix::fs::removexattr(path_of(inode.any_descriptor()), name)
    }
}

/// A symbolic link takes no extended attributes.
fn refuse_link(kind: FileType) -> Result<(), Errno> {
    if kind == FileType::Symlink { Err(Errno::PERM) } else { Ok(()) }
}

fn to_timespec(moment: Option<FileTime>) -> Timespec {
    let (tv_sec, tv_nsec) = match moment {
        None => (0, rustix::fs::UTIME_OMIT),
        Some(FileTime::Now) => (0, rustix::fs::UTIME_NOW),
        Some(FileTime::At(seconds, nanos)) => (seconds, nanos.into()),
    };
    Timespec { tv_sec, tv_nsec }
}
