//! Counters: requests to the file system, and its requests to the device.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::FileNumber;

/// Reads or writes at one level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// How many.
    pub requests: u64,
    /// How many bytes in all.
    pub bytes: u64,
    /// How many of them started where the one before ended.
    pub sequential: u64,
}

impl Flow {
    /// How many did not start where the one before ended.
    pub fn random(&self) -> u64 {
        self.requests - self.sequential
    }

    fn plus(self, other: Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            bytes: self.bytes + other.bytes,
            sequential: self.sequential + other.sequential,
        }
    }

    fn since(self, earlier: Self) -> Self {
        let requests = self.requests.saturating_sub(earlier.requests);
        Self {
            requests,
            bytes: self.bytes.saturating_sub(earlier.bytes),
            sequential: self.sequential.saturating_sub(earlier.sequential).min(requests),
        }
    }
}

/// Reads, writes and syncs of a file, or of all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCounts {
    /// Reads that the kernel's page cache could not answer.
    pub host_reads: Flow,
    /// Writes as the application made them.
    pub host_writes: Flow,
    /// Reads from the device.
    pub device_reads: Flow,
    /// Writes of data to the device.
    pub device_writes: Flow,
    /// `fdatasync` and `O_DSYNC` writes.
    pub data_syncs: u64,
    /// `fsync` and `O_SYNC` writes.
    pub full_syncs: u64,
}

impl FileCounts {
    fn plus(self, other: Self) -> Self {
        Self {
            host_reads: self.host_reads.plus(other.host_reads),
            host_writes: self.host_writes.plus(other.host_writes),
            device_reads: self.device_reads.plus(other.device_reads),
            device_writes: self.device_writes.plus(other.device_writes),
            data_syncs: self.data_syncs + other.data_syncs,
            full_syncs: self.full_syncs + other.full_syncs,
        }
    }

    fn since(self, earlier: Self) -> Self {
        Self {
            host_reads: self.host_reads.since(earlier.host_reads),
            host_writes: self.host_writes.since(earlier.host_writes),
            device_reads: self.device_reads.since(earlier.device_reads),
            device_writes: self.device_writes.since(earlier.device_writes),
            data_syncs: self.data_syncs.saturating_sub(earlier.data_syncs),
            full_syncs: self.full_syncs.saturating_sub(earlier.full_syncs),
        }
    }
}

/// What was counted so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ext4Counts {
    /// All files together. A device request is sequential here if it starts where the last one of
    /// its kind on the whole device ended; data of two files in one request count once.
    pub all: FileCounts,
    /// Writes to the journal.
    pub journal: Flow,
    /// Commits of the journal.
    pub commits: u64,
    /// Flushes of the device.
    pub flushes: u64,
    /// Syncs of directories.
    pub directory_syncs: u64,
    /// Each file that is there. Its requests are sequential if they start where its own last one
    /// ended: for the host in the file, for the device on the device.
    pub files: BTreeMap<FileNumber, FileCounts>,
    /// Files that are no more, together.
    pub removed: FileCounts,
}

impl Ext4Counts {
    /// What was counted between two moments. A number that a removed file has left to a new one
    /// counts as one file.
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |file| earlier.files.get(file).copied().unwrap_or_default();
        let files = self.files.iter().map(|(file, counts)| (*file, counts.since(before(file))));
        let gone = earlier.files.iter().filter(|(file, _)| !self.files.contains_key(file));
        let removed_before = gone.fold(earlier.removed, |sum, (_, counts)| sum.plus(*counts));
        Self {
            all: self.all.since(earlier.all),
            journal: self.journal.since(earlier.journal),
            commits: self.commits - earlier.commits,
            flushes: self.flushes - earlier.flushes,
            directory_syncs: self.directory_syncs - earlier.directory_syncs,
            files: files.collect(),
            removed: self.removed.since(removed_before),
        }
    }
}

/// Counts, and where the last request of each kind ended.
#[derive(Debug, Default)]
pub(super) struct FileTally {
    counts: FileCounts,
    host_read: u64,
    host_write: u64,
    device_read: u64,
    device_write: u64,
}

impl FileTally {
    pub fn counts(&self) -> FileCounts {
        self.counts
    }

    pub fn absorb(&mut self, gone: &Self) {
        self.counts = self.counts.plus(gone.counts);
    }

    pub fn host_read(&mut self, offset: u64, length: u64) {
        add(&mut self.counts.host_reads, &mut self.host_read, offset, length);
    }

    pub fn host_write(&mut self, offset: u64, length: u64) {
        add(&mut self.counts.host_writes, &mut self.host_write, offset, length);
    }

    pub fn device_read(&mut self, place: u64, length: u64) {
        add(&mut self.counts.device_reads, &mut self.device_read, place, length);
    }

    pub fn device_write(&mut self, place: u64, length: u64) {
        add(&mut self.counts.device_writes, &mut self.device_write, place, length);
    }

    pub fn sync(&mut self, sync: super::SyncScope) {
        match sync {
            super::SyncScope::Data => self.counts.data_syncs += 1,
            super::SyncScope::All => self.counts.full_syncs += 1,
        }
    }
}

/// Counts a request and remembers where it ended.
pub(super) fn add(flow: &mut Flow, end: &mut u64, start: u64, length: u64) {
    flow.requests += 1;
    flow.bytes += length;
    flow.sequential += u64::from(*end == start);
    *end = start + length;
}
