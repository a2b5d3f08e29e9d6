//! The files that the application holds, each with a descriptor of its backing file.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::{Ino, number, path_of};

/// A file, folder or link of the backing folder. Its inode can't be reused while it is held.
pub(super) struct Inode {
    pub ino: Ino,
    pub kind: FileType,
    /// Says which inode it is, not to read or write by. A file that was created has none: it is
    /// open for writing from the start.
    place: Option<OwnedFd>,
    /// Open for reading only; where writing is not permitted.
    read: OnceLock<OwnedFd>,
    /// Open for reading and writing.
    write: OnceLock<OwnedFd>,
    /// How often the application was told of it, and has not let go. Changes under the table's
    /// lock.
    lookups: AtomicU64,
    /// Held while the data change, so that what is noted of changes has the order of the changes.
    pub changing: Mutex<()>,
    /// Written around the application's page cache since it was last opened through it.
    pub bypassed: AtomicBool,
}

impl Inode {
    /// A file by its place.
    pub fn at(place: OwnedFd, stat: &Stat) -> Self {
        Self::new(Some(place), OnceLock::new(), stat)
    }

    /// A file that was just created and is open for reading and writing.
    pub fn created(file: OwnedFd, stat: &Stat) -> Self {
        Self::new(None, OnceLock::from(file), stat)
    }

    fn new(place: Option<OwnedFd>, write: OnceLock<OwnedFd>, stat: &Stat) -> Self {
        Self {
            ino: number(stat),
            kind: FileType::from_raw_mode(stat.st_mode),
            place,
            read: OnceLock::new(),
            write,
            lookups: AtomicU64::new(0),
            changing: Mutex::new(()),
            bypassed: AtomicBool::new(false),
        }
    }

    /// A descriptor that names it; it may not be open for anything.
    pub fn any(&self) -> &OwnedFd {
        // One of the two is there from the start.
        self.place.as_ref().unwrap_or_else(|| self.write.get().expect("a created file is open"))
    }

    /// A descriptor to read its data by.
    pub fn reader(&self) -> Result<&OwnedFd, Errno> {
        if let Some(file) = self.write.get().or_else(|| self.read.get()) {
            return Ok(file);
        }
        match self.writer() {
            Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => {}
            other => return other,
        }
        let file = self.reopen(OFlags::RDONLY)?;
        Ok(self.read.get_or_init(|| file))
    }

    /// A descriptor to read and write its data by.
    pub fn writer(&self) -> Result<&OwnedFd, Errno> {
        if let Some(file) = self.write.get() {
            return Ok(file);
        }
        let file = self.reopen(OFlags::RDWR)?;
        Ok(self.write.get_or_init(|| file))
    }

    /// A new descriptor of the same inode. Never `O_DIRECT`: some backing file systems refuse it.
    pub fn reopen(&self, flags: OFlags) -> Result<OwnedFd, Errno> {
        rustix::fs::open(path_of(self.any()), flags | OFlags::CLOEXEC, Mode::empty())
    }

    /// What the backing file system tells of it.
    pub fn stat(&self) -> Result<Stat, Errno> {
        rustix::fs::fstat(self.any())
    }
}

/// The files that the application holds, by number.
pub(super) struct Table {
    held: RwLock<HashMap<Ino, Arc<Inode>>>,
}

impl Table {
    /// A table that holds the root, which is never let go.
    pub fn new(root: Arc<Inode>) -> Self {
        root.lookups.store(1, Ordering::Relaxed);
        Self { held: RwLock::new(HashMap::from([(root.ino, root)])) }
    }

    /// A file that is held.
    pub fn get(&self, ino: Ino) -> Option<Arc<Inode>> {
        self.held.read().unwrap_or_else(PoisonError::into_inner).get(&ino).cloned()
    }

    /// Counts that the application was told of a file, and gives the one that is held: if there is
    /// one of that number already, the new one is dropped.
    pub fn hold(&self, inode: Inode) -> Arc<Inode> {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let inode = held.entry(inode.ino).or_insert_with(|| Arc::new(inode));
        inode.lookups.fetch_add(1, Ordering::Relaxed);
        Arc::clone(inode)
    }

    /// Counts that the application was told once more of a file that it holds.
    pub fn hold_again(&self, inode: &Arc<Inode>) {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        inode.lookups.fetch_add(1, Ordering::Relaxed);
        held.entry(inode.ino).or_insert_with(|| Arc::clone(inode));
    }

    /// The application let go of a file `lookups` times. Gives the file when it holds it no more.
    pub fn forget(&self, ino: Ino, lookups: u64) -> Option<Arc<Inode>> {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let inode = held.get(&ino)?;
        let before = inode.lookups.load(Ordering::Relaxed);
        inode.lookups.store(before.saturating_sub(lookups), Ordering::Relaxed);
        if before > lookups { None } else { held.remove(&ino) }
    }
}
