//! The error that everything that works with disks returns.

use std::path::Path;

use serde::{Deserialize, Serialize};

/// Why something could not be done with a disk.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Error {
    /// What was asked for can't be: a model, a level or a rule that does not exist.
    #[error("{0}")]
    Usage(String),
    /// A folder can't be used: it is not there, not empty, in use, or nothing is mounted on it.
    #[error("{0}")]
    Folder(String),
    /// The system said no.
    #[error("{0}")]
    Failed(String),
}

impl Error {
    /// What was asked for can't be, for this reason.
    pub(crate) fn usage(why: impl std::fmt::Display) -> Self {
        Self::Usage(why.to_string())
    }

    /// Why a disk can't be unmounted now.
    pub(crate) fn in_use(mountpoint: &Path) -> Self {
        let at = mountpoint.display();
        Self::Folder(format!(
            "{at} is in use: end what uses it (fuser -vm {at} lists it), then unmount it"
        ))
    }
}
