//! The files that the application holds, each with a descriptor of its backing file.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::{InodeNumber, ROOT, path_of};

/// Where a file has data.
pub(super) struct InodeShape {
    /// Bytes.
    pub size: u64,
    /// Whether it has no holes; `None` until somebody looks, which takes long for a large file.
    pub solid: Option<bool>,
}

/// A file, folder or link of the backing folder. Its backing inode can't become another file's
/// while it is held.
pub(super) struct Inode {
    pub ino: InodeNumber,
    /// Its number in the backing file system.
    pub backing: u64,
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
    /// How often it is open for writing.
    pub writers: AtomicU32,
    /// Held while the data change, so that what is noted of changes has the order of the changes.
    shape: Mutex<InodeShape>,
    /// Written around the application's page cache since it was last opened through it.
    pub bypassed: AtomicBool,
    /// The application has removed its last name.
    nameless: AtomicBool,
}

impl Inode {
    /// A file by its place.
    pub fn at(ino: InodeNumber, place: OwnedFd, stat: &Stat) -> Self {
        Self::new(ino, Some(place), OnceLock::new(), stat)
    }

    /// A file that was just created and is open for reading and writing.
    pub fn created(ino: InodeNumber, file: OwnedFd, stat: &Stat) -> Self {
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
            nameless: AtomicBool::new(false),
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

    /// What the application is told of it.
    pub fn stat(&self) -> Result<Stat, Errno> {
        Ok(self.told(rustix::fs::fstat(self.any())?))
    }

    /// What the backing file system says of it, as the application is told.
    pub fn told(&self, mut stat: Stat) -> Stat {
        stat.st_ino = self.ino;
        if self.nameless() {
            // It may have a name among the hidden ones.
            stat.st_nlink = 0;
        } else if self.ino == ROOT {
            // A folder counts those in it, of which one is hidden; file systems that do not count
            // them say 1.
            stat.st_nlink = stat.st_nlink.saturating_sub(1).max(1);
        }
        stat
    }

    /// Its shape, held until its data have been changed.
    pub fn shape(&self) -> MutexGuard<'_, InodeShape> {
        self.shape.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the application has removed its last name.
    pub fn nameless(&self) -> bool {
        self.nameless.load(Ordering::Acquire)
    }

    /// One of its names, from the backing folder on.
    pub fn path(&self, backing: &Path) -> Option<PathBuf> {
        let path = std::fs::read_link(path_of(self.any())).ok()?;
        path.strip_prefix(backing).ok().map(Path::to_owned)
    }
}

/// The files that the application holds, by number.
pub(super) struct InodeTable {
    held: RwLock<HashMap<InodeNumber, Arc<Inode>>>,
}

impl InodeTable {
    /// A table that holds the root, which is never let go.
    pub fn new(root: Arc<Inode>) -> Self {
        root.lookups.store(1, Ordering::Relaxed);
        Self { held: RwLock::new(HashMap::from([(ROOT, root)])) }
    }

    /// A file that is held.
    pub fn get(&self, ino: InodeNumber) -> Option<Arc<Inode>> {
        self.held.read().unwrap_or_else(PoisonError::into_inner).get(&ino).cloned()
    }

    /// Counts that the application was told of a file. Returns the file that is held: if one of that
    /// number is held already, the new one is dropped.
    pub fn hold(&self, inode: impl Into<Arc<Inode>>) -> Arc<Inode> {
        let inode = inode.into();
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let inode = held.entry(inode.ino).or_insert(inode);
        inode.lookups.fetch_add(1, Ordering::Relaxed);
        Arc::clone(inode)
    }

    /// The application let go of a file `lookups` times. Gives the file when it holds it no more.
    pub fn forget(&self, ino: InodeNumber, lookups: u64) -> Option<Arc<Inode>> {
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let inode = held.get(&ino)?;
        let before = inode.lookups.load(Ordering::Relaxed);
        inode.lookups.store(before.saturating_sub(lookups), Ordering::Relaxed);
        if before > lookups || ino == ROOT { None } else { held.remove(&ino) }
    }

    /// Notes that a file's last name was removed. Says whether the application still holds it.
    pub fn unname(&self, ino: InodeNumber) -> bool {
        let held = self.held.read().unwrap_or_else(PoisonError::into_inner);
        let Some(inode) = held.get(&ino) else { return false };
        inode.nameless.store(true, Ordering::Release);
        true
    }

    /// All numbers that are held.
    pub fn all(&self) -> Vec<InodeNumber> {
        self.held.read().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
    }
}

/// Numbers for the backing file system's inodes, which get used again when a file is gone.
pub(super) struct InodeNumbers {
    given: Mutex<HashMap<u64, InodeNumber>>,
    last: AtomicU64,
}

impl InodeNumbers {
    /// Numbers, of which the root has its own.
    pub fn new(root: u64) -> Self {
        Self { given: Mutex::new(HashMap::from([(root, ROOT)])), last: AtomicU64::new(ROOT) }
    }

    /// A number that nothing has.
    pub fn fresh(&self) -> InodeNumber {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The number of a file that is there, and whether it had none.
    pub fn find_or_assign(&self, backing: u64) -> (InodeNumber, bool) {
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let before = given.len();
        let ino = *given.entry(backing).or_insert_with(|| self.fresh());
        (ino, given.len() > before)
    }

    /// The number of a file that was just made.
    pub fn assign(&self, backing: u64) -> InodeNumber {
        let ino = self.fresh();
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
