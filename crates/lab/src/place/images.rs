use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::{RESERVE, ensure_room, page_cache};
use crate::error::with_context;
use crate::machine::accounts;
use crate::{MachineError, TrialError, place};

/// Bytes of a restored image that may stay in the page cache when it should be cold: another
/// process may look at pages at that moment.
const LITTLE: u64 = 1 << 20;

/// How the data of a trial are made. Equal recipes share an image.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Recipe {
    pub key: String,
    pub about: String,
    /// Two recipes with the same value can't exist together in an external database.
    pub into: String,
}

#[derive(Clone, Debug)]
pub struct LoadedImage {
    pub folder: PathBuf,
    /// Bytes of rows: the same for every engine.
    pub loaded_bytes: u64,
}

pub type Images = BTreeMap<Recipe, Result<LoadedImage, TrialError>>;

impl LoadedImage {
    /// Writes the image and drops it from the page cache. Space that an engine allocated but never
    /// wrote counts as data while a page of it is cached, so the size of a copy would depend on the
    /// cache.
    pub fn new(folder: PathBuf, loaded_bytes: u64) -> Result<Self, TrialError> {
        page_cache::drop_from_cache(&folder)
            .map_err(|error| TrialError::place_error("its data image can't be written", error))?;
        Ok(Self { folder, loaded_bytes })
    }

    /// Copies the image durably, if there is room; if `cold`, without page cache.
    pub fn restore(
        &self,
        directory: &Path,
        cold: bool,
        stop: &AtomicBool,
    ) -> Result<(), TrialError> {
        let bytes = with_context("the image's size", accounts::allocated_bytes(&self.folder))?;
        ensure_room(directory.parent().unwrap_or(directory), bytes + RESERVE)?;
        self.copy(directory, place::SyncCopy::Yes, stop)?;
        tracing::debug!(image = %self.folder.display(), bytes, cold, "image restored");
        if !cold {
            return Ok(());
        }
        page_cache::drop_from_cache(directory).map_err(copy_error)?;
        match page_cache::resident_bytes(directory).map_err(copy_error)? {
            0..=LITTLE => Ok(()),
            left => Err(MachineError::Place(format!(
                "memory can't be limited: {} MB of its data stay in the page cache, outside of any \
                 limit; use --out on a disk",
                left / 1_000_000
            ))
            .into()),
        }
    }

    pub fn copy(
        &self,
        directory: &Path,
        sync: place::SyncCopy,
        stop: &AtomicBool,
    ) -> Result<(), TrialError> {
        place::copy_image(&self.folder, directory, sync, stop).map_err(copy_error)
    }
}

fn copy_error(error: std::io::Error) -> TrialError {
    TrialError::place_error("its data image can't be restored", error)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use rustix::fs::{FallocateFlags, fallocate};

    #[test]
    fn what_was_allocated_and_never_written_takes_no_room_in_a_copy() {
        const LENGTH: u64 = 4 << 20;
        let place = tempfile::tempdir().unwrap();
        let (folder, copy) = (place.path().join("image"), place.path().join("copy"));
        fs::create_dir(&folder).unwrap();
        let log = fs::File::create_new(folder.join("log")).unwrap();
        fallocate(&log, FallocateFlags::empty(), 0, LENGTH).unwrap();
        // Reading brings zeros into the page cache.
        assert_eq!(fs::read(folder.join("log")).unwrap().len() as u64, LENGTH);
        let image = LoadedImage::new(folder.clone(), 1).unwrap();
        if page_cache::resident_bytes(&folder).unwrap() > 0 {
            eprintln!("skipped: this file system has nothing but the page cache");
            return;
        }
        image.restore(&copy, false, &AtomicBool::new(false)).unwrap();
        assert_eq!(fs::metadata(copy.join("log")).unwrap().len(), LENGTH);
        let space = accounts::allocated_bytes(&copy).unwrap();
        assert!(space < LENGTH / 4, "{space}");
    }
}
