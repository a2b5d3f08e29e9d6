//! A mounted virtual disk, whose file system counts what it asks of the device.

use std::path::PathBuf;
use std::sync::Arc;

use bakeoff_devices::models::Models;
use bakeoff_devices::station::Station;
use bakeoff_disk::executor::{self, Executor};
use bakeoff_disk::fuse::{self, FuseSession, ServeOptions};
use bakeoff_disk::volume::{Volume, VolumeOptions};
use tempfile::TempDir;

use crate::Requests;

/// A mounted disk; unmounted at the end.
pub struct Virtual {
    volume: Arc<Volume>,
    session: Option<FuseSession>,
    folders: TempDir,
}

impl Virtual {
    /// Mounts an empty one.
    pub fn mount(model: &str) -> Self {
        let folders = tempfile::tempdir().unwrap();
        for folder in ["backing", "mount"] {
            std::fs::create_dir(folders.path().join(folder)).unwrap();
        }
        let spec = Models::standard().parse(model).unwrap();
        let null = spec.is_null();
        let station = Station::new(spec.build(1), 1);
        let options = executor::ExecutorOptions { timing: !null, null };
        let executor = Arc::new(Executor::start(station, options));
        let backing = folders.path().join("backing");
        let volume = Volume::open(&backing, VolumeOptions::new(executor, &spec)).unwrap();
        let options = ServeOptions::default();
        let session = fuse::serve(Arc::clone(&volume), &folders.path().join("mount"), &options);
        Self { volume, session: Some(session.unwrap()), folders }
    }

    /// Its root.
    pub fn path(&self) -> PathBuf {
        self.folders.path().join("mount")
    }

    /// What the device was asked so far.
    pub fn requests(&self) -> Requests {
        let counts = self.volume.counts();
        let (data, journal) = (counts.all.device_writes, counts.journal);
        Requests {
            writes: data.requests + journal.requests,
            bytes: data.bytes + journal.bytes,
            flushes: counts.flushes,
        }
    }
}

impl Drop for Virtual {
    fn drop(&mut self) {
        if let Some(session) = self.session.take()
            && let Err(error) = session.unmount()
        {
            eprintln!("the disk can't be unmounted: {error}");
        }
    }
}
