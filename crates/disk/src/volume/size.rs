use std::sync::Arc;

use bakeoff_devices::plug::Before;
use rustix::fs::{FallocateFlags, SeekFrom};
use rustix::io::Errno;

use super::inode::{Inode, InodeShape};
use super::{InodeNumber, Volume};
use crate::fault::FallibleCall;

/// Bytes that are kept in memory when they are cut off; more are copied to a file.
const IN_MEMORY: u64 = 1 << 20;

pub(super) enum KeptContent {
    Bytes(Vec<u8>),
    File(InodeNumber),
    /// A full disk has no room for it: the change is durable at once.
    Nothing,
}

impl KeptContent {
    pub fn to_before(&self) -> Before<'_> {
        match self {
            Self::Bytes(bytes) => Before::Bytes(bytes),
            Self::Nothing => Before::Bytes(&[]),
            Self::File(ino) => Before::Kept(*ino),
        }
    }
}

impl Volume {
    pub(super) fn truncate(&self, inode: &Inode, size: u64) -> Result<(), Errno> {
        self.check_fault(FallibleCall::Write, inode)?;
        let file = inode.writer()?;
        let mut shape = inode.lock_shape();
        let cut_off = self.keep_content(inode, size, shape.size)?;
        rustix::fs::ftruncate(file, size)?;
        let now = self.executor.now();
        let mut model = self.lock_model();
        model.pending.truncate(inode.ino, shape.size, size, cut_off.to_before());
        model.ext4.truncate(now, inode.ino, size);
        *shape = InodeShape { size, solid: None };
        let free = model.expire_unkept(inode.ino, &cut_off);
        drop(model);
        self.free_files(&free);
        Ok(())
    }

    /// Allocates space, or makes zeros or a hole of it, as `fallocate(2)`.
    pub fn fallocate(
        self: &Arc<Self>,
        ino: InodeNumber,
        offset: u64,
        length: u64,
        flags: FallocateFlags,
    ) -> Result<(), Errno> {
        use FallocateFlags as F;
        if !(F::KEEP_SIZE | F::PUNCH_HOLE | F::ZERO_RANGE).contains(flags) {
            return Err(Errno::OPNOTSUPP);
        }
        // What it clears is copied first.
        self.await_room(length);
        let _power = self.hold_power()?;
        let inode = self.find_inode(ino)?;
        self.check_fault(FallibleCall::Write, &inode)?;
        let clears = flags.intersects(F::PUNCH_HOLE | F::ZERO_RANGE);
        let punches = flags.contains(F::PUNCH_HOLE);
        let end = offset.checked_add(length).ok_or(Errno::FBIG)?;
        if !punches {
            self.make_room(&inode, offset, length)?;
        }
        let file = inode.writer()?;
        let mut shape = inode.lock_shape();
        let size = shape.size;
        let cleared =
            if clears { self.keep_content(&inode, offset, end.min(size))? } else { NOTHING };
        rustix::fs::fallocate(file, flags, offset, length)?;
        shape.solid = None;
        let now = self.executor.now();
        let mut model = self.lock_model();
        if clears {
            model.pending.punch_hole(ino, offset, length, size, cleared.to_before());
            model.ext4.punch_hole(now, ino, offset, length);
        }
        if !punches {
            model.ext4.allocate_blocks(now, ino, offset, length);
        }
        if end > size && !flags.contains(F::KEEP_SIZE) {
            model.pending.truncate(ino, size, end, NOTHING.to_before());
            model.ext4.truncate(now, ino, end);
            shape.size = end;
        }
        let free = model.expire_unkept(ino, &cleared);
        drop(model);
        self.free_files(&free);
        Ok(())
    }

    /// Keeps what lies from `start` to `end`, if a power cut may show it.
    fn keep_content(&self, inode: &Inode, start: u64, end: u64) -> Result<KeptContent, Errno> {
        if start >= end || !self.lock_model().may_show(inode.ino) {
            return Ok(NOTHING);
        }
        if end - start <= IN_MEMORY {
            let mut bytes = vec![0; (end - start) as usize];
            let count = super::data::read_at(inode.reader()?, &mut bytes, start)?;
            bytes.truncate(count);
            return Ok(KeptContent::Bytes(bytes));
        }
        let number = self.numbers.next_number();
        let copied = self.copy_to_hidden(inode, start, end, number);
        if copied.is_err() {
            self.orphans.remove(number);
        }
        match copied {
            // To make a file smaller must not need room, unless an image of before is to come.
            Err(Errno::NOSPC) if self.lock_model().pending.history().is_none() => {
                Ok(KeptContent::Nothing)
            }
            copied => copied.map(|()| KeptContent::File(number)),
        }
    }

    /// Copies to the same place of a hidden file, without holes.
    fn copy_to_hidden(
        &self,
        inode: &Inode,
        start: u64,
        end: u64,
        number: InodeNumber,
    ) -> Result<(), Errno> {
        let (from, to) = (inode.reader()?, self.orphans.create(number)?);
        rustix::fs::ftruncate(&to, end)?;
        let mut at = start;
        while at < end {
            let data = match rustix::fs::seek(from, SeekFrom::Data(at)) {
                Err(Errno::NXIO) => break,
                data => data?.min(end),
            };
            let hole = rustix::fs::seek(from, SeekFrom::Hole(data))?.min(end);
            let (mut source, mut target) = (data, data);
            while source < hole {
                let left = (hole - source) as usize;
                let (input, output) = (Some(&mut source), Some(&mut target));
                if rustix::fs::copy_file_range(from, input, &to, output, left)? == 0 {
                    return Err(Errno::IO);
                }
            }
            at = hole;
        }
        Ok(())
    }
}

const NOTHING: KeptContent = KeptContent::Bytes(Vec::new());
