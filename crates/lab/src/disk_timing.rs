//! Times the disk that a folder is on: what a write, a flush and a read take there.
//!
//! After the jobs of fio and the lines of pg_test_fsync with which others publish what a sync takes:
//! 4 KiB written over a file that is there already, by one thread, around the page cache. Its files
//! have no names, so that nothing is left behind, however it ends.

mod file;
mod jobs;
mod medium;
mod samples;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bakeoff_disk::neighbour;
use bakeoff_results::{DiskTiming, FlushTiming};

use self::file::{LARGE, SMALL, TimedFile};
use self::jobs::{
    count_appends, read_in_order, read_random, time_requests, write_large, write_read_file,
};
use self::medium::DiskMedium;
use self::samples::time_flush_from;
use crate::machine::accounts::free_bytes;
use crate::run::now_s;

/// Bytes that are written over again and again: less than any disk's fast part holds.
const OVERWRITTEN: u64 = 8 << 20;
/// The file that is read has at most so many bytes.
const MOST_READ: u64 = 1 << 30;
/// Bytes that must be free.
const LEAST_FREE: u64 = 64 << 20;
const MANY_READERS: u32 = 32;
const APPENDERS: [u32; 3] = [1, 4, 8];

#[derive(Debug, thiserror::Error)]
pub enum TimingError {
    #[error("{} is in memory: there is no disk to time", .0.display())]
    InMemory(PathBuf),
    #[error(
        "{} has only {} MB free, and its disk is timed with {} MB; free some, or name another folder",
        folder.display(), free / 1_000_000, LEAST_FREE / 1_000_000
    )]
    NoRoom { folder: PathBuf, free: u64 },
    #[error("the disk of {} can't be timed: {cause}", folder.display())]
    Io { folder: PathBuf, cause: io::Error },
}

/// How long each part takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimingPlan {
    pub write: Duration,
    pub synced_write: Duration,
    pub write_through: Duration,
    pub clean_flush: Duration,
    pub large_write: Duration,
    pub appends: Duration,
    pub reads: Duration,
    pub in_order: Duration,
}

impl TimingPlan {
    /// 20 s with the making of its files.
    pub const WHOLE: Self = Self {
        write: Duration::from_secs(2),
        synced_write: Duration::from_secs(4),
        write_through: Duration::from_secs(2),
        clean_flush: Duration::from_secs(1),
        large_write: Duration::from_secs(2),
        appends: Duration::from_secs(2),
        reads: Duration::from_secs(4),
        in_order: Duration::from_secs(2),
    };

    /// For [`time_flush`]: 4 s.
    pub const FLUSH: Self = Self {
        write: Duration::from_secs(1),
        synced_write: Duration::from_millis(2900),
        ..Self::WHOLE
    };

    /// Each part takes so many times less.
    pub fn shorten(self, times: u32) -> Self {
        Self {
            write: self.write / times,
            synced_write: self.synced_write / times,
            write_through: self.write_through / times,
            clean_flush: self.clean_flush / times,
            large_write: self.large_write / times,
            appends: self.appends / times,
            reads: self.reads / times,
            in_order: self.in_order / times,
        }
    }
}

/// Fails if there is no disk to time, or no room. Writes nothing but an empty file, which it removes.
pub fn check_disk(folder: &Path) -> Result<(), TimingError> {
    let io = |cause| TimingError::Io { folder: folder.to_owned(), cause };
    let file = file::create_nameless(folder).map_err(io)?;
    if neighbour::is_in_memory(&file).map_err(io)? {
        return Err(TimingError::InMemory(folder.to_owned()));
    }
    let free = free_bytes(folder).map_err(io)?;
    if free < LEAST_FREE {
        return Err(TimingError::NoRoom { folder: folder.to_owned(), free });
    }
    Ok(())
}

/// Times the disk that the folder is on.
///
/// # Errors
///
/// As [`check_disk`]; and if a request fails.
pub fn time_disk(folder: &Path, plan: &TimingPlan) -> Result<DiskTiming, TimingError> {
    check_disk(folder)?;
    let io = |cause| TimingError::Io { folder: folder.to_owned(), cause };
    let mut file = TimedFile::create(folder, OVERWRITTEN).map_err(io)?;
    let timed = time_all(folder, &mut file, plan).map_err(io)?;
    tracing::debug!(folder = %folder.display(), flush_s = timed.flush.flush_s, "disk timed");
    Ok(timed)
}

/// Times a write and its flush alone.
///
/// # Errors
///
/// As [`time_disk`].
pub fn time_flush(folder: &Path, plan: &TimingPlan) -> Result<FlushTiming, TimingError> {
    check_disk(folder)?;
    let io = |cause| TimingError::Io { folder: folder.to_owned(), cause };
    let mut file = TimedFile::create(folder, OVERWRITTEN).map_err(io)?;
    time_overwrites(&mut file, plan).map_err(io)
}

fn time_overwrites(file: &mut TimedFile, plan: &TimingPlan) -> io::Result<FlushTiming> {
    let writes = match file.is_direct() {
        true => Some(time_requests(plan.write, |number| file.overwrite(SMALL, number))?),
        false => None,
    };
    // What the writes have left in the drive's cache is no part of the first flush.
    file.sync()?;
    let synced = time_requests(plan.synced_write, |number| {
        file.overwrite(SMALL, number)?;
        file.sync()
    })?;
    time_flush_from(writes.as_ref(), &synced).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

fn time_all(folder: &Path, file: &mut TimedFile, plan: &TimingPlan) -> io::Result<DiskTiming> {
    let medium = DiskMedium::from_folder(folder)?;
    let flush = time_overwrites(file, plan)?;
    let through = time_requests(plan.write_through, |number| file.write_through(SMALL, number))?;
    file.sync()?;
    let clean = time_requests(plan.clean_flush, |_| file.sync())?;
    let large = write_large(file, LARGE, plan.large_write)?;
    let mut appends = Vec::new();
    for writers in APPENDERS {
        let duration = plan.appends / APPENDERS.len() as u32;
        appends.push((writers, count_appends(folder, writers, duration)?));
    }
    let most = MOST_READ.min(free_bytes(folder)? / 2);
    let (mut read_file, write_mb_s) = write_read_file(folder, most, plan.in_order / 2)?;
    let mut timing = DiskTiming {
        at_s: now_s(),
        flush_mb_s: large.find_rate(&flush),
        flush,
        write_through_s: through.mean(),
        has_fua: medium.has_fua,
        clean_flush_s: clean.mean(),
        appends,
        read_s: None,
        reads_at_once: None,
        read_mb_s: None,
        write_mb_s,
        doubts: Vec::new(),
    };
    // The page cache would answer.
    if read_file.is_direct() {
        let [alone, many] =
            [1, MANY_READERS].map(|readers| read_random(&read_file, readers, plan.reads / 2));
        let (alone, many) = (alone?, many?);
        timing.read_s = Some(1.0 / alone);
        timing.reads_at_once = Some((many / alone).max(1.0));
        timing.read_mb_s = Some(read_in_order(&mut read_file, plan.in_order / 2)?);
    }
    timing.doubts = medium.find_doubts(&timing, file.is_direct());
    Ok(timing)
}
