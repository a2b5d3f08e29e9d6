use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::FileNumber;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    pub requests: u64,
    pub bytes: u64,
    pub sequential: u64,
}

impl Flow {
    pub fn random_requests(&self) -> u64 {
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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCounts {
    /// Reads that the kernel's page cache could not answer.
    pub host_reads: Flow,
    /// As the application made them.
    pub host_writes: Flow,
    pub device_reads: Flow,
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

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ext4Counts {
    /// All files together. A device request is sequential if it starts where the last one of its
    /// kind on the whole device ended; data of two files in one request count once.
    pub all: FileCounts,
    pub journal: Flow,
    pub commits: u64,
    pub flushes: u64,
    pub directory_syncs: u64,
    /// The existing files. A request is sequential if it starts where the file's own last one
    /// ended: in the file for the host, on the device for the device.
    pub files: BTreeMap<FileNumber, FileCounts>,
    pub removed: FileCounts,
}

impl Ext4Counts {
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
    pub fn to_counts(&self) -> FileCounts {
        self.counts
    }

    pub fn absorb(&mut self, gone: &Self) {
        self.counts = self.counts.plus(gone.counts);
    }

    pub fn host_read(&mut self, offset: u64, length: u64) {
        count_request(&mut self.counts.host_reads, &mut self.host_read, offset, length);
    }

    pub fn host_write(&mut self, offset: u64, length: u64) {
        count_request(&mut self.counts.host_writes, &mut self.host_write, offset, length);
    }

    pub fn device_read(&mut self, place: u64, length: u64) {
        count_request(&mut self.counts.device_reads, &mut self.device_read, place, length);
    }

    pub fn device_write(&mut self, place: u64, length: u64) {
        count_request(&mut self.counts.device_writes, &mut self.device_write, place, length);
    }

    pub fn sync(&mut self, sync: super::SyncScope) {
        match sync {
            super::SyncScope::Data => self.counts.data_syncs += 1,
            super::SyncScope::All => self.counts.full_syncs += 1,
        }
    }
}

pub(super) fn count_request(flow: &mut Flow, end: &mut u64, start: u64, length: u64) {
    flow.requests += 1;
    flow.bytes += length;
    flow.sequential += u64::from(*end == start);
    *end = start + length;
}
