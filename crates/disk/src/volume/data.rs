use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bakeoff_devices::ext4::{DeviceWork, Mode, SyncScope};
use bakeoff_devices::plug::{Before, ChangeMark};
use bakeoff_devices::trace::Waits;
use rustix::fs::{Mode as Permissions, SeekFrom};
use rustix::io::Errno;

use super::countdown::{self, FiredTriggers};
use super::inode::{Inode, InodeShape};
use super::{InodeNumber, Volume};
use crate::fault::FallibleCall;

/// Direct reads and writes are made of whole sectors, as on ext4.
const SECTOR: u64 = 512;

thread_local! {
    /// One buffer a thread, instead of one a call.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

#[derive(Clone, Copy, Debug)]
pub struct DataAccess {
    pub mode: Mode,
    /// The scope that a write makes durable before it is done (`O_DSYNC`, `O_SYNC`).
    pub sync: Option<SyncScope>,
    /// Whether a write removes the set-user and set-group bits.
    pub drop_privileges: bool,
    /// The kernel gathered it, and hands it over when a sync asks for that, or by itself.
    pub gathered: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct OpenedFile {
    /// Whether the application's page cache of it is still valid.
    pub cache_holds: bool,
}

struct UnfinishedWrite {
    count: usize,
    work: DeviceWork,
    sync: Option<ChangeMark>,
    /// Its number, if it is a direct write that is durable without a sync.
    direct: Option<u64>,
}

impl Volume {
    /// Call [`Volume::close_file`] for each file that was opened for writing.
    pub fn open_file(
        &self,
        ino: InodeNumber,
        mode: Mode,
        write: bool,
    ) -> Result<OpenedFile, Errno> {
        let inode = self.find_inode(ino)?;
        if write { inode.writer() } else { inode.reader() }?;
        if write {
            inode.writers.fetch_add(1, Ordering::Relaxed);
            // Holes may have been filled.
            let mut shape = inode.lock_shape();
            shape.solid = shape.solid.filter(|solid| *solid);
        }
        let cache_holds = mode == Mode::Direct || !inode.bypassed.swap(false, Ordering::AcqRel);
        Ok(OpenedFile { cache_holds })
    }

    pub fn close_file(&self, ino: InodeNumber) {
        let Some(inode) = self.inodes.get(ino) else { return };
        if inode.writers.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.lock_model().ext4.close(ino);
        }
    }

    /// Reads up to `length` bytes; `then` gets them, fewer at the end of the file. A direct read
    /// that is not made of whole sectors gets `EINVAL`; if the power goes first, `EIO`.
    pub fn read(
        self: &Arc<Self>,
        ino: InodeNumber,
        offset: u64,
        length: usize,
        access: DataAccess,
        then: impl FnOnce(Result<&[u8], Errno>) + Send + 'static,
    ) {
        let came = self.executor.now();
        BUFFER.with_borrow_mut(|buffer| {
            if buffer.len() < length {
                buffer.resize(length, 0);
            }
            let (count, work) = match self.read_now(ino, offset, &mut buffer[..length], access) {
                Ok(read) => read,
                Err(error) => return then(Err(error)),
            };
            let data = &buffer[..count];
            if work.is_empty() || !self.executor.is_timed() {
                self.trace_work(Waits::Reader, Some(ino), &work);
                return then(self.check_power().map(|()| data));
            }
            let data = data.to_vec();
            self.perform_work(came, (Waits::Reader, ino), work, move |done| {
                then(done.map(|()| &data[..]))
            });
        });
    }

    fn read_now(
        &self,
        ino: InodeNumber,
        offset: u64,
        buffer: &mut [u8],
        access: DataAccess,
    ) -> Result<(usize, DeviceWork), Errno> {
        let inode = self.find_inode(ino)?;
        check_alignment(access.mode, offset, buffer.len())?;
        self.check_fault(FallibleCall::Read, &inode)?;
        let count = read_at(inode.reader()?, buffer, offset)?;
        self.note_touched(&inode, count);
        Ok((count, self.lock_model().ext4.read(ino, offset, count as u64)))
    }

    /// `then` gets how many bytes were written. A direct write that is not made of whole sectors
    /// gets `EINVAL`, a full disk `ENOSPC`; if the power goes first, `EIO`.
    pub fn write(
        self: &Arc<Self>,
        ino: InodeNumber,
        offset: u64,
        data: &[u8],
        access: DataAccess,
        then: impl FnOnce(Result<usize, Errno>) + Send + 'static,
    ) {
        let came = self.executor.now();
        self.await_room(data.len() as u64);
        let UnfinishedWrite { count, work, sync, direct } =
            match self.write_now(ino, offset, data, access) {
                Ok(written) => written,
                Err(error) => return then(Err(error)),
            };
        if work.is_empty() {
            return then(Ok(count));
        }
        let volume = Arc::clone(self);
        self.perform_work(came, (Waits::Writer, ino), work, move |done| {
            let done = done.and_then(|()| match (sync, direct) {
                (Some(mark), _) => volume.synced_file(ino, mark),
                (None, Some(number)) => volume.wrote_direct(number),
                (None, None) => Ok(()),
            });
            then(done.map(|()| count));
        });
    }

    fn write_now(
        self: &Arc<Self>,
        ino: InodeNumber,
        offset: u64,
        data: &[u8],
        access: DataAccess,
    ) -> Result<UnfinishedWrite, Errno> {
        let _power = self.hold_power()?;
        let inode = self.find_inode(ino)?;
        check_alignment(access.mode, offset, data.len())?;
        self.check_fault(FallibleCall::Write, &inode)?;
        self.make_room(&inode, offset, data.len() as u64)?;
        if access.drop_privileges {
            drop_privileges(&inode)?;
        }
        if access.gathered {
            inode.burst.note_write(self.executor.now());
        } else {
            self.waited_writes.fetch_add(1, Ordering::Relaxed);
        }
        if access.mode == Mode::Direct {
            inode.bypassed.store(true, Ordering::Release);
        }
        if access.sync.is_some() {
            self.check_fault(FallibleCall::Fsync, &inode)?;
        }
        // An image of a moment that comes with this write has it in flight and not answered.
        let path = || inode.find_path(&self.backing);
        let mut met = self.armed.count_call(countdown::CountedCall::Write(offset), path);
        if access.sync.is_some() {
            met.merge(self.armed.count_call(countdown::CountedCall::Sync, path));
        }
        if met.last {
            self.go_off();
        }
        let written = BUFFER.with_borrow_mut(|buffer| {
            self.write_over(&inode, offset, data, (access, &met), buffer)
        });
        if met.last {
            self.armed.notify_last();
        }
        if access.gathered {
            // The sync comes after the answer.
            inode.burst.note_write(self.executor.now());
        }
        self.check_power().and(written)
    }

    /// Writes, and notes what was there before, and the moments that come with it.
    fn write_over(
        &self,
        inode: &Arc<Inode>,
        offset: u64,
        data: &[u8],
        (access, met): (DataAccess, &FiredTriggers),
        buffer: &mut Vec<u8>,
    ) -> Result<UnfinishedWrite, Errno> {
        let (ino, file) = (inode.ino, inode.writer()?);
        let mut shape = inode.lock_shape();
        let size = shape.size;
        let bypasses = access.mode == Mode::Direct && !self.journals_data;
        let durable =
            bypasses && self.is_lasting_at_once(inode, offset + data.len() as u64, &mut shape)?;
        let noted = !durable || self.lock_model().pending.history().is_some();
        let mut old = 0;
        if noted {
            let most = size.saturating_sub(offset).min(data.len() as u64) as usize;
            if buffer.len() < most {
                buffer.resize(most, 0);
            }
            old = read_at(file, &mut buffer[..most], offset)?;
        }
        let count = write_at(file, data, offset)?;
        self.note_touched(inode, old + count);
        let length = count as u64;
        let now = self.executor.now();
        let mut model = self.lock_model();
        let mut free = Vec::new();
        let from = model.pending.current_mark();
        if noted {
            let before = Before::Bytes(&buffer[..old.min(count)]);
            model.pending.write(ino, offset, length, size, before);
        }
        model.note_moments(&met.which, self.off_at());
        if durable && noted {
            let to = model.pending.current_mark();
            free = model.pending.note_direct_write(ino, from, to);
        }
        free.extend(model.bound_memory(ino));
        let work = model.ext4.write(now, ino, offset, length, access.mode, access.sync);
        model.note_closed();
        let sync = access.sync.map(|_| model.pending.current_mark());
        let is_direct = bypasses && sync.is_none() && !durable;
        let direct = is_direct.then(|| model.begin_direct(ino, from, length)).flatten();
        drop(model);
        if offset + length > size {
            *shape = InodeShape { size: offset + length, solid: None };
        }
        self.free_files(&free);
        Ok(UnfinishedWrite { count, work, sync, direct })
    }

    /// Whether a direct write is durable when it is made: with the power on and a device that takes
    /// no time (and so has no cache), over existing blocks, and no pending change below it to undo.
    fn is_lasting_at_once(
        &self,
        inode: &Inode,
        end: u64,
        shape: &mut InodeShape,
    ) -> Result<bool, Errno> {
        let in_place = self.executor.is_null() && !self.is_off() && end <= shape.size;
        if !in_place
            || shape.solid == Some(false)
            || !self.lock_model().pending.state().is_clean(inode.ino)
        {
            return Ok(false);
        }
        if shape.solid.is_none() {
            let hole = rustix::fs::seek(inode.reader()?, SeekFrom::Hole(0))?;
            shape.solid = Some(hole >= shape.size);
        }
        Ok(shape.solid == Some(true))
    }

    pub fn seek(&self, ino: InodeNumber, to: SeekFrom) -> Result<u64, Errno> {
        match to {
            SeekFrom::Data(_) | SeekFrom::Hole(_) => {}
            _ => return Err(Errno::INVAL),
        }
        // The place of the descriptor is used by nobody.
        rustix::fs::seek(self.find_inode(ino)?.reader()?, to)
    }
}

pub(super) fn read_at(file: &OwnedFd, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
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

fn write_at(file: &OwnedFd, data: &[u8], offset: u64) -> Result<usize, Errno> {
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

/// The application's memory can't be checked from here.
fn check_alignment(mode: Mode, offset: u64, length: usize) -> Result<(), Errno> {
    let whole = offset.is_multiple_of(SECTOR) && (length as u64).is_multiple_of(SECTOR);
    if mode == Mode::Direct && !whole { Err(Errno::INVAL) } else { Ok(()) }
}

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
