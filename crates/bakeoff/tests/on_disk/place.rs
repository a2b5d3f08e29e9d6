//! Where a test puts its data: a virtual disk, mounted by the command as a user would.

use std::path::{Path, PathBuf};

use bakeoff_devices::plug::Keep;
use bakeoff_disk::control::DiskControl;
use bakeoff_disk::mount::{Launcher, MountOptions, Mounted};
use bakeoff_testkit::{folder_for_all, needs, open_to_all};
use tempfile::TempDir;

/// The command under test.
const BAKEOFF: &str = env!("CARGO_BIN_EXE_bakeoff");

/// bakeoff as a disk's daemon.
fn launcher() -> Launcher {
    Launcher { program: BAKEOFF.into(), arguments: vec!["disk-daemon".into()] }
}

/// A place for data, which goes when this is dropped.
pub struct Place {
    // Unmounted before its folder is removed.
    disk: Option<Mounted>,
    timed: bool,
    path: PathBuf,
    /// How often its power was cut.
    cuts: u64,
    folder: TempDir,
}

impl Place {
    /// Mounts a disk of a model, its timing off. None where that can't be done.
    pub fn new(model: &str) -> Option<Self> {
        let folder = folder_for_all();
        let backing = made(folder.path().join("backing"));
        if std::env::var_os("ON_DISK").is_some_and(|place| place == "folder") {
            return Some(Self { disk: None, timed: false, path: backing, cuts: 0, folder });
        }
        needs(bakeoff_disk::daemon::can_mount())?;
        let mountpoint = made(folder.path().join("disk"));
        let timed = model != "null";
        let disk = mounted(&backing, &mountpoint, model);
        Some(Self { disk: Some(disk), timed, path: mountpoint, cuts: 0, folder })
    }

    /// The folder for the data.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is a plain folder.
    pub fn is_folder(&self) -> bool {
        self.disk.is_none()
    }

    /// Does something while the disk takes its time.
    pub fn timed<T>(&self, work: impl FnOnce() -> T) -> T {
        let set = |on| {
            if let Some(disk) = self.disk.as_ref().filter(|_| self.timed) {
                disk.control().set_timing(on).expect("the disk is there");
            }
        };
        set(true);
        let result = work();
        set(false);
        result
    }

    /// Cuts the disk's power.
    pub fn cut(&mut self, keep: Keep) {
        self.cuts += 1;
        let image = made(self.image());
        self.control().cut(keep, self.cuts, &image).expect("the power is on");
    }

    /// Mounts, in the same place, what the last power cut has left.
    pub fn reboot(&mut self) {
        let disk = self.disk.take().expect("a power cut needs a disk");
        disk.unmount().expect("nobody uses the disk");
        self.disk = Some(mounted(&self.image(), &self.path, "null"));
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join(format!("image-{}", self.cuts))
    }

    fn control(&self) -> &DiskControl {
        self.disk.as_ref().expect("a power cut needs a disk").control()
    }

    /// Unmounts the disk, which nobody may use any more.
    pub fn leave(mut self) {
        if let Some(disk) = self.disk.take() {
            disk.unmount().expect("nobody uses the disk");
        }
    }
}

/// Mounts a disk; one that is not `null` with its timing off.
fn mounted(backing: &Path, mountpoint: &Path, model: &str) -> Mounted {
    let mut options = MountOptions::new(backing, mountpoint, model);
    options.timing = model == "null";
    Mounted::start(&launcher(), &options).expect("a disk can be mounted")
}

fn made(folder: PathBuf) -> PathBuf {
    std::fs::create_dir(&folder).expect("a new folder");
    open_to_all(&folder);
    folder
}
