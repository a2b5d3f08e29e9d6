//! What a server leaves to the system, on its disk.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;

use crate::Result;

/// Syncs every file of a folder, and the folder: what the server has written without syncing is the
/// system's. The server may go on meanwhile.
pub fn sync_all(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            sync_all(&entry.path())?;
        } else if kind.is_file() {
            match File::open(entry.path()) {
                Ok(file) => file.sync_all()?,
                // The server has removed it since.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(File::open(folder)?.sync_all()?)
}
