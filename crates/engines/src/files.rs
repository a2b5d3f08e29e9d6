//! Puts on the disk what a server leaves to the system to write.

use std::path::Path;

use bakeoff_folders::Dir;

use crate::Result;

/// Syncs every file of a folder, and the folder: what the server has written without syncing is the
/// system's. The server may go on meanwhile.
pub fn sync_all(folder: &Path) -> Result<()> {
    Ok(Dir::open(folder)?.sync_all()?)
}
