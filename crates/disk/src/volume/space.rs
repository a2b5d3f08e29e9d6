use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{SeekFrom, StatVfs};
use rustix::io::Errno;

use super::Volume;
use super::inode::Inode;

/// The least that the backing file system allocates.
const BLOCK: u64 = 4096;

/// Bytes that other calls may take meanwhile, and the backing file system for its own metadata.
const SPARE: u64 = 4 << 20;

/// For so long a removed file may keep its space on a busy machine: the kernel lets go of it, and
/// what it took is freed, a moment after its last name or handle went.
const LETTING_GO: Duration = Duration::from_secs(1);

/// When a file was last removed, or let go of after that.
#[derive(Default)]
pub(super) struct LastRemoval(Mutex<RemovalTimes>);

#[derive(Clone, Copy, Default)]
struct RemovalTimes {
    of_any: Option<Instant>,
    of_large: Option<Instant>,
}

/// A file of fewer bytes makes no room that is worth a wait.
const LARGE: u64 = 256 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DiskLack {
    Space,
    Files,
}

impl LastRemoval {
    /// `bytes`: what the file took; as many as can be if that is not known.
    pub fn note(&self, bytes: u64) {
        let now = Some(Instant::now());
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        times.of_any = now;
        if bytes >= LARGE {
            times.of_large = now;
        }
    }

    /// Nobody waits for it a second time.
    fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = RemovalTimes::default();
    }

    fn may_end(&self, lack: DiskLack) -> bool {
        let times = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = match lack {
            DiskLack::Space => times.of_large,
            DiskLack::Files => times.of_any,
        };
        last.is_some_and(|last| last.elapsed() < LETTING_GO)
    }
}

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

    /// Removed files keep their space until a power cut can't bring them back, and until the kernel
    /// lets go of them, a moment later. Before a call fails for want of it, all is written back and
    /// committed, as on ext4. Holds no lock meanwhile, and wants none held.
    pub(super) fn await_room(self: &Arc<Self>, bytes: u64) {
        let Some(lack) = self.find_lack(bytes) else { return };
        let keeps_some = self.orphans.count_bytes(|ino| self.inodes.get(ino).is_none()) > 0
            || lack == DiskLack::Files && !self.orphans.is_empty();
        let may_gain = keeps_some || self.last_removal.may_end(lack);
        if !may_gain || self.is_off() || self.lock_model().pending.history().is_some() {
            return;
        }
        if keeps_some {
            // Others wait as well for what this thread frees.
            self.last_removal.note(u64::MAX);
            self.settle_to_end();
        }
        let begun = Instant::now();
        while let Some(lack) = self.find_lack(bytes) {
            if !self.last_removal.may_end(lack) || begun.elapsed() > LETTING_GO {
                return self.last_removal.forget();
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn find_lack(&self, bytes: u64) -> Option<DiskLack> {
        let stat = rustix::fs::fstatvfs(self.root.any_descriptor()).ok()?;
        // Some file systems have no number of files that is full.
        let takes_files = stat.f_files == 0 || stat.f_favail > 0;
        let free = stat.f_bavail.saturating_mul(stat.f_frsize);
        match (takes_files, free >= bytes.saturating_add(SPARE)) {
            (false, _) => Some(DiskLack::Files),
            (true, false) => Some(DiskLack::Space),
            (true, true) => None,
        }
    }

    /// What is only kept for a power cut counts as free.
    pub fn statfs(&self) -> Result<StatVfs, Errno> {
        self.check_power()?;
        let mut stat = rustix::fs::fstatvfs(self.root.any_descriptor())?;
        let kept = self.orphans.count_bytes(|ino| self.inodes.get(ino).is_none()) / stat.f_frsize;
        stat.f_bfree += kept;
        stat.f_bavail += kept;
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
