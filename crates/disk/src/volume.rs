//! A file system over a backing folder, that knows nothing of FUSE.
//!
//! The backing folder always holds what the application sees: data and names are applied to it at
//! once. What a volume adds is what the application has to wait for ([`bakeoff_devices::ext4`],
//! performed by an [`Executor`]), what a cut of the power takes ([`bakeoff_devices::plug`]), and what
//! goes wrong on demand ([`crate::fault`]).
//!
//! Nobody else may change the backing folder meanwhile, and all of it must be on one file system.
//! A folder of the volume's own, [`HIDDEN`], is in it while it is open; the application does not
//! see it.
//!
//! What is not: extended attributes and times are durable at once. Reads that the kernel's page
//! cache answers never come here, so no fault can meet them. A file that the application holds
//! takes a descriptor of this process: as many as the system allows.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard};

use bakeoff_devices::device::Nanos;
use bakeoff_devices::device::raid::Mirrors;
use bakeoff_devices::ext4::{self, DeviceWork, Ext4Counts};
use bakeoff_devices::plug::{History, Metadata};
use bakeoff_devices::spec::Spec;
use bakeoff_devices::trace::Waits;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::executor::Executor;
use crate::fault::{CallFaults, FaultRule};

mod adopt;
mod armed;
mod attributes;
mod contents;
mod cut;
mod data;
mod durable;
mod inode;
mod listing;
mod names;
mod noted;
mod orphans;
mod size;
mod snapshot;
mod space;
mod sync;
mod trace;
mod uncached;
mod unflushed;

pub use attributes::{AttributeChanges, FileTime};
pub use data::{DataAccess, OpenedFile};
pub use listing::{Listing, ListingEntry};
pub use names::FileOwner;
pub use orphans::HIDDEN;

use armed::Armed;
use durable::VolumeModel;
use inode::{Inode, InodeNumbers, InodeTable};
use listing::Listings;
use orphans::Orphans;
use space::SpaceQuota;
use trace::Traces;
use uncached::Touched;

/// A file's number. It is that file's for ever: no other gets it.
pub type InodeNumber = u64;

/// The number of the folder that everything is in.
pub const ROOT: InodeNumber = 1;

/// What a volume is opened with.
#[derive(Clone)]
pub struct VolumeOptions {
    /// Performs what the device has to do.
    pub executor: Arc<Executor>,
    /// Bytes of the device's own cache: see [`Spec::cache`].
    pub device_cache: u64,
    /// How names and attributes become durable.
    pub metadata: Metadata,
    /// Where the copies of the device's bytes are, if it is an array.
    pub mirrors: Option<Mirrors>,
    /// How and where the journal is written, and whether the device is flushed.
    pub journal: ext4::Ext4Parameters,
    /// How long a change of metadata waits for a commit that nobody asks for, in nanoseconds: see
    /// [`ext4::Ext4MountOptions::commit`].
    pub commit: Nanos,
}

impl VolumeOptions {
    /// A file system as ext4 is, on a device of this kind, the work of which this performs.
    pub fn new(executor: Arc<Executor>, spec: &Spec) -> Self {
        Self {
            executor,
            device_cache: spec.cache(),
            metadata: Metadata::default(),
            mirrors: spec.mirrors(),
            journal: spec.file_system(),
            commit: ext4::Ext4MountOptions::default().commit,
        }
    }
}

/// A backing folder in use.
///
/// Locks are taken in this order: `power`, `naming`, a file's own, those of the rest.
pub struct Volume {
    executor: Arc<Executor>,
    backing: PathBuf,
    root: Arc<Inode>,
    /// The file system that the backing folder is on.
    device: u64,
    inodes: InodeTable,
    numbers: InodeNumbers,
    listings: Listings,
    orphans: Orphans,
    model: Mutex<VolumeModel>,
    faults: CallFaults,
    space: SpaceQuota,
    /// Bits that this process may not give to new files.
    umask: u32,
    /// Where the copies of the device's bytes are, if it is an array.
    mirrors: Option<Mirrors>,
    /// Whether data are written to the journal first, so that no write goes around the page cache.
    journals_data: bool,
    /// Held to change names.
    naming: Mutex<()>,
    /// Held to change anything; by the one who makes an image, alone.
    power: RwLock<()>,
    /// When the power went: see [`Volume::off_at`].
    off_at: OnceLock<Nanos>,
    /// Whether no snapshot is to be gone on with.
    leaving: OnceLock<()>,
    armed: Armed,
    traces: Traces,
    /// Told of a file whose pages and attributes are not what the kernel believes.
    outdated: OnceLock<Box<dyn Fn(InodeNumber) + Send + Sync>>,
    /// What is to be taken out of the page cache, if anything is.
    touched: OnceLock<Arc<Touched>>,
}

impl Volume {
    /// Opens a backing folder. All that is in it is durable.
    ///
    /// # Errors
    /// It can't be read through, is no folder, or has another file system mounted in it.
    pub fn open(backing: &Path, options: VolumeOptions) -> io::Result<Arc<Self>> {
        raise_limit_of_open_files();
        let backing = backing.canonicalize()?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&backing, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&folder)?;
        let orphans = Orphans::open(&folder)?;
        let root = Arc::new(Inode::at(ROOT, folder, &stat));
        let model = VolumeModel::new(&stat, &options);
        let volume = Arc::new(Self {
            executor: options.executor,
            backing,
            device: stat.st_dev,
            inodes: InodeTable::new(Arc::clone(&root)),
            numbers: InodeNumbers::new(stat.st_ino),
            root,
            listings: Listings::default(),
            orphans,
            model: Mutex::new(model),
            faults: CallFaults::default(),
            space: SpaceQuota::default(),
            umask: read_umask()?,
            mirrors: options.mirrors,
            journals_data: options.journal.data == ext4::DataMode::Journal,
            naming: Mutex::new(()),
            power: RwLock::new(()),
            off_at: OnceLock::new(),
            leaving: OnceLock::new(),
            armed: Armed::default(),
            traces: Traces::default(),
            outdated: OnceLock::new(),
            touched: OnceLock::new(),
        });
        volume.adopt()?;
        volume.start_ticking();
        Ok(volume)
    }

    /// Says that the application let go of a file `lookups` times; see [`Volume::lookup`].
    pub fn forget(&self, ino: InodeNumber, lookups: u64) {
        if let Some(inode) = self.inodes.forget(ino, lookups)
            && inode.nameless()
        {
            self.gone(ino, inode.backing);
        }
    }

    /// What was asked of the file system, and what it asked of the device.
    pub fn counts(&self) -> Ext4Counts {
        self.model().ext4.counts()
    }

    /// Bytes of memory that the changes take that a cut of the power would take.
    pub fn pending_bytes(&self) -> u64 {
        self.model().pending.bytes()
    }

    /// Bytes of memory that earlier moments take.
    pub fn recorded_bytes(&self) -> u64 {
        self.model().pending.history().map_or(0, History::bytes)
    }

    /// Lets calls fail: see [`FaultRule`].
    pub fn inject(&self, rule: FaultRule) {
        match rule {
            FaultRule::Full(limit) => self.space.limit(limit, || self.used()),
            FaultRule::Call(call) => self.faults.add(call),
            FaultRule::Off => {
                self.faults.clear();
                self.inject(FaultRule::Full(None));
            }
        }
    }

    /// What is to go wrong from now on.
    pub fn faults(&self) -> Vec<FaultRule> {
        let full = self.space.limited().map(|limit| FaultRule::Full(Some(limit)));
        full.into_iter().chain(self.faults.to_come().into_iter().map(FaultRule::Call)).collect()
    }

    /// Whom to tell of a file whose pages and attributes are no longer what the application was
    /// told. Only the first one is told.
    pub(crate) fn on_outdated(&self, tell: impl Fn(InodeNumber) + Send + Sync + 'static) {
        let _ = self.outdated.set(Box::new(tell));
    }

    /// A file that the application holds.
    fn inode(&self, ino: InodeNumber) -> Result<Arc<Inode>, Errno> {
        self.alive()?;
        self.inodes.get(ino).ok_or(Errno::STALE)
    }

    /// Fails when the power is off.
    fn alive(&self) -> Result<(), Errno> {
        if self.is_off() { Err(Errno::IO) } else { Ok(()) }
    }

    /// Keeps the power on while something is changed.
    fn powered(&self) -> Result<RwLockReadGuard<'_, ()>, Errno> {
        // Nobody waits for an image that is being made.
        self.alive()?;
        let power = self.power.read().unwrap_or_else(PoisonError::into_inner);
        self.alive().map(|()| power)
    }

    fn model(&self) -> std::sync::MutexGuard<'_, VolumeModel> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn naming(&self) -> std::sync::MutexGuard<'_, ()> {
        self.naming.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Performs work on a file that was asked for at `came`, by one who waits for it, then calls
    /// `then`: with an error if the power went meanwhile.
    fn perform(
        self: &Arc<Self>,
        came: Nanos,
        (waits, ino): (Waits, InodeNumber),
        work: DeviceWork,
        then: impl FnOnce(Result<(), Errno>) + Send + 'static,
    ) {
        if work.is_empty() {
            return then(self.alive());
        }
        let (volume, ticket) = (Arc::clone(self), work.ticket);
        let then = move || {
            volume.done(ticket);
            then(volume.alive());
        };
        self.trace(waits, Some(ino), &work);
        let quick = waits == Waits::Reader && ticket.number == 0 && is_small(&work);
        if let Some(then) = self.held(&work, Box::new(then)) {
            match quick {
                true => self.executor.perform_quick(came, work, then),
                false => self.executor.perform(came, work, then),
            }
        }
    }

    /// The fault that is due for a call, if any.
    fn fault(&self, call: crate::fault::FallibleCall, inode: &Inode) -> Result<(), Errno> {
        self.faults.check(call, || inode.path(&self.backing))
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        self.orphans.close(self.root.any());
    }
}

/// Whether work is of so few bytes that handing them to who reads takes microseconds.
fn is_small(work: &DeviceWork) -> bool {
    const MOST: u64 = 64 << 10;
    work.steps.iter().flatten().map(|request| request.length).sum::<u64>() <= MOST
}

/// Whether a name in the root is the volume's own.
fn is_hidden(folder: InodeNumber, name: &OsStr) -> bool {
    folder == ROOT && name == HIDDEN
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
fn path_of(fd: &std::os::fd::OwnedFd) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}
