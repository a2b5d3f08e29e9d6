//! A disk for a test, whose calls are made without FUSE or through a mount.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

use bakeoff_devices::device::Nanos;
use bakeoff_devices::ext4::{Mode, SyncScope};
use bakeoff_devices::models::Models;
use bakeoff_devices::plug::Keep;
use bakeoff_devices::station::Station;
use bakeoff_disk::daemon;
use bakeoff_disk::executor::{self, Executor};
use bakeoff_disk::fuse::{self, FuseSession, ServeOptions};
use bakeoff_disk::volume::{DataAccess, FileOwner, InodeNumber, ROOT, Volume, VolumeOptions};
use bakeoff_testkit::{is_root, needs};
use rustix::fs::RenameFlags;
use rustix::io::Errno;
use tempfile::TempDir;

pub const PAGE: usize = 4096;

pub const BUFFERED: DataAccess =
    DataAccess { mode: Mode::Buffered, sync: None, drop_privileges: false, gathered: false };
pub const DIRECT: DataAccess =
    DataAccess { mode: Mode::Direct, sync: None, drop_privileges: false, gathered: false };

/// Nanoseconds in which any test is over: nothing is committed that nobody has asked for.
const HOUR: Nanos = 3_600_000_000_000;

/// A disk; unmounted if it was mounted, and removed at the end.
pub struct Disk {
    pub volume: Arc<Volume>,
    /// The time of its device.
    pub executor: Arc<Executor>,
    session: Option<FuseSession>,
    /// Holds the backing folder, the mount, and what a test puts beside them.
    pub folders: TempDir,
    model: String,
    write_back: bool,
}

/// How a call ends.
pub type Ending<T> = mpsc::Receiver<Result<T, Errno>>;

impl Disk {
    /// A disk with these files in it, durable, over a new folder, that is mounted nowhere.
    pub fn with_files(model: &str, files: &[(&str, &[u8])]) -> Self {
        Self::with_options(model, files, true, |_| {})
    }

    /// The same, whose work takes time or not.
    pub fn with_options(
        model: &str,
        files: &[(&str, &[u8])],
        timing: bool,
        change: impl Fn(&mut VolumeOptions),
    ) -> Self {
        Self::with_options_in(tempfile::tempdir().unwrap(), model, files, timing, change)
    }

    /// The same, whose files lie in this folder.
    pub fn with_options_in(
        folders: TempDir,
        model: &str,
        files: &[(&str, &[u8])],
        timing: bool,
        change: impl Fn(&mut VolumeOptions),
    ) -> Self {
        for (name, bytes) in files {
            let path = folders.path().join("backing").join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        let (volume, executor) = open(folders.path(), model, timing, change);
        Self {
            volume,
            executor,
            session: None,
            folders,
            model: model.to_owned(),
            write_back: false,
        }
    }

    /// Mounts an empty one. `None` where this machine can't mount.
    pub fn mount(model: &str) -> Option<Self> {
        Self::mount_with(model, false)
    }

    /// Mounts an empty one, whose buffered writes the kernel gathers or not.
    pub fn mount_with(model: &str, write_back: bool) -> Option<Self> {
        Self::mount_in(tempfile::tempdir().unwrap(), model, write_back)
    }

    /// The same, whose files lie in this folder.
    pub fn mount_in(folders: TempDir, model: &str, write_back: bool) -> Option<Self> {
        needs(daemon::can_mount())?;
        needs(helper())?;
        for folder in ["backing", "mount"] {
            std::fs::create_dir(folders.path().join(folder)).unwrap();
        }
        let (volume, executor) = open(folders.path(), model, true, |_| {});
        let session = Some(serve(&volume, folders.path(), write_back));
        Some(Self { volume, executor, session, folders, model: model.to_owned(), write_back })
    }

    /// Unmounts it and mounts it again.
    pub fn remount(&mut self) {
        self.session.take().unwrap().unmount().unwrap();
        (self.volume, self.executor) = open(self.folders.path(), &self.model, true, |_| {});
        self.session = Some(serve(&self.volume, self.folders.path(), self.write_back));
    }

    /// A path in the mount.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folders.path().join("mount").join(path)
    }

    /// A new empty folder outside of the disk.
    pub fn folder(&self, name: &str) -> PathBuf {
        let path = self.folders.path().join(name);
        std::fs::create_dir(&path).unwrap();
        path
    }

    /// Cuts the power; the folder of what is left.
    pub fn cut(&self, keep: Keep) -> PathBuf {
        let image = self.folder("image");
        self.volume.cut_power(keep, 1, &image).unwrap();
        image
    }

    pub fn find(&self, path: &str) -> InodeNumber {
        path.split('/')
            .fold(ROOT, |dir, name| self.volume.lookup(dir, OsStr::new(name)).unwrap().st_ino)
    }

    /// Finds a file and opens it for as long as the disk is there.
    pub fn open(&self, path: &str) -> InodeNumber {
        let ino = self.find(path);
        self.volume.open_file(ino, Mode::Buffered, true).unwrap();
        ino
    }

    pub fn create(&self, name: &str) -> InodeNumber {
        let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        self.volume.create(ROOT, OsStr::new(name), 0o600, FileOwner { uid, gid }).unwrap().st_ino
    }

    pub fn rename(&self, from: &str, to: &str) {
        let (from, to) = (OsStr::new(from), OsStr::new(to));
        self.volume.rename(ROOT, from, ROOT, to, RenameFlags::empty()).unwrap();
    }

    pub fn write(
        &self,
        ino: InodeNumber,
        offset: usize,
        data: &[u8],
        access: DataAccess,
    ) -> Result<(), Errno> {
        let (done, end) = mpsc::channel();
        let length = data.len();
        self.volume.write(ino, offset as u64, data, access, move |wrote| done.send(wrote).unwrap());
        end.recv().unwrap().map(|wrote| assert_eq!(wrote, length))
    }

    pub fn begin_sync(&self, ino: InodeNumber, scope: SyncScope) -> Ending<()> {
        let (done, end) = mpsc::channel();
        self.volume.fsync(ino, scope, move |synced| done.send(synced).unwrap());
        end
    }

    pub fn sync(&self, ino: InodeNumber, scope: SyncScope) -> Result<(), Errno> {
        self.begin_sync(ino, scope).recv().unwrap()
    }

    /// Syncs the root.
    pub fn sync_folder(&self) -> Result<(), Errno> {
        let (done, end) = mpsc::channel();
        self.volume.fsyncdir(ROOT, move |synced| done.send(synced).unwrap());
        end.recv().unwrap()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if let Some(session) = self.session.take()
            && let Err(error) = session.unmount()
        {
            eprintln!("the disk can't be unmounted: {error}");
        }
    }
}

fn open(
    folders: &Path,
    model: &str,
    timing: bool,
    change: impl Fn(&mut VolumeOptions),
) -> (Arc<Volume>, Arc<Executor>) {
    let spec = Models::standard().parse(model).unwrap();
    let null = spec.is_null();
    let options = executor::ExecutorOptions { timing: timing && !null, null };
    let executor = Arc::new(Executor::start(Station::new(spec.build(1), 1), options));
    let mut options = VolumeOptions::new(Arc::clone(&executor), &spec);
    options.commit = HOUR;
    change(&mut options);
    (Volume::open(&folders.join("backing"), options).unwrap(), executor)
}

fn serve(volume: &Arc<Volume>, folders: &Path, write_back: bool) -> FuseSession {
    let (at, options) = (folders.join("mount"), ServeOptions { write_back, ..Default::default() });
    fuse::serve_volume(Arc::clone(volume), &at, &options).unwrap()
}

/// Sees that there is what an ordinary user mounts by.
fn helper() -> Result<(), &'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = std::env::split_paths(&path).any(|folder| folder.join("fusermount3").exists());
    (is_root() || has).then_some(()).ok_or("not root, and there is no fusermount3 (package fuse3)")
}
