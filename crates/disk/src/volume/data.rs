//! Data: what is read, written, allocated and synced.

use std::cell::RefCell;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use rustix::fs::{FallocateFlags, Mode as Permissions, SeekFrom};
use rustix::io::Errno;

use super::inode::Inode;
use super::{Ino, Volume};
use crate::ext4::{Mode, Sync};

/// Blocks of a device: direct reads and writes are made of them, as on ext4.
const SECTOR: u64 = 512;

/// How data are read or written.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// Through the page cache or around it.
    pub mode: Mode,
    /// What a write makes lasting before it is done (`O_DSYNC`, `O_SYNC`).
    pub sync: Option<Sync>,
    /// Whether a write takes away the bits by which others run a file as its owner or group.
    pub drop_privileges: bool,
}

/// What was opened.
#[derive(Clone, Copy, Debug)]
pub struct Opened {
    /// Whether pages that the application's page cache has of it are still true.
    pub cache_holds: bool,
}

impl Volume {
    /// Opens a file.
    ///
    /// # Errors
    /// What the backing file system said.
    pub fn open_file(&self, ino: Ino, mode: Mode, write: bool) -> Result<Opened, Errno> {
        let inode = self.inode(ino)?;
        if write { inode.writer() } else { inode.reader() }?;
        let cache_holds = mode == Mode::Direct || !inode.bypassed.swap(false, Ordering::AcqRel);
        Ok(Opened { cache_holds })
    }

    /// Reads up to `length` bytes; `then` gets them, fewer at the end of the file.
    ///
    /// `then` gets an error for a direct read that is not made of whole sectors (`EINVAL`), or
    /// what the backing file system said.
    pub fn read(
        self: &Arc<Self>,
        ino: Ino,
        offset: u64,
        length: usize,
        access: Access,
        then: impl FnOnce(Result<&[u8], Errno>) + Send + 'static,
    ) {
        thread_local! { static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) }; }
        BUFFER.with_borrow_mut(|buffer| {
            if buffer.len() < length {
                buffer.resize(length, 0);
            }
            let read = self.read_now(ino, offset, &mut buffer[..length], access);
            then(read.map(|count| &buffer[..count]));
        });
    }

    fn read_now(
        &self,
        ino: Ino,
        offset: u64,
        buffer: &mut [u8],
        access: Access,
    ) -> Result<usize, Errno> {
        let inode = self.inode(ino)?;
        check_alignment(access.mode, offset, buffer.len())?;
        let file = inode.reader()?;
        let mut count = 0;
        while count < buffer.len() {
            match rustix::io::pread(file, &mut buffer[count..], offset + count as u64) {
                Ok(0) => break,
                Ok(some) => count += some,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(count)
    }

    /// Writes bytes; `then` gets how many.
    ///
    /// `then` gets an error for a direct write that is not made of whole sectors (`EINVAL`), or
    /// what the backing file system said.
    pub fn write(
        self: &Arc<Self>,
        ino: Ino,
        offset: u64,
        data: &[u8],
        access: Access,
        then: impl FnOnce(Result<usize, Errno>) + Send + 'static,
    ) {
        then(self.write_now(ino, offset, data, access));
    }

    fn write_now(
        &self,
        ino: Ino,
        offset: u64,
        data: &[u8],
        access: Access,
    ) -> Result<usize, Errno> {
        let inode = self.inode(ino)?;
        check_alignment(access.mode, offset, data.len())?;
        let file = inode.writer()?;
        if access.drop_privileges {
            drop_privileges(&inode)?;
        }
        if access.mode == Mode::Direct {
            inode.bypassed.store(true, Ordering::Release);
        }
        let _changing = inode.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut count = 0;
        while count < data.len() {
            match rustix::io::pwrite(file, &data[count..], offset + count as u64) {
                Ok(some) => count += some,
                Err(Errno::INTR) => {}
                Err(_) if count > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(count)
    }

    /// Makes a file's data lasting, or data and attributes; then calls `then`.
    pub fn fsync(
        self: &Arc<Self>,
        ino: Ino,
        _sync: Sync,
        then: impl FnOnce(Result<(), Errno>) + Send + 'static,
    ) {
        then(self.inode(ino).map(drop));
    }

    /// Makes a folder's names lasting; then calls `then`.
    pub fn fsyncdir(
        self: &Arc<Self>,
        ino: Ino,
        then: impl FnOnce(Result<(), Errno>) + Send + 'static,
    ) {
        then(self.inode(ino).map(drop));
    }

    /// Allocates space, or makes zeros or a hole of it, as `fallocate(2)`.
    ///
    /// # Errors
    /// `EOPNOTSUPP`, or what the backing file system said.
    pub fn fallocate(
        &self,
        ino: Ino,
        offset: u64,
        length: u64,
        flags: FallocateFlags,
    ) -> Result<(), Errno> {
        let known =
            FallocateFlags::KEEP_SIZE | FallocateFlags::PUNCH_HOLE | FallocateFlags::ZERO_RANGE;
        if !known.contains(flags) {
            return Err(Errno::OPNOTSUPP);
        }
        let inode = self.inode(ino)?;
        let file = inode.writer()?;
        let _changing = inode.changing.lock().unwrap_or_else(PoisonError::into_inner);
        rustix::fs::fallocate(file, flags, offset, length)
    }

    /// Finds the next data, or the next hole.
    ///
    /// # Errors
    /// `ENXIO` where there is none, `EINVAL` for another kind of seek.
    pub fn seek(&self, ino: Ino, to: SeekFrom) -> Result<u64, Errno> {
        match to {
            SeekFrom::Data(_) | SeekFrom::Hole(_) => {}
            _ => return Err(Errno::INVAL),
        }
        // The place of the descriptor is used by nobody.
        rustix::fs::seek(self.inode(ino)?.reader()?, to)
    }

    /// Makes a file shorter or longer.
    pub(super) fn truncate(&self, inode: &Inode, size: u64) -> Result<(), Errno> {
        let file = inode.writer()?;
        let _changing = inode.changing.lock().unwrap_or_else(PoisonError::into_inner);
        rustix::fs::ftruncate(file, size)
    }
}

/// Direct reads and writes are made of whole sectors. Where they lie in the application's memory
/// can't be seen from here.
fn check_alignment(mode: Mode, offset: u64, length: usize) -> Result<(), Errno> {
    let whole = offset.is_multiple_of(SECTOR) && (length as u64).is_multiple_of(SECTOR);
    if mode == Mode::Direct && !whole { Err(Errno::INVAL) } else { Ok(()) }
}

/// Takes away the bits by which others run a file as its owner or group.
fn drop_privileges(inode: &Inode) -> Result<(), Errno> {
    let mode = inode.stat()?.st_mode;
    let mut taken = Permissions::SUID.as_raw_mode();
    // Without the group's right to run it, this bit means something else.
    if mode & Permissions::XGRP.as_raw_mode() != 0 {
        taken |= Permissions::SGID.as_raw_mode();
    }
    if mode & taken == 0 {
        return Ok(());
    }
    rustix::fs::fchmod(inode.writer()?, Permissions::from_raw_mode(mode & !taken))
}
