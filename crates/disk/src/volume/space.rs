use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{SeekFrom, StatVfs};
use rustix::io::Errno;

use super::Volume;
use super::inode::Inode;

/// The least that the backing file system allocates.
const BLOCK: u64 = 4096;

/// Only kept while there is a limit.
pub(super) struct SpaceQuota {
    /// Bytes; the largest number for no limit.
    limit: AtomicU64,
    /// Bytes in use, or more: space freed since the last count is among them.
    used: AtomicU64,
}

impl Default for SpaceQuota {
    fn default() -> Self {
        Self { limit: AtomicU64::new(u64::MAX), used: AtomicU64::new(0) }
    }
}

impl SpaceQuota {
    pub fn set_limit(&self, limit: Option<u64>, used: impl FnOnce() -> u64) {
        if limit.is_some() {
            self.used.store(used(), Ordering::Relaxed);
        }
        self.limit.store(limit.unwrap_or(u64::MAX), Ordering::Release);
    }

    pub fn limit_bytes(&self) -> Option<u64> {
        Some(self.limit.load(Ordering::Acquire)).filter(|limit| *limit < u64::MAX)
    }
}

impl Volume {
    /// Fails if the disk can't take what is about to be written. What is there already may always
    /// be written again.
    pub(super) fn make_room(&self, inode: &Inode, offset: u64, length: u64) -> Result<(), Errno> {
        let Some(limit) = self.space.limit_bytes() else { return Ok(()) };
        let end = offset + length;
        let needed = end.next_multiple_of(BLOCK) - offset / BLOCK * BLOCK;
        let hole = rustix::fs::seek(inode.reader()?, SeekFrom::Hole(offset));
        if hole.is_ok_and(|hole| hole >= end) || self.reserve_bytes(limit, needed) {
            Ok(())
        } else {
            Err(Errno::NOSPC)
        }
    }

    pub(super) fn make_room_for_name(&self) -> Result<(), Errno> {
        match self.space.limit_bytes() {
            Some(limit) if !self.reserve_bytes(limit, BLOCK) => Err(Errno::NOSPC),
            _ => Ok(()),
        }
    }

    /// Takes bytes for used, if they are free; counts again before it says that they are not.
    fn reserve_bytes(&self, limit: u64, bytes: u64) -> bool {
        let space = &self.space;
        if space.used.fetch_add(bytes, Ordering::AcqRel) + bytes <= limit {
            return true;
        }
        let used = self.used_bytes();
        let fits = used + bytes <= limit;
        space.used.store(if fits { used + bytes } else { used }, Ordering::Release);
        fits
    }

    pub fn statfs(&self) -> Result<StatVfs, Errno> {
        self.check_power()?;
        let mut stat = rustix::fs::fstatvfs(self.root.any_descriptor())?;
        if let Some(limit) = self.space.limit_bytes() {
            let blocks = limit / stat.f_frsize;
            let free = limit.saturating_sub(self.used_bytes()) / stat.f_frsize;
            stat.f_bfree = stat.f_bfree.min(free);
            stat.f_bavail = stat.f_bavail.min(free);
            stat.f_blocks = stat.f_blocks.min(blocks);
        }
        Ok(stat)
    }
}
