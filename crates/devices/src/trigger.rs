//! Awaited moments: of a power cut, or of an image.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A moment, counted from when it is armed. If the power goes with it:
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// Within the n-th write of data, from 1: the write fails, and the rule ([`crate::plug::Keep`])
    /// says what of it is left.
    Writes(u64),
    /// Within the n-th sync of a file or folder or `O_DSYNC` write, from 1: the sync fails and
    /// makes nothing durable.
    Syncs(u64),
    After(Duration),
    /// Within the n-th call, from 1, of a signature: like [`Trigger::Writes`] or
    /// [`Trigger::Syncs`], of some files alone.
    Signature {
        signature: usize,
        count: u64,
    },
}

impl Trigger {
    pub fn count(self) -> Option<u64> {
        match self {
            Self::Writes(count) | Self::Syncs(count) | Self::Signature { count, .. } => Some(count),
            Self::After(_) => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallSignature {
    pub call: SignatureCall,
    /// Patterns of paths from the disk's root on, one of which must fit: `*` stands for any
    /// letters, `?` for one. A pattern without a slash is compared with the file's name.
    pub files: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignatureCall {
    Write,
    /// A write that begins before so many bytes of the file: in its header.
    WriteBelow(u64),
    /// Or an `O_DSYNC` write.
    Sync,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedTrigger {
    pub trigger: Trigger,
    /// When it counts as come at the latest.
    pub within: Option<Duration>,
}

impl From<Trigger> for TimedTrigger {
    fn from(trigger: Trigger) -> Self {
        Self { trigger, within: None }
    }
}
