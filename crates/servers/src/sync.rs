//! Puts a folder on its disk.

use std::fs::{self, File};
use std::path::Path;

use crate::{Error, Result};

/// Syncs a folder's entries.
pub fn folder(folder: &Path) -> Result<()> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::at("sync", folder))
}

/// Syncs a folder and all that is in it.
pub fn tree(folder: &Path) -> Result<()> {
    let open = File::open(folder).map_err(Error::at("open", folder))?;
    // Writes everything in one go, so that little is left for the calls below; they are for file
    // systems that are not told of this one.
    rustix::fs::syncfs(&open).map_err(|error| Error::at("sync", folder)(error.into()))?;
    each(folder)
}

fn each(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Error::at("read the folder", folder))? {
        let entry = entry.map_err(Error::at("read the folder", folder))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(Error::at("sync", &path))?;
        if kind.is_dir() {
            each(&path)?;
        } else if kind.is_file() {
            File::open(&path).and_then(|file| file.sync_all()).map_err(Error::at("sync", &path))?;
        }
    }
    self::folder(folder)
}
