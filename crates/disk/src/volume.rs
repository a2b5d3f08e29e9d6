//! A file system over a backing folder, that knows nothing of FUSE.
//!
//! The backing folder always holds what the application sees: data and names are applied to it at
//! once. A volume adds what the application has to wait for ([`bakeoff_devices::ext4`], performed
//! by an [`Executor`]), what a power cut takes ([`bakeoff_devices::plug`]), and what goes wrong on
//! demand ([`crate::fault`]).
//!
//! Nobody else may change the backing folder meanwhile, and all of it must be on one file system.
//! While it is open, the volume's own folder [`HIDDEN`] is in it; the application does not see it.
//!
//! Not modelled: extended attributes and times are durable at once. Reads that the kernel's page
//! cache answers never come here, so no fault can meet them. Each file that the application holds
//! takes a descriptor of this process.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
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
mod attributes;
mod burst;
mod contents;
mod countdown;
mod cut;
mod data;
mod durable;
mod extended;
mod inode;
mod listing;
mod moments;
mod names;
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

use countdown::ArmedTriggers;
use durable::VolumeModel;
use inode::{Inode, InodeNumbers, InodeTable};
use listing::Listings;
use orphans::Orphans;
use space::{LastRemoval, SpaceQuota};
use trace::Traces;
use uncached::TouchMonitor;

/// It is that file's for ever: no other gets it.
pub type InodeNumber = u64;

pub const ROOT: InodeNumber = 1;

#[derive(Clone)]
pub struct VolumeOptions {
    pub executor: Arc<Executor>,
    /// Bytes of the device's own cache: see [`Spec::cache_bytes`].
    pub device_cache: u64,
    /// See [`ext4::Ext4MountOptions::has_fua`].
    pub has_fua: bool,
    pub metadata: Metadata,
    /// On an array: where the copies of the device's bytes are.
    pub mirrors: Option<Mirrors>,
    pub journal: ext4::Ext4Parameters,
    /// In nanoseconds: see [`ext4::Ext4MountOptions::commit`].
    pub commit: Nanos,
}

impl VolumeOptions {
    pub fn new(executor: Arc<Executor>, spec: &Spec) -> Self {
        Self {
            executor,
            device_cache: spec.cache_bytes(),
            has_fua: spec.has_fua(),
            metadata: Metadata::default(),
            mirrors: spec.mirrors(),
            journal: spec.file_system(),
            commit: ext4::Ext4MountOptions::default().commit,
        }
    }
}

/// Locks are taken in this order: `power`, `naming`, a file's own, those of the rest.
pub struct Volume {
    executor: Arc<Executor>,
    backing: PathBuf,
    root: Arc<Inode>,
    device: u64,
    inodes: InodeTable,
    numbers: InodeNumbers,
    listings: Listings,
    orphans: Orphans,
    model: Mutex<VolumeModel>,
    faults: CallFaults,
    waited_writes: AtomicU64,
    space: SpaceQuota,
    last_removal: LastRemoval,
    /// Bits that this process may not give to new files.
    umask: u32,
    mirrors: Option<Mirrors>,
    /// Whether data are written to the journal first, so that no write bypasses the page cache.
    journals_data: bool,
    /// Held to change names.
    naming: Mutex<()>,
    /// Held to change anything; exclusively by the maker of an image.
    power: RwLock<()>,
    off_at: OnceLock<Nanos>,
    leaving: OnceLock<()>,
    armed: ArmedTriggers,
    traces: Traces,
    /// Called when the kernel's view of a file's pages or attributes is outdated.
    outdated: OnceLock<Box<dyn Fn(InodeNumber) + Send + Sync>>,
    touched: OnceLock<Arc<TouchMonitor>>,
}

impl Volume {
    /// All that is in the folder is durable. Fails if another file system is mounted in it.
    pub fn open(backing: &Path, options: VolumeOptions) -> io::Result<Arc<Self>> {
        raise_limit_of_open_files();
        let backing = backing.canonicalize()?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::open(&backing, flags, Mode::empty())?;
        let stat = rustix::fs::fstat(&folder)?;
        let orphans = Orphans::open(&folder)?;
        let root = Arc::new(Inode::from_place(ROOT, folder, &stat));
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
            waited_writes: AtomicU64::new(0),
            space: SpaceQuota::default(),
            last_removal: LastRemoval::default(),
            umask: read_umask()?,
            mirrors: options.mirrors,
            journals_data: options.journal.data == ext4::DataMode::Journal,
            naming: Mutex::new(()),
            power: RwLock::new(()),
            off_at: OnceLock::new(),
            leaving: OnceLock::new(),
            armed: ArmedTriggers::default(),
            traces: Traces::default(),
            outdated: OnceLock::new(),
            touched: OnceLock::new(),
        });
        volume.adopt_all()?;
        volume.start_ticking();
        Ok(volume)
    }

    /// The application let go of a file `lookups` times; see [`Volume::lookup`].
    pub fn forget(&self, ino: InodeNumber, lookups: u64) {
        if let Some(inode) = self.inodes.forget(ino, lookups)
            && inode.is_nameless()
        {
            let bytes = inode.stat().map_or(0, |stat| stat.st_blocks.cast_unsigned() * 512);
            self.forget_file(ino, inode.backing);
            drop(inode);
            self.last_removal.note(bytes);
        }
    }

    pub fn counts(&self) -> Ext4Counts {
        self.lock_model().ext4.counts()
    }

    /// Writes that the kernel did not gather.
    pub fn count_waited_writes(&self) -> u64 {
        self.waited_writes.load(Ordering::Relaxed)
    }

    pub fn pending_bytes(&self) -> u64 {
        self.lock_model().pending.memory_bytes()
    }

    pub fn recorded_bytes(&self) -> u64 {
        self.lock_model().pending.history().map_or(0, History::memory_bytes)
    }

    pub fn inject_fault(&self, rule: FaultRule) {
        match rule {
            FaultRule::Full(limit) => self.space.set_limit(limit, || self.used_bytes()),
            FaultRule::Call(call) => self.faults.add(call),
            FaultRule::Off => {
                self.faults.clear();
                self.inject_fault(FaultRule::Full(None));
            }
        }
    }

    pub fn faults(&self) -> Vec<FaultRule> {
        let full = self.space.limit_bytes().map(|limit| FaultRule::Full(Some(limit)));
        full.into_iter().chain(self.faults.to_come().into_iter().map(FaultRule::Call)).collect()
    }

    /// Sets the function that is called when the application's view of a file is outdated. Only the
    /// first one is used.
    pub(crate) fn on_outdated(&self, tell: impl Fn(InodeNumber) + Send + Sync + 'static) {
        let _ = self.outdated.set(Box::new(tell));
    }

    fn find_inode(&self, ino: InodeNumber) -> Result<Arc<Inode>, Errno> {
        self.check_power()?;
        self.inodes.get(ino).ok_or(Errno::STALE)
    }

    fn check_power(&self) -> Result<(), Errno> {
        if self.is_off() { Err(Errno::IO) } else { Ok(()) }
    }

    fn hold_power(&self) -> Result<RwLockReadGuard<'_, ()>, Errno> {
        // Calls must not wait for an image in the making.
        self.check_power()?;
        let power = self.power.read().unwrap_or_else(PoisonError::into_inner);
        self.check_power().map(|()| power)
    }

    fn lock_model(&self) -> std::sync::MutexGuard<'_, VolumeModel> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_naming(&self) -> std::sync::MutexGuard<'_, ()> {
        self.naming.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Performs work on a file that was asked for at `came`, then calls `then`: with an error if
    /// the power went meanwhile.
    fn perform_work(
        self: &Arc<Self>,
        came: Nanos,
        (waits, ino): (Waits, InodeNumber),
        work: DeviceWork,
        then: impl FnOnce(Result<(), Errno>) + Send + 'static,
    ) {
        if work.is_empty() {
            return then(self.check_power());
        }
        let (volume, ticket) = (Arc::clone(self), work.ticket);
        let then = move || {
            volume.finish_work(ticket);
            then(volume.check_power());
        };
        self.trace_work(waits, Some(ino), &work);
        let quick = waits == Waits::Reader && ticket.number == 0 && is_small(&work);
        if let Some(then) = self.hold_answer(&work, Box::new(then)) {
            match quick {
                true => self.executor.perform_quick(came, work, then),
                false => self.executor.perform(came, work, then),
            }
        }
    }

    fn check_fault(&self, call: crate::fault::FallibleCall, inode: &Inode) -> Result<(), Errno> {
        self.faults.check_call(call, || inode.find_path(&self.backing))
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        self.orphans.close(self.root.any_descriptor());
    }
}

/// Whether handing the bytes over takes microseconds.
fn is_small(work: &DeviceWork) -> bool {
    const MOST: u64 = 64 << 10;
    work.steps.iter().flatten().map(|request| request.length).sum::<u64>() <= MOST
}

fn is_hidden(folder: InodeNumber, name: &OsStr) -> bool {
    folder == ROOT && name == HIDDEN
}

fn raise_limit_of_open_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Without it, a lookup too many fails with EMFILE.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Read from the process's own file: the call would change it.
fn read_umask() -> io::Result<u32> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let umask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    umask
        .and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok())
        .ok_or_else(|| io::Error::other("/proc/self/status tells no umask"))
}

fn path_of(fd: &std::os::fd::OwnedFd) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}
