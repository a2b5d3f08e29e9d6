//! How a write and a sync are made, and when what is dirty is written back.

use crate::device::Nanos;

use super::parameters::Ext4Parameters;

/// How a write is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Into the page cache.
    Buffered,
    /// Around the page cache (`O_DIRECT`).
    Direct,
}

/// How much of a file a sync makes durable.
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
    /// How old dirty pages become.
    pub expire: Nanos,
    /// Bytes of dirty pages above which they are written back in the background.
    pub dirty_background: u64,
    /// Bytes of dirty pages, with those that are being written back in the background, above which
    /// a writer has to wait.
    pub dirty_limit: u64,
    /// How and where the journal is written.
    pub journal: Ext4Parameters,
}

impl Default for Ext4MountOptions {
    /// Linux's: 5 s, 30 s, and 10 % and 20 % of the memory, of which it takes 1 GiB to be there.
    fn default() -> Self {
        Self {
            commit: 5_000_000_000,
            expire: 30_000_000_000,
            dirty_background: (1 << 30) / 10,
            dirty_limit: (1 << 30) / 5,
            journal: Ext4Parameters::default(),
        }
    }
}
