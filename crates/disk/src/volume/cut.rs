//! Cutting the power.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::adopt::walk;
use super::graveyard::Graveyard;
use super::{Ino, ROOT, Volume};
use crate::plug::{Contents, Keep, materialise};

impl Volume {
    /// Cuts the power: from now on every call fails with `EIO`, those that wait, too. Writes what
    /// a disk would hold then into the empty folder `to`; the same history and seed give the same.
    ///
    /// # Errors
    /// `to` is not an empty folder outside of the backing folder, or the power is off already:
    /// nothing was done. Or the image can't be written: the power is off then.
    pub fn cut(&self, keep: Keep, seed: u64, to: &Path) -> io::Result<()> {
        let place = to.canonicalize()?;
        if place.starts_with(&self.backing) {
            return Err(io::Error::other("the image can't be inside the backing folder"));
        }
        if fs::read_dir(&place)?.next().is_some() {
            return Err(io::Error::from(io::ErrorKind::DirectoryNotEmpty));
        }
        if self.cut.swap(true, Ordering::AcqRel) {
            return Err(io::Error::other("the power is off already"));
        }
        self.executor.set_timing(false);
        // Before the lock is taken: the kernel may want to write what it is to forget.
        for ino in self.inodes.all() {
            if let Some(tell) = self.outdated.get() {
                tell(ino);
            }
        }
        let _power = self.power.write().unwrap_or_else(PoisonError::into_inner);
        let model = self.model();
        let contents = self.contents()?;
        let image = model.pending.image(keep, seed, &contents)?;
        materialise(&image, &contents, &place)
    }

    /// The present bytes of all files, by number.
    fn contents(&self) -> io::Result<BackingContents<'_>> {
        let mut paths = HashMap::new();
        walk(&self.backing, ROOT, &mut |_, path, meta| {
            let (ino, _) = self.numbers.of(meta.ino());
            paths.insert(ino, (path.to_owned(), meta.len()));
            Ok(ino)
        })?;
        Ok(BackingContents { paths, graveyard: &self.graveyard, open: RefCell::new(None) })
    }
}

/// The bytes of files in the backing folder, those among the hidden ones included.
struct BackingContents<'a> {
    /// Where they are, with their sizes.
    paths: HashMap<Ino, (PathBuf, u64)>,
    graveyard: &'a Graveyard,
    /// The file read last, which is mostly the one that is read next.
    open: RefCell<Option<(Ino, File)>>,
}

impl BackingContents<'_> {
    fn with<T>(&self, ino: Ino, read: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
        let mut open = self.open.borrow_mut();
        match &*open {
            Some((number, file)) if *number == ino => read(file),
            _ => {
                let file = match self.paths.get(&ino) {
                    Some((path, _)) => File::open(path)?,
                    None => File::from(self.graveyard.read(ino)?),
                };
                let read = read(&file);
                *open = Some((ino, file));
                read
            }
        }
    }
}

impl Contents for BackingContents<'_> {
    fn read(&self, ino: Ino, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.with(ino, |file| {
            let mut count = 0;
            while count < buffer.len() {
                match file.read_at(&mut buffer[count..], offset + count as u64)? {
                    0 => break,
                    some => count += some,
                }
            }
            Ok(count)
        })
    }

    fn size(&self, ino: Ino) -> io::Result<u64> {
        match self.paths.get(&ino) {
            Some((_, size)) => Ok(*size),
            None => self.with(ino, |file| Ok(file.metadata()?.len())),
        }
    }
}
