//! A file system over a backing folder, that knows nothing of FUSE.
//!
//! The backing folder always holds what the application sees: data and names are applied to it at
//! once. What a volume adds is what the application has to wait for.
//!
//! A file's number is its inode number in the backing folder, all of which must be on one file
//! system. Nobody else may change the backing folder meanwhile.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode, OFlags, Stat};
use rustix::io::Errno;

mod attributes;
mod data;
mod inode;
mod listing;
mod names;

pub use attributes::{Changes, Moment};
pub use data::{Access, Opened};
pub use listing::{Entry, Listing};
pub use names::Who;

use inode::{Inode, Table};
use listing::Listings;

/// A file's number: that of its inode in the backing folder.
pub type Ino = u64;

/// What a volume is opened with.
#[derive(Clone, Debug, Default)]
pub struct VolumeOptions {}

/// A mounted folder: see the module's text.
pub struct Volume {
    root: Arc<Inode>,
    /// The file system that the backing folder is on.
    device: u64,
    inodes: Table,
    listings: Listings,
    /// Bits that this process may not give to new files.
    umask: u32,
    cut: AtomicBool,
}

impl Volume {
    /// Opens a backing folder.
    ///
    /// # Errors
    /// It can't be opened, or is no folder.
    pub fn open(backing: &Path, _options: VolumeOptions) -> io::Result<Arc<Self>> {
        raise_limit_of_open_files();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(backing, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&folder)?;
        let root = Arc::new(Inode::at(folder, &stat));
        let umask = read_umask()?;
        let inodes = Table::new(Arc::clone(&root));
        let cut = AtomicBool::new(false);
        Ok(Arc::new(Self {
            root,
            device: stat.st_dev,
            inodes,
            listings: Listings::default(),
            umask,
            cut,
        }))
    }

    /// The number of the folder that everything is in.
    pub fn root(&self) -> Ino {
        self.root.ino
    }

    /// Says that the application let go of a file `lookups` times; see [`Volume::lookup`].
    pub fn forget(&self, ino: Ino, lookups: u64) {
        self.inodes.forget(ino, lookups);
    }

    /// A file that the application holds.
    fn inode(&self, ino: Ino) -> Result<Arc<Inode>, Errno> {
        self.alive()?;
        self.inodes.get(ino).ok_or(Errno::STALE)
    }

    /// Fails when the power is off.
    fn alive(&self) -> Result<(), Errno> {
        if self.cut.load(Ordering::Acquire) { Err(Errno::IO) } else { Ok(()) }
    }
}

/// Every file that the application holds takes a descriptor: as many as the system allows.
fn raise_limit_of_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it can't be raised, a lookup too many fails with EMFILE.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// The process's umask. It can be read without changing it only from the process's own file.
fn read_umask() -> io::Result<u32> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let umask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    umask
        .and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok())
        .ok_or_else(|| io::Error::other("/proc/self/status tells no umask"))
}

/// The path by which an open descriptor is opened or named anew.
fn path_of(fd: &OwnedFd) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

/// A file's number, from what the backing file system tells of it.
fn number(stat: &Stat) -> Ino {
    stat.st_ino
}
