//! Places: where a target has its files and processes. The lab restores an image, puts a disk under
//! it, limits memory, and takes all of it away again.

pub mod device;
pub mod disk;
pub mod group;
mod image;
pub mod images;
pub mod leftovers;
pub mod limits;
pub mod page_cache;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use self::device::RawDevice;
use self::disk::TrialDisk;
use self::group::ResourceLimit;
use self::limits::LimitedGroups;
use crate::error::with_context;
use crate::machine::accounts;
use crate::{MachineError, TrialError};

pub use image::{SyncCopy, copy_image};

/// Bytes that must stay free on the disk: below that the run stops before something breaks.
pub const RESERVE: u64 = 64 << 20;

/// A run's own, with an image and a copy of it. A server's data are many more.
const FEWEST_FILES: u64 = 24;
const REMOVING: Duration = Duration::from_secs(30);

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TargetPlace {
    /// `None` for an external target, and on a raw device.
    pub directory: Option<PathBuf>,
    /// A raw device instead of files. The run may overwrite it; its contents are neither copied nor
    /// removed.
    pub device: Option<RawDevice>,
    pub groups: BTreeMap<String, ProcessGroup>,
    /// Whether tables of an earlier run in an external database may be dropped.
    pub reuse: bool,
    /// The file that keeps what an application's own programs write.
    pub programs_log: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessGroup {
    /// The folder of a server's socket, log and configuration.
    pub runtime: Option<PathBuf>,
    /// The folder of the group's own files: only this group may read them into the page cache.
    pub files: Option<PathBuf>,
    pub limit: ResourceLimit,
    /// The `cgroup.procs` file of each control group that its processes join.
    pub cgroups: Vec<PathBuf>,
}

impl TargetPlace {
    pub fn from_folder(directory: &Path) -> Self {
        Self { directory: Some(directory.into()), ..Self::default() }
    }

    pub fn find_group(&self, name: &str) -> Option<&ProcessGroup> {
        self.groups.get(name)
    }

    /// `None` if the data are not here, or a FUSE process with its own caches serves them.
    pub fn block_device(&self) -> std::io::Result<Option<accounts::BlockDevice>> {
        match (&self.device, &self.directory) {
            (Some(device), _) => Ok(Some(accounts::BlockDevice::from_number(device.number))),
            (None, Some(folder)) if accounts::is_fuse(folder)? => Ok(None),
            (None, Some(folder)) => accounts::BlockDevice::from_folder(folder).map(Some),
            (None, None) => Ok(None),
        }
    }

    pub fn join_group(&self, name: &str) -> Result<(), TrialError> {
        let Some(joined) = self.find_group(name) else { return Ok(()) };
        let limited = |e| TrialError::place_error(&format!("the group {name} can't be limited"), e);
        group::join(&joined.cgroups).map_err(limited)
    }

    pub(crate) fn make_folders(&self) -> Result<Vec<PathBuf>, TrialError> {
        let folders = self.groups.values().filter_map(|group| group.runtime.clone());
        let folders: Vec<PathBuf> = folders.collect();
        for folder in &folders {
            with_context("the server's folder", fs::create_dir(folder))?;
        }
        Ok(folders)
    }

    /// The files to read to fill the page cache: each group's own files, read by that group, or
    /// else all files.
    pub fn cache_readers(&self) -> Vec<(Option<&str>, &Path)> {
        let own = self
            .groups
            .iter()
            .filter_map(|(name, group)| Some((Some(name.as_str()), group.files.as_deref()?)));
        let own: Vec<_> = own.collect();
        match own.is_empty() {
            true => self.directory.iter().map(|all| (None, all.as_path())).collect(),
            false => own,
        }
    }
}

pub struct Staged {
    pub place: TargetPlace,
    pub disk: TrialDisk,
    pub limits: LimitedGroups,
    folders: Vec<PathBuf>,
}

impl Staged {
    /// Stages a place over `files`, on a disk mounted in a new folder. `wanted` are the groups
    /// whose server folders are made here.
    pub fn new(
        wanted: impl FnOnce(&Path) -> TargetPlace,
        disk: TrialDisk,
        files: &Path,
        limits: LimitedGroups,
    ) -> Result<Self, TrialError> {
        let mut place = wanted(disk.seen_at().unwrap_or(files));
        for (name, group) in &mut place.groups {
            let Some(held) = limits.find_group(name) else { continue };
            group.limit = held.limit();
            group.cgroups = held.processes();
        }
        let folders = place.make_folders()?;
        Ok(Self { place, disk, limits, folders })
    }

    /// For a disk without power, which is inspected later.
    pub fn into_disk(self) -> Result<TrialDisk, TrialError> {
        remove_folders(&self.folders)?;
        Ok(self.disk)
    }

    pub fn close(self) -> Result<(), TrialError> {
        // No process may use the disk when it is removed.
        let ended = self.limits.end_processes();
        let unmounted = self.disk.unmount();
        remove_folders(&self.folders)?;
        ended.and(unmounted)
    }
}

pub(crate) fn remove_folders(folders: &[PathBuf]) -> Result<(), MachineError> {
    let mut folders = folders.iter();
    folders
        .try_for_each(|folder| with_context("removing the server's folder", remove_folder(folder)))
}

pub fn ensure_room(folder: &Path, needed: u64) -> Result<(), MachineError> {
    let lost = |error: std::io::Error| MachineError::from_folder(folder, &error);
    let free = accounts::free_bytes(folder).map_err(lost)?;
    if free < needed {
        return Err(MachineError::Full {
            folder: folder.into(),
            free,
            needed,
            what_for: String::new(),
        });
    }
    let free = accounts::free_inodes(folder).map_err(lost)?.unwrap_or(u64::MAX);
    if free < FEWEST_FILES {
        let needed = FEWEST_FILES;
        return Err(MachineError::NoInodes { folder: folder.into(), free, needed });
    }
    Ok(())
}

/// A server that is being killed may still write to it for a moment.
pub fn remove_folder(folder: &Path) -> std::io::Result<()> {
    let start = Instant::now();
    while folder.exists() {
        match fs::remove_dir_all(folder) {
            Err(error) if start.elapsed() > REMOVING => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
            Ok(()) => {}
        }
    }
    Ok(())
}
