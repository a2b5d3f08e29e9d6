//! Puts a folder on its disk.

use bakeoff_folders::Dir;

use crate::{Error, Result};

/// Syncs a folder and all that is in it.
pub fn tree(folder: &Dir) -> Result<()> {
    // Writes everything in one go, so that little is left for the calls below; they are for file
    // systems that are not told of this one.
    rustix::fs::syncfs(folder).map_err(|error| Error::at("sync", folder.path())(error.into()))?;
    folder.sync_all().map_err(Error::folder)
}
