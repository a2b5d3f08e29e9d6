//! Cutting the power.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, PoisonError};
use std::thread;
use std::time::Duration;

use bakeoff_devices::device::Nanos;
use bakeoff_devices::plug::{Contents, Keep};
use bakeoff_devices::trigger::Trigger;
use bakeoff_folders::Dir;
use rustix::time::{ClockId, clock_gettime};

use super::adopt::{open_below, path_below, walk};
use super::orphans::Orphans;
use super::{Ino, ROOT, Volume};
use crate::materialise::materialise;

impl Volume {
    /// Turns the power off, for good: from now on every call fails with `EIO`, those that wait,
    /// too. Nothing happens when it is off already.
    pub fn power_off(&self) {
        self.go_off();
        self.executor.set_timing(false);
        for ino in self.inodes.all() {
            if let Some(tell) = self.outdated.get() {
                tell(ino);
            }
        }
    }

    /// When the power went, in nanoseconds of `CLOCK_MONOTONIC`: before the first call that failed
    /// for it, and after every answer that was given at an earlier time. `None` while it is on.
    pub fn off_at(&self) -> Option<Nanos> {
        self.off_at.get().copied()
    }

    /// Whether the power is off.
    pub fn is_off(&self) -> bool {
        self.off_at.get().is_some()
    }

    /// Has the power go by itself; replaces what was armed before.
    ///
    /// # Errors
    /// The power is off, the count is 0, or no thread can be started.
    pub fn arm(self: &Arc<Self>, trigger: Trigger) -> io::Result<()> {
        if self.is_off() {
            return Err(io::Error::other("the power is off already"));
        }
        if matches!(trigger, Trigger::Writes(0) | Trigger::Syncs(0)) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the first one is number 1"));
        }
        let (come, heard) = mpsc::channel();
        let volume = Arc::downgrade(self);
        let wait = move || {
            if comes(trigger, &heard)
                && let Some(volume) = volume.upgrade()
            {
                volume.power_off();
            }
        };
        thread::Builder::new().name("disk-plug".into()).spawn(wait)?;
        self.armed.set(trigger, come);
        Ok(())
    }

    /// Counts a write of data: the power may go with it.
    pub(super) fn count_write(&self) {
        if self.armed.write() {
            self.strike();
        }
    }

    /// Counts a sync: the power may go with it.
    pub(super) fn count_sync(&self) {
        if self.armed.sync() {
            self.strike();
        }
    }

    /// The armed moment has come. Another thread does what takes long: this one may be what the
    /// kernel waits for before it can forget a page.
    fn strike(&self) {
        self.go_off();
        self.armed.come();
    }

    fn go_off(&self) {
        let now = clock_gettime(ClockId::Monotonic);
        // The first moment counts.
        let _ = self.off_at.set(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64);
    }

    /// Turns the power off and makes an image, if there can be one at `to`: see [`Volume::image`].
    ///
    /// # Errors
    /// `to` is not an empty folder outside of the backing folder: nothing was done. Or the image
    /// can't be written: the power is off then.
    pub fn cut(&self, keep: Keep, seed: u64, to: &Path) -> io::Result<()> {
        self.check_place(to)?;
        self.power_off();
        self.image(keep, seed, to)
    }

    /// Writes what a disk would hold since the power is off into the empty folder `to`. There may
    /// be as many images of that moment as wanted; the same history, rule and seed give the same.
    /// An image is not synced: it is durable on its own disk when that disk's system says so.
    ///
    /// # Errors
    /// The power is on, `to` is not an empty folder outside of the backing folder, or the image
    /// can't be written.
    pub fn image(&self, keep: Keep, seed: u64, to: &Path) -> io::Result<()> {
        if !self.is_off() {
            return Err(io::Error::other("the power is on"));
        }
        let place = self.check_place(to)?;
        let _power = self.power.write().unwrap_or_else(PoisonError::into_inner);
        let model = self.model();
        let contents = self.contents()?;
        let image = model.pending.image(keep, seed, &contents)?;
        materialise(&image, &contents, &place)
    }

    /// Sees that an image can be made in a folder; says where it is.
    fn check_place(&self, to: &Path) -> io::Result<PathBuf> {
        let place = to.canonicalize()?;
        if place.starts_with(&self.backing) {
            return Err(io::Error::other("the image can't be inside the backing folder"));
        }
        if fs::read_dir(&place)?.next().is_some() {
            return Err(io::Error::from(io::ErrorKind::DirectoryNotEmpty));
        }
        Ok(place)
    }

    /// The present bytes of all files, by number.
    fn contents(&self) -> io::Result<BackingContents<'_>> {
        let (mut files, backing) = (HashMap::new(), self.backing()?);
        walk(&backing, ROOT, &mut |_, folder, entry| {
            let (ino, _) = self.numbers.of(entry.stat.st_ino);
            let path = path_below(&backing, folder, entry);
            let size = entry.stat.st_size.cast_unsigned();
            files.insert(ino, Backing { path, number: entry.stat.st_ino, size });
            Ok(ino)
        })?;
        let (orphans, open) = (&self.orphans, RefCell::new(None));
        Ok(BackingContents { backing, files, orphans, open })
    }
}

/// Waits for a moment; says whether it came before another one was armed or the volume was gone.
fn comes(trigger: Trigger, heard: &Receiver<()>) -> bool {
    let limit = match trigger {
        Trigger::After(time) => time,
        Trigger::Writes(_) | Trigger::Syncs(_) => Duration::MAX,
    };
    heard.recv_timeout(limit) != Err(RecvTimeoutError::Disconnected)
}

/// A file in the backing folder.
struct Backing {
    /// Where it is in it.
    path: PathBuf,
    /// Its number there.
    number: u64,
    size: u64,
}

/// The bytes of files in the backing folder, those among the hidden ones included.
struct BackingContents<'a> {
    backing: Dir,
    files: HashMap<Ino, Backing>,
    orphans: &'a Orphans,
    /// The file read last, which is mostly the one that is read next.
    open: RefCell<Option<(Ino, File)>>,
}

impl BackingContents<'_> {
    fn with<T>(&self, ino: Ino, read: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
        let mut open = self.open.borrow_mut();
        match &*open {
            Some((number, file)) if *number == ino => read(file),
            _ => {
                let file = match self.files.get(&ino) {
                    Some(file) => open_below(&self.backing, &file.path, file.number)?,
                    None => File::from(self.orphans.read(ino)?),
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
        match self.files.get(&ino) {
            Some(file) => Ok(file.size),
            None => self.with(ino, |file| Ok(file.metadata()?.len())),
        }
    }
}
