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
}

/// A moment that is waited for, for so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Awaited {
    /// The moment.
    pub trigger: Trigger,
    /// When it counts as come, whether it has or not.
    pub within: Option<Duration>,
}
