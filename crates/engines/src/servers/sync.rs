use bakeoff_folders::Dir;

use crate::servers::{Error, Result};

pub fn sync_tree(folder: &Dir) -> Result<()> {
    // Writes everything in one go, so that little is left for the calls below; they are for file
    // systems that are not told of this one.
    rustix::fs::syncfs(folder)
        .map_err(|error| Error::at_path("sync", folder.path())(error.into()))?;
    folder.sync_all().map_err(Error::from_folder)
}
