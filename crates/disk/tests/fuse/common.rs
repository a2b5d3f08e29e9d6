//! A disk that is mounted for a test.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bakeoff_devices::device::Nanos;
use bakeoff_devices::models::Models;
use bakeoff_devices::station::Station;
use bakeoff_disk::daemon;
use bakeoff_disk::executor::{self, Executor};
use bakeoff_disk::fuse::{self, FuseSession, ServeOptions};
use bakeoff_disk::volume::{Volume, VolumeOptions};
use bakeoff_testkit::{is_root, needs};
use tempfile::TempDir;

/// Nanoseconds in which any test is over: nothing is committed that nobody has asked for.
const HOUR: Nanos = 3_600_000_000_000;

/// A mounted disk; unmounted and removed at the end.
pub struct Disk {
    pub volume: Arc<Volume>,
    /// The time of its device.
    #[allow(dead_code, reason = "the test of memory does not ask it")]
    pub executor: Arc<Executor>,
    session: Option<FuseSession>,
    /// Holds the backing folder, the mount, and what a test puts beside them.
    pub folders: TempDir,
    model: String,
}

impl Disk {
    /// Mounts an empty one. `None` where this machine can't mount.
    pub fn mount(model: &str) -> Option<Self> {
        needs(daemon::can_mount())?;
        needs(helper())?;
        let folders = tempfile::tempdir().unwrap();
        for folder in ["backing", "mount"] {
            std::fs::create_dir(folders.path().join(folder)).unwrap();
        }
        let (volume, executor, session) = serve(folders.path(), model);
        let (session, model) = (Some(session), model.to_owned());
        Some(Self { volume, executor, session, folders, model })
    }

    /// A path in the mount.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folders.path().join("mount").join(path)
    }

    /// Unmounts it and mounts it again.
    pub fn remount(&mut self) {
        self.session.take().unwrap().unmount().unwrap();
        let (volume, executor, session) = serve(self.folders.path(), &self.model);
        (self.volume, self.executor, self.session) = (volume, executor, Some(session));
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

fn serve(folders: &Path, model: &str) -> (Arc<Volume>, Arc<Executor>, FuseSession) {
    let spec = Models::standard().parse(model).unwrap();
    let null = spec.is_null();
    let station = Station::new(spec.build(1), 1);
    let options = executor::ExecutorOptions { timing: !null, null };
    let executor = Arc::new(Executor::start(station, options));
    let mut options = VolumeOptions::new(Arc::clone(&executor), &spec);
    options.commit = HOUR;
    let volume = Volume::open(&folders.join("backing"), options).unwrap();
    let mountpoint = folders.join("mount");
    let session = fuse::serve(Arc::clone(&volume), &mountpoint, &ServeOptions::default());
    (volume, executor, session.unwrap())
}

/// Sees that there is what an ordinary user mounts by.
fn helper() -> Result<(), &'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = std::env::split_paths(&path).any(|folder| folder.join("fusermount3").exists());
    (is_root() || has).then_some(()).ok_or("not root, and there is no fusermount3 (package fuse3)")
}
