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

/// The journal of a disk. Without anything said, that of a file system as `mkfs.ext4` makes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameters {
    /// How it is written.
    pub commit: Committing,
    /// Where it is.
    pub journal: JournalPlace,
}

impl Parameters {
    /// The defaults, by the parameters' names.
    pub(crate) fn table() -> Table {
        Table::try_from(Self::default()).expect("words by name")
    }
}
