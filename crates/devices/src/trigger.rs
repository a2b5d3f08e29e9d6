//! Moments that are waited for: of a power cut, or of an image.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A moment, counted from when this is armed. Where the power goes with it:
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// Within the n-th write of data, from 1: the write fails, and what of it is left is up to the
    /// rule ([`crate::plug::Keep`]) as with any other that is not durable.
    Writes(u64),
    /// Within the n-th sync of a file or a folder, from 1, that of an `O_DSYNC` write included:
    /// the sync fails, and what it should have made durable is not.
    Syncs(u64),
    /// After so much time.
    After(Duration),
    /// Within the n-th call, from 1, of a signature: as [`Trigger::Writes`] or
    /// [`Trigger::Syncs`], of some files alone.
    Signature {
        /// Which of the signatures that are looked for.
        signature: usize,
        /// The number of the call.
        count: u64,
    },
}

impl Trigger {
    /// The number of the call that it waits for, if it waits for one.
    pub fn count(self) -> Option<u64> {
        match self {
            Self::Writes(count) | Self::Syncs(count) | Self::Signature { count, .. } => Some(count),
            Self::After(_) => None,
        }
    }
}

/// Calls that tell what the application is doing: they are of files that serve one purpose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSignature {
    /// What kind of call.
    pub call: SignatureCall,
    /// Patterns of paths, from the disk's root on, of which one has to fit: `*` stands for any letters,
    /// `?` for one. A pattern without a slash is held against the file's name.
    pub files: Vec<String>,
}

/// A kind of call of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignatureCall {
    /// A write of data.
    Write,
    /// A write that begins before so many bytes of the file: in its header.
    WriteBelow(u64),
    /// A sync, that of an `O_DSYNC` write included.
    Sync,
}

/// A moment that is waited for, for so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Awaited {
    /// The moment.
    pub trigger: Trigger,
    /// When it counts as come, whether it has or not.
    pub within: Option<Duration>,
}
