//! Walks through all that is in a folder.

use std::fs::File;
use std::io;

use crate::{Dir, Entry, Kind};

/// Bytes of a block, as `stat` counts them.
const BLOCK: u64 = 512;
/// How many folders may be in one another: each takes a descriptor.
const DEEPEST: usize = 100;

impl Dir {
    /// Tells `each` of all that is below this folder, with the folder that it is in; of a folder
    /// after what is in it. Links are told of and not followed; what vanishes meanwhile is passed
    /// over.
    ///
    /// # Errors
    /// A folder that can't be read, more than 100 of them in one another, or what `each` returns.
    pub fn walk(&self, each: &mut dyn FnMut(&Self, &Entry) -> io::Result<()>) -> io::Result<()> {
        self.walk_below(DEEPEST, each)
    }

    fn walk_below(
        &self,
        deepest: usize,
        each: &mut dyn FnMut(&Self, &Entry) -> io::Result<()>,
    ) -> io::Result<()> {
        for entry in self.entries()? {
            if entry.kind == Kind::Folder {
                let Some(deepest) = deepest.checked_sub(1) else {
                    return Err(self.refusal(&entry.name, "is in too many folders"));
                };
                match self.enter(&entry.name) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    folder => folder?.walk_below(deepest, each)?,
                }
            }
            each(self, &entry)?;
        }
        Ok(())
    }
}

/// Tells `each` of every file with data below a folder, open to be read. What vanishes meanwhile is
/// passed over.
///
/// # Errors
/// A folder or file that can't be opened, or what `each` returns.
pub fn each_file(
    folder: &Dir,
    each: &mut dyn FnMut(&File, &Entry) -> io::Result<()>,
) -> io::Result<()> {
    folder.walk(&mut |folder, entry| {
        if entry.kind != Kind::File {
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
        if entry.kind != Kind::Folder {
            bytes += u64::try_from(entry.stat.st_blocks).unwrap_or(0) * BLOCK;
        }
        Ok(())
    })?;
    Ok(bytes)
}
