use crate::device::Nanos;

use super::parameters::Ext4Parameters;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Buffered,
    /// Around the page cache (`O_DIRECT`).
    Direct,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncScope {
    /// Its data, and what is needed to read them again (`fdatasync`, `O_DSYNC`).
    Data,
    /// Everything (`fsync`, `O_SYNC`).
    All,
}

/// When dirty pages are written back and the journal is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ext4MountOptions {
    /// How long a change of metadata waits for a commit, and how often dirty pages are looked at.
    pub commit: Nanos,
    pub expire: Nanos,
    /// Bytes of dirty pages from which write-back starts in the background.
    pub dirty_background: u64,
    /// Bytes of dirty pages, with those being written back, from which a writer waits.
    pub dirty_limit: u64,
    /// Whether the device has a write that goes past its cache: see
    /// [`DeviceParameters::has_fua`](crate::device::model::DeviceParameters::has_fua).
    pub has_fua: bool,
    pub journal: Ext4Parameters,
}

impl Default for Ext4MountOptions {
    /// Linux's: 5 s, 30 s, and 10 % and 20 % of the memory, here 1 GiB.
    fn default() -> Self {
        Self {
            commit: 5_000_000_000,
            expire: 30_000_000_000,
            dirty_background: (1 << 30) / 10,
            dirty_limit: (1 << 30) / 5,
            has_fua: false,
            journal: Ext4Parameters::default(),
        }
    }
}
