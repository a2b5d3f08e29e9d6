//! Walks through all that is in a folder.

use std::fs::File;
use std::io;

use crate::{Dir, EntryKind, FolderEntry};

/// Bytes of a block, as `stat` counts them.
const BLOCK: u64 = 512;

impl Dir {
    /// Calls `each` with every entry below this folder and the folder that it is in; with a folder after
    /// its own entries. A link is an entry and is not followed. Entries that vanish meanwhile are passed
    /// over.
    ///
    /// # Errors
    /// A folder that can't be read, or what `each` returns.
    pub fn walk(
        &self,
        each: &mut dyn FnMut(&Self, &FolderEntry) -> io::Result<()>,
    ) -> io::Result<()> {
        for entry in self.entries()? {
            if entry.kind == EntryKind::Folder {
                match self.enter(&entry.name) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    folder => folder?.walk(each)?,
                }
            }
            each(self, &entry)?;
        }
        Ok(())
    }

    /// Syncs every file and folder below this one, and itself. What vanishes meanwhile is passed
    /// over.
    ///
    /// # Errors
    /// The first that can't be synced.
    pub fn sync_all(&self) -> io::Result<()> {
        self.walk(&mut |folder, entry| {
            let synced = match entry.kind {
                EntryKind::File => folder.read(&entry.name).and_then(|file| file.sync_all()),
                EntryKind::Folder => folder.enter(&entry.name).and_then(|folder| folder.sync()),
                EntryKind::Link | EntryKind::Special => Ok(()),
            };
            match synced {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                synced => synced,
            }
        })?;
        self.sync()
    }
}

/// Tells `each` of every file with data below a folder, open to be read. What vanishes meanwhile is
/// passed over.
///
/// # Errors
/// A folder or file that can't be opened, or what `each` returns.
pub fn each_file(
    folder: &Dir,
    each: &mut dyn FnMut(&File, &FolderEntry) -> io::Result<()>,
) -> io::Result<()> {
    folder.walk(&mut |folder, entry| {
        if entry.kind != EntryKind::File {
            return Ok(());
        }
        match folder.read(&entry.name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            file => each(&file?, entry),
        }
    })
}

/// Bytes that the files below a folder take on their disk: allocated blocks, so that a sparse file
/// counts for what it holds.
///
/// # Errors
/// A folder that can't be read.
pub fn space(folder: &Dir) -> io::Result<u64> {
    let mut bytes = 0;
    folder.walk(&mut |_, entry| {
        if entry.kind != EntryKind::Folder {
            bytes += u64::try_from(entry.stat.st_blocks).unwrap_or(0) * BLOCK;
        }
        Ok(())
    })?;
    Ok(bytes)
}
