//! A limit to what the disk holds.

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{SeekFrom, StatVfs};
use rustix::io::Errno;

use super::Volume;
use super::inode::Inode;

/// Bytes of a block, as the backing file system allocates at least.
const BLOCK: u64 = 4096;

/// What may be used, and what is. Only kept while there is a limit.
pub(super) struct SpaceQuota {
    /// Bytes; the largest number for no limit.
    limit: AtomicU64,
    /// Bytes in use, or more: what was freed since they were last counted is among them.
    used: AtomicU64,
}

impl Default for SpaceQuota {
    fn default() -> Self {
        Self { limit: AtomicU64::new(u64::MAX), used: AtomicU64::new(0) }
    }
}

impl SpaceQuota {
    /// Sets a limit in bytes, or none.
    pub fn limit(&self, limit: Option<u64>, used: impl FnOnce() -> u64) {
        if limit.is_some() {
            self.used.store(used(), Ordering::Relaxed);
        }
        self.limit.store(limit.unwrap_or(u64::MAX), Ordering::Release);
    }

    /// The limit in bytes, if there is one.
    pub fn limited(&self) -> Option<u64> {
        Some(self.limit.load(Ordering::Acquire)).filter(|limit| *limit < u64::MAX)
    }
}

impl Volume {
    /// Fails if the disk can't take what is about to be put at a place of a file. What is there
    /// already may always be written again.
    pub(super) fn make_room(&self, inode: &Inode, offset: u64, length: u64) -> Result<(), Errno> {
        let Some(limit) = self.space.limited() else { return Ok(()) };
        let end = offset + length;
        let needed = end.next_multiple_of(BLOCK) - offset / BLOCK * BLOCK;
        let hole = rustix::fs::seek(inode.reader()?, SeekFrom::Hole(offset));
        if hole.is_ok_and(|hole| hole >= end) || self.reserve(limit, needed) {
            Ok(())
        } else {
            Err(Errno::NOSPC)
        }
    }

    /// Fails if the disk is full to the last block.
    pub(super) fn make_room_for_name(&self) -> Result<(), Errno> {
        match self.space.limited() {
            Some(limit) if !self.reserve(limit, BLOCK) => Err(Errno::NOSPC),
            _ => Ok(()),
        }
    }

    /// Takes bytes for used, if they are free; counts again before it says that they are not.
    fn reserve(&self, limit: u64, bytes: u64) -> bool {
        let space = &self.space;
        if space.used.fetch_add(bytes, Ordering::AcqRel) + bytes <= limit {
            return true;
        }
        let used = self.used();
        let fits = used + bytes <= limit;
        space.used.store(if fits { used + bytes } else { used }, Ordering::Release);
        fits
    }

    /// Sizes and free space of the file system.
    ///
    /// # Errors
    /// What the backing file system said.
    pub fn statfs(&self) -> Result<StatVfs, Errno> {
        self.alive()?;
        let mut stat = rustix::fs::fstatvfs(self.root.any())?;
        if let Some(limit) = self.space.limited() {
            let blocks = limit / stat.f_frsize;
            let free = limit.saturating_sub(self.used()) / stat.f_frsize;
            stat.f_bfree = stat.f_bfree.min(free);
            stat.f_bavail = stat.f_bavail.min(free);
            stat.f_blocks = stat.f_blocks.min(blocks);
        }
        Ok(stat)
    }
}
