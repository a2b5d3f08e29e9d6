//! Puts a folder on its disk.

use std::io::ErrorKind;

use bakeoff_folders::{Dir, Kind};

use crate::{Error, Result};

/// Syncs a folder and all that is in it.
pub fn tree(folder: &Dir) -> Result<()> {
    // Writes everything in one go, so that little is left for the calls below; they are for file
    // systems that are not told of this one.
    rustix::fs::syncfs(folder).map_err(|error| Error::at("sync", folder.path())(error.into()))?;
    let each = folder.walk(&mut |folder, entry| {
        let synced = match entry.kind {
            Kind::File => folder.read(&entry.name).and_then(|file| file.sync_all()),
            Kind::Folder => folder.enter(&entry.name).and_then(|folder| folder.sync()),
            Kind::Link | Kind::Special => Ok(()),
        };
        match synced {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            synced => synced,
        }
    });
    each.and_then(|()| folder.sync()).map_err(Error::folder)
}
