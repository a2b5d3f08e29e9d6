use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::burst::WriteBurst;
use super::{InodeNumber, ROOT, path_of};

pub(super) struct InodeShape {
    pub size: u64,
    /// `None` until it is first needed: finding out takes long for a large file.
    pub solid: Option<bool>,
}

/// A file, folder or link of the backing folder. While it is held, its backing inode can't become
/// another file's.
pub(super) struct Inode {
    pub ino: InodeNumber,
    pub backing: u64,
    pub kind: FileType,
    /// Says which inode it is; not for reading or writing. A created file has none: it is open for
    /// writing from the start.
    place: Option<OwnedFd>,
    /// Used if writing is not permitted.
    read: OnceLock<OwnedFd>,
    write: OnceLock<OwnedFd>,
    /// How often the application has looked it up and not let go. Changes under the table's lock.
    lookups: AtomicU64,
    pub writers: AtomicU32,
    /// Held while the data change, so that changes are noted in their order.
    shape: Mutex<InodeShape>,
    /// Written around the application's page cache since it was last opened through it.
    pub bypassed: AtomicBool,
    pub burst: WriteBurst,
    nameless: AtomicBool,
}

impl Inode {
    pub fn from_place(ino: InodeNumber, place: OwnedFd, stat: &Stat) -> Self {
        Self::new(ino, Some(place), OnceLock::new(), stat)
    }

    pub fn from_created(ino: InodeNumber, file: OwnedFd, stat: &Stat) -> Self {
        Self::new(ino, None, OnceLock::from(file), stat)
    }

    fn new(
        ino: InodeNumber,
        place: Option<OwnedFd>,
        write: OnceLock<OwnedFd>,
        stat: &Stat,
    ) -> Self {
        Self {
            ino,
            backing: stat.st_ino,
            kind: FileType::from_raw_mode(stat.st_mode),
            place,
            read: OnceLock::new(),
            write,
            lookups: AtomicU64::new(0),
            writers: AtomicU32::new(0),
            shape: Mutex::new(InodeShape { size: stat.st_size as u64, solid: None }),
            bypassed: AtomicBool::new(false),
            burst: WriteBurst::default(),
            nameless: AtomicBool::new(false),
        }
    }

    /// A descriptor that names it; it may not be open for anything.
    pub fn any_descriptor(&self) -> &OwnedFd {
        // One of the two is there from the start.
        self.place.as_ref().unwrap_or_else(|| self.write.get().expect("a created file is open"))
    }

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

    pub fn writer(&self) -> Result<&OwnedFd, Errno> {
        if let Some(file) = self.write.get() {
            return Ok(file);
        }
        let file = self.reopen(OFlags::RDWR)?;
        Ok(self.write.get_or_init(|| file))
    }

    /// Never `O_DIRECT`: some backing file systems refuse it.
    pub fn reopen(&self, flags: OFlags) -> Result<OwnedFd, Errno> {
        rustix::fs::open(path_of(self.any_descriptor()), flags | OFlags::CLOEXEC, Mode::empty())
    }

    pub fn stat(&self) -> Result<Stat, Errno> {
        Ok(self.adjust_stat(rustix::fs::fstat(self.any_descriptor())?))
    }

    pub fn adjust_stat(&self, mut stat: Stat) -> Stat {
        stat.st_ino = self.ino;
        if self.is_nameless() {
            // It may have a name among the hidden ones.
            stat.st_nlink = 0;
        } else if self.ino == ROOT {
            // A folder counts those in it, of which one is hidden; file systems that do not count
            // them say 1.
            stat.st_nlink = stat.st_nlink.saturating_sub(1).max(1);
        }
        stat
    }

    /// Held until its data have been changed.
    pub fn lock_shape(&self) -> MutexGuard<'_, InodeShape> {
        self.shape.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_nameless(&self) -> bool {
        self.nameless.load(Ordering::Acquire)
    }

    pub fn find_path(&self, backing: &Path) -> Option<PathBuf> {
        let path = std::fs::read_link(path_of(self.any_descriptor())).ok()?;
        path.strip_prefix(backing).ok().map(Path::to_owned)
    }
}

pub(super) struct InodeTable {
    held: RwLock<HashMap<InodeNumber, Arc<Inode>>>,
}

impl InodeTable {
    pub fn new(root: Arc<Inode>) -> Self {
        root.lookups.store(1, Ordering::Relaxed);
        Self { held: RwLock::new(HashMap::from([(ROOT, root)])) }
    }

    pub fn get(&self, ino: InodeNumber) -> Option<Arc<Inode>> {
        self.held.read().unwrap_or_else(PoisonError::into_inner).get(&ino).cloned()
    }

    /// Counts a lookup by the application. If a file of that number is held already, returns that
    /// and drops the new one.
    pub fn hold(&self, inode: impl Into<Arc<Inode>>) -> Arc<Inode> {
        let inode = inode.into();
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let inode = held.entry(inode.ino).or_insert(inode);
        inode.lookups.fetch_add(1, Ordering::Relaxed);
        Arc::clone(inode)
    }

    /// Returns the file when the application holds it no more.
    pub fn forget(&self, ino: InodeNumber, lookups: u64) -> Option<Arc<Inode>> {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let inode = held.get(&ino)?;
        let before = inode.lookups.load(Ordering::Relaxed);
        inode.lookups.store(before.saturating_sub(lookups), Ordering::Relaxed);
        if before > lookups || ino == ROOT { None } else { held.remove(&ino) }
    }

    pub fn note_nameless(&self, ino: InodeNumber) -> bool {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        let Some(inode) = held.get(&ino) else { return false };
        inode.nameless.store(true, Ordering::Release);
        true
    }

    pub fn held_numbers(&self) -> Vec<InodeNumber> {
        self.held.read().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
    }
}

/// Numbers for the backing file system's inodes, which get used again when a file is gone.
pub(super) struct InodeNumbers {
    given: Mutex<HashMap<u64, InodeNumber>>,
    last: AtomicU64,
}

impl InodeNumbers {
    pub fn new(root: u64) -> Self {
        Self { given: Mutex::new(HashMap::from([(root, ROOT)])), last: AtomicU64::new(ROOT) }
    }

    pub fn next_number(&self) -> InodeNumber {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns whether it is a new number, too.
    pub fn find_or_assign(&self, backing: u64) -> (InodeNumber, bool) {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let before = given.len();
        let ino = *given.entry(backing).or_insert_with(|| self.next_number());
        (ino, given.len() > before)
    }

    /// The number of a file that was just made.
    pub fn assign(&self, backing: u64) -> InodeNumber {
        let ino = self.next_number();
        self.given.lock().unwrap_or_else(PoisonError::into_inner).insert(backing, ino);
        ino
    }

    /// The file is gone. Its inode may be another's by now.
    pub fn release(&self, backing: u64, ino: InodeNumber) {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        if given.get(&backing) == Some(&ino) {
            given.remove(&backing);
        }
    }
}
