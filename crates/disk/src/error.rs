use std::path::Path;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Error {
    /// A model, a level or a rule does not exist.
    #[error("{0}")]
    Usage(String),
    /// A folder is missing, not empty, in use, or nothing is mounted on it.
    #[error("{0}")]
    Folder(String),
    #[error("{0}")]
    Failed(String),
}

impl Error {
    pub(crate) fn usage(why: impl std::fmt::Display) -> Self {
        Self::Usage(why.to_string())
    }

    pub(crate) fn in_use(mountpoint: &Path) -> Self {
        let at = mountpoint.display();
        Self::Folder(format!(
            "{at} is in use: end what uses it (fuser -vm {at} lists it), then unmount it"
        ))
    }
}
