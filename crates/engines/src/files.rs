//! Syncs what a server has written without syncing.

use std::path::Path;

use bakeoff_folders::Dir;

use crate::Result;

pub fn sync_all(folder: &Path) -> Result<()> {
    Ok(Dir::open(folder)?.sync_all()?)
}
