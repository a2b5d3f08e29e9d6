use serde::{Deserialize, Serialize};
use toml::Table;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Committing {
    /// As jbd2 does: the blocks; when they are written, a flush; the commit record; a flush.
    #[default]
    Jbd2,
    /// One write and a flush, about what ext4's `fast_commit` makes of a small transaction. No file
    /// system has it by default.
    Fast,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JournalPlace {
    /// In one piece in the middle, where `mkfs.ext4` makes it.
    #[default]
    Middle,
    /// In pieces all over the device; the one next to the data written last is used, so that the
    /// seek to the journal is as short as it can be.
    Near,
}

/// Whether the device is flushed: the mount option `barrier` (Linux,
/// Documentation/admin-guide/ext4.rst), written 0 or 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub enum Barrier {
    /// Never. A power cut loses what the device has in its cache.
    Off,
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

/// How data are ordered: the mount option `data` (Linux, Documentation/admin-guide/ext4.rst).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DataMode {
    /// Data are on the device before the metadata that lead to them are committed.
    #[default]
    Ordered,
    /// Metadata may be committed before their data are there: a file may then show stale bytes.
    Writeback,
    /// Data are written to the journal first, with their metadata. There is no delayed allocation,
    /// and direct writes go through the page cache.
    Journal,
}

/// How the file system is made and mounted; by default as `mkfs.ext4` makes it, without mount
/// options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ext4Parameters {
    pub barrier: Barrier,
    pub commit: Committing,
    pub data: DataMode,
    pub journal: JournalPlace,
}

impl Ext4Parameters {
    pub(crate) fn default_table() -> Table {
        Table::try_from(Self::default()).expect("words by name")
    }
}
