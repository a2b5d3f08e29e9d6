//! The plug: what is lost when the power goes.
//!
//! The backing folder always holds what the application sees. [`Pending`] remembers, beside it,
//! every change that is not durable yet, in the order in which they were made, with what was there
//! before. From the two any state that a power cut may leave can be made: a [`CrashImage`].
//!
//! **What is durable.** Everything that was there at mount time; then:
//! - a sync of a file ([`Pending::sync_file`]) makes its bytes and its size durable;
//! - a journal commit ([`Pending::commit_names`]) makes all names and attributes durable that were
//!   changed before it, and no bytes and no sizes;
//! - age ([`Pending::expire`]) makes bytes and sizes durable, and no names;
//! - a sync of the whole disk ([`Pending::settle`]) makes everything durable.
//!
//! What becomes of names and attributes otherwise depends on the file system ([`Metadata`]). With
//! one journal, as ext4's and XFS's, they are one log, of which a power cut leaves all up to some
//! moment: by any rule but *drop-all*, which leaves what was committed. Which syncs commit the
//! journal is not decided here, but where their cost is ([`crate::ext4`]). By what POSIX promises and
//! no more they are many changes each by itself, and
//! - a sync of a file makes its attributes durable, and no name: not even that of a new file;
//! - a sync of a directory ([`Pending::sync_dir`]) makes its entries durable, each with what the
//!   same operation did elsewhere and what it builds on, such as the directory's own creation. A
//!   name whose file was never synced stands for what is durable of that file, maybe nothing.
//!
//! A sync that fails ([`Pending::fail_sync`]) loses the bytes that it should have made durable.
//! A sync counts for what was changed before its [`ChangeMark`], so that what is written while the
//! device is at work stays pending.
//!
//! Where the journal has data, too, or nothing orders them ([`Pending::with_data`]), it is otherwise: with
//! data in the journal a commit makes all bytes and sizes durable that were changed before it, and all is
//! one log. Where nothing orders data, a file that grew may be found with blocks that hold what lay there
//! before.
//!
//! **What may not come apart.** An operation on names is one piece: a rename is seen as done or
//! not done, never half. It depends on the earlier ones that it builds on (the same name, the
//! directory that it happens in, the entries that had to leave a directory before it was removed,
//! other moves of directories for a move of a directory, and for a removal of a name, those that
//! gave the file its names), as in any journalled file system. Likewise a change past the end that
//! a truncation set depends on it, and so does every later truncation. Sectors of 512 bytes hold
//! what they held at some moment: of two writes within one sector the later never shows without
//! the earlier. With one journal the same holds of whole pages past the durable end of a file, which
//! had no block yet.
//!
//! **Mirrors.** On an array the two copies of what was in flight may differ. An image has the one that lost
//! the write ([`PendingState::image_on`], [`MirrorCopies`]).
//!
//! **Earlier moments.** What is told can be remembered ([`Pending::record`]), with what was there before
//! each change. Then an image can be made of any moment since, by either kind of metadata: what was
//! pending is told again up to it, and what was changed since is undone ([`History`]). A history can
//! also be kept ([`Recorded`]) and walked through ([`Walk`]), so that images of all its moments are had.
//!
//! Not kept: times of files, and extended attributes. An image has the times of its making.

mod content;
mod copies;
mod edits;
mod event;
mod fates;
mod history;
mod image;
mod names;
mod pending;
mod recorded;
mod sparse;
mod state;
mod unwritten;
mod walk;

use std::fmt;
use std::io;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use content::FileContent;
pub use copies::MirrorCopies;
pub use edits::Before;
pub use event::ChangeMark;
pub use history::{EarlierContents, History, HistoryMoment};
pub use image::{CrashImage, Item};
pub use names::{EntryPlace, FileAttributes, NodeKind};
pub use pending::Pending;
pub use recorded::Recorded;
pub use state::PendingState;
pub use walk::{ImageFingerprint, Walk};

/// A file's number. It names one file, directory or other thing for ever and must never be used
/// again, not even after that is gone.
pub type Ino = u64;

/// Bytes of a sector: a device writes one whole or not at all.
pub const SECTOR: u64 = 512;

/// Bytes of a page: the unit in which the operating system writes files back.
pub const PAGE: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keep {
    DropAll,
    Prefix,
    Subset,
    /// As a subset, and a write may be kept in some of its pages or sectors only.
    Torn,
}

impl Keep {
    pub const ALL: [Self; 4] = [Self::DropAll, Self::Prefix, Self::Subset, Self::Torn];

    fn name(self) -> &'static str {
        match self {
            Self::DropAll => "drop-all",
            Self::Prefix => "prefix",
            Self::Subset => "subset",
            Self::Torn => "torn",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metadata {
    /// All together in order: a commit of the one journal takes in every change so far.
    #[default]
    Ordered,
    /// Each by itself, and names only by a sync of their directory.
    Posix,
}

impl Metadata {
    pub const ALL: [Self; 2] = [Self::Ordered, Self::Posix];

    fn name(self) -> &'static str {
        match self {
            Self::Ordered => "ordered",
            Self::Posix => "posix",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a mode of metadata: write ordered or posix")]
pub struct MetadataError(String);

impl FromStr for Metadata {
    type Err = MetadataError;

    fn from_str(text: &str) -> Result<Self, MetadataError> {
        let named = Self::ALL.into_iter().find(|metadata| metadata.name() == text);
        named.ok_or_else(|| MetadataError(text.to_owned()))
    }
}

impl fmt::Display for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a rule for what a power cut leaves: write drop-all, prefix, subset or torn")]
pub struct KeepError(String);

impl FromStr for Keep {
    type Err = KeepError;

    fn from_str(text: &str) -> Result<Self, KeepError> {
        let named = Self::ALL.into_iter().find(|keep| keep.name() == text);
        named.ok_or_else(|| KeepError(text.to_owned()))
    }
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

pub trait Contents {
    /// Returns fewer bytes than asked for only at the end of the file.
    fn read(&self, ino: Ino, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    fn size(&self, ino: Ino) -> io::Result<u64>;

    /// The stretches of a range that may hold something other than zeros, in order.
    fn filled_ranges(&self, ino: Ino, range: Range<u64>) -> Vec<Range<u64>> {
        let _ = ino;
        vec![range]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_as_they_are_written() {
        for keep in Keep::ALL {
            assert_eq!(keep.to_string().parse(), Ok(keep));
        }
        let error = "all".parse::<Keep>().unwrap_err().to_string();
        assert!(error.contains("`all`") && error.contains("drop-all, prefix"), "{error}");
        for metadata in Metadata::ALL {
            assert_eq!(metadata.to_string().parse(), Ok(metadata));
            assert_eq!(serde_json::to_value(metadata).unwrap(), metadata.to_string());
        }
        let error = "xfs".parse::<Metadata>().unwrap_err().to_string();
        assert!(error.contains("`xfs`") && error.contains("ordered or posix"), "{error}");
    }
}
