//! When an armed power cut happens.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The moment at which the power goes, counted from when this is armed.
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
