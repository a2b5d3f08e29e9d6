//! Walks through all entries below a folder.

use std::fs::File;
use std::io;

use rustix::fs::{AtFlags, StatxFlags};
use rustix::io::Errno;

use crate::{Dir, EntryKind, FolderEntry};

/// As `stat` counts them.
const BLOCK: u64 = 512;

impl Dir {
    /// Calls `each` with every entry below this folder and its folder; for a folder, after its own
    /// entries. Links are not followed. What vanishes meanwhile is passed over.
    pub fn walk_entries(
        &self,
        each: &mut dyn FnMut(&Self, &FolderEntry) -> io::Result<()>,
    ) -> io::Result<()> {
        for entry in self.list_entries()? {
            if entry.kind == EntryKind::Folder {
                match self.enter_folder(&entry.name) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    folder => folder?.walk_entries(each)?,
                }
            }
            each(self, &entry)?;
        }
        Ok(())
    }

    /// Every file and folder below it, and itself. What vanishes meanwhile is passed over.
    pub fn sync_all(&self) -> io::Result<()> {
        self.walk_entries(&mut |folder, entry| {
            let synced = match entry.kind {
                EntryKind::File => {
                    folder.open_for_read(&entry.name).and_then(|file| file.sync_all())
                }
                EntryKind::Folder => {
                    folder.enter_folder(&entry.name).and_then(|folder| folder.sync())
                }
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

/// Every file with data below a folder, open to be read. What vanishes meanwhile is passed over.
pub fn each_file(
    folder: &Dir,
    each: &mut dyn FnMut(&File, &FolderEntry) -> io::Result<()>,
) -> io::Result<()> {
    folder.walk_entries(&mut |folder, entry| {
        if entry.kind != EntryKind::File {
            return Ok(());
        }
        match folder.open_for_read(&entry.name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            file => each(&file?, entry),
        }
    })
}

/// Counts allocated blocks, as the file system has them now: a sparse file counts for its data. What
/// vanishes meanwhile is passed over.
pub fn disk_usage(folder: &Dir) -> io::Result<u64> {
    let mut bytes = 0;
    // The kernel may answer `stat` from what it knew a while ago.
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_FORCE_SYNC;
    folder.walk_entries(&mut |folder, entry| {
        if entry.kind != EntryKind::Folder {
            match rustix::fs::statx(folder, &entry.name, flags, StatxFlags::BLOCKS) {
                Ok(found) => bytes += found.stx_blocks * BLOCK,
                Err(Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    })?;
    Ok(bytes)
}
