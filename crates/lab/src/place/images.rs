//! Data images: loaded once for a run, and restored for each of its trials and power cuts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::{RESERVE, page_cache, room};
use crate::error::wanting;
use crate::machine::accounts;
use crate::{MachineError, TrialError, place};

/// A restored image may keep so many bytes in the page cache when it is to have none there: pages
/// that somebody looks at that moment.
const LITTLE: u64 = 1 << 20;

/// How the data that a trial starts from are made. Trials of equal recipes start from the same
/// image.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Recipe {
    /// Tells recipes apart.
    pub key: String,
    /// What is loaded into what, in a few words.
    pub about: String,
    /// What is loaded into: two recipes with the same can't be there at once where somebody else
    /// keeps the data.
    pub into: String,
}

/// Data in a target's own form.
#[derive(Clone, Debug)]
pub struct LoadedImage {
    /// The folder that holds them.
    pub folder: PathBuf,
    /// Bytes of the rows that were loaded: the same for every engine.
    pub loaded_bytes: u64,
}

/// The images of a run, or why one can't be had.
#[derive(Debug, Default)]
pub struct Images {
    known: BTreeMap<Recipe, Result<LoadedImage, TrialError>>,
}

impl Images {
    /// What is known of a recipe's image; `None` before it was loaded.
    pub fn get(&self, recipe: &Recipe) -> Option<&Result<LoadedImage, TrialError>> {
        self.known.get(recipe)
    }

    /// A new folder for the image of a recipe.
    pub fn folder(&self, work: &Path) -> Result<PathBuf, MachineError> {
        let folder = work.join(format!("image-{}", self.known.len()));
        wanting("the image folder", fs::create_dir(&folder))?;
        Ok(folder)
    }

    /// Notes what loading came to.
    pub fn put(&mut self, recipe: &Recipe, image: Result<LoadedImage, TrialError>) {
        self.known.insert(recipe.clone(), image);
    }
}

impl LoadedImage {
    /// The image that was loaded into a folder, written and out of the page cache: what an engine
    /// allocated ahead and never wrote counts as data as long as a page of it is cached, so that
    /// else the cache would decide what a copy takes up.
    ///
    /// # Errors
    /// The first file that can't be written.
    pub fn new(folder: PathBuf, loaded_bytes: u64) -> Result<Self, TrialError> {
        page_cache::forget(&folder)
            .map_err(|error| TrialError::place("its data image can't be written", error))?;
        Ok(Self { folder, loaded_bytes })
    }

    /// Copies the image to `directory`, durably, if there is room; out of the page cache again if
    /// it is to be `cold`.
    ///
    /// # Errors
    /// What keeps it from being there.
    pub fn restore(
        &self,
        directory: &Path,
        cold: bool,
        stop: &AtomicBool,
    ) -> Result<(), TrialError> {
        let bytes = wanting("the image's size", accounts::space(&self.folder))?;
        room(directory.parent().unwrap_or(directory), bytes + RESERVE)?;
        self.copy(directory, place::SyncCopy::Yes, stop)?;
        tracing::debug!(image = %self.folder.display(), bytes, cold, "image restored");
        if !cold {
            return Ok(());
        }
        page_cache::forget(directory).map_err(failed)?;
        match page_cache::resident(directory).map_err(failed)? {
            0..=LITTLE => Ok(()),
            left => Err(MachineError::Place(format!(
                "memory can't be limited: {} MB of its data stay in the page cache, outside of any \
                 limit; use --out on a disk",
                left / 1_000_000
            ))
            .into()),
        }
    }

    /// Copies the image to `directory`.
    ///
    /// # Errors
    /// The first file that can't be copied.
    pub fn copy(
        &self,
        directory: &Path,
        sync: place::SyncCopy,
        stop: &AtomicBool,
    ) -> Result<(), TrialError> {
        place::copy(&self.folder, directory, sync, stop).map_err(failed)
    }
}

fn failed(error: std::io::Error) -> TrialError {
    TrialError::place("its data image can't be restored", error)
}

#[cfg(test)]
mod tests {
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
        if page_cache::resident(&folder).unwrap() > 0 {
            eprintln!("skipped: this file system has nothing but the page cache");
            return;
        }
        image.restore(&copy, false, &AtomicBool::new(false)).unwrap();
        assert_eq!(fs::metadata(copy.join("log")).unwrap().len(), LENGTH);
        let space = accounts::space(&copy).unwrap();
        assert!(space < LENGTH / 4, "{space}");
    }
}
