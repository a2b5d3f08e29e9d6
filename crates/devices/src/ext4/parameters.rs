//! The parameters of the file system that a disk's description can set.

use serde::{Deserialize, Serialize};
use toml::Table;

/// How a transaction is written to the journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Committing {
    /// As jbd2 does: the blocks; when they are written, a flush; the commit record; a flush.
    #[default]
    Jbd2,
    /// As one write and a flush, which is about what ext4's `fast_commit` makes of a small
    /// transaction. No file system has it unless somebody asked for it.
    Fast,
}

/// Where the journal is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JournalPlace {
    /// In one piece in the middle, where `mkfs.ext4` makes it.
    #[default]
    Middle,
    /// In pieces all over the device, of which the one next to the data written last is taken: the
    /// seek to the journal is as short as it can be.
    Near,
}

/// Whether the device is flushed: the mount option `barrier` (Linux,
/// Documentation/admin-guide/ext4.rst), written 0 or 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum Barrier {
    /// Never: neither by a sync nor by a commit. What the device has in its cache is then lost with
    /// the power.
    Off,
    /// Where data or a commit are to be durable.
    #[default]
    On,
}

impl From<Barrier> for u8 {
    fn from(barrier: Barrier) -> Self {
        match barrier {
            Barrier::Off => 0,
            Barrier::On => 1,
        }
    }
}

impl TryFrom<u8> for Barrier {
    type Error = &'static str;

    fn try_from(number: u8) -> Result<Self, &'static str> {
        match number {
            0 => Ok(Self::Off),
            1 => Ok(Self::On),
            _ => Err("invalid value, expected 0 or 1"),
        }
    }
}

/// What is ordered of data: the mount option `data` (Linux, Documentation/admin-guide/ext4.rst).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DataMode {
    /// Data are on the device before the metadata are committed by which they are found.
    #[default]
    Ordered,
    /// Metadata may be committed before their data are there: a file may then show stale bytes.
    Writeback,
    /// Data are written to the journal first, with their metadata, and to their places later. There is no
    /// delayed allocation, and direct writes go through the page cache.
    Journal,
}

/// How the file system of a disk is made and mounted. Without anything said, as `mkfs.ext4` makes it and
/// without mount options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ext4Parameters {
    /// Whether the device is flushed.
    pub barrier: Barrier,
    /// How the journal is written.
    pub commit: Committing,
    /// What is ordered of data.
    pub data: DataMode,
    /// Where the journal is.
    pub journal: JournalPlace,
}

impl Ext4Parameters {
    /// The defaults, by the parameters' names.
    pub(crate) fn table() -> Table {
        Table::try_from(Self::default()).expect("words by name")
    }
}
