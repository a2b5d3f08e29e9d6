//! Places: where a target has its files and its processes. An image is restored, a disk put under
//! it, memory limited, and all of it taken away again.

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
use crate::error::wanting;
use crate::machine::accounts;
use crate::{MachineError, TrialError};

pub use image::{SyncCopy, copy};

/// Bytes that must stay free on the disk: less, and the run stops before something breaks.
pub const RESERVE: u64 = 64 << 20;
/// How long removing a folder may take.
const REMOVING: Duration = Duration::from_secs(30);

/// A place, as the processes that work in it know it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TargetPlace {
    /// Where the target's files are, or are to be; `None` for one that somebody else runs, and on a raw device.
    pub directory: Option<PathBuf>,
    /// The raw device that is in the place of the target's files. What is on it is the run's to write over; the
    /// lab holds it, and nobody copies or removes it.
    pub device: Option<RawDevice>,
    /// The groups of processes that work for the target, by their names, as `database`.
    pub groups: BTreeMap<String, ProcessGroup>,
    /// Whether tables of an earlier run, in a database that somebody else runs, may be dropped.
    pub reuse: bool,
}

/// A group of processes, with what limits it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessGroup {
    /// Where its server keeps its socket, log and configuration, if it has one.
    pub runtime: Option<PathBuf>,
    /// The folder of the files that are its own: who brings them into the page cache belongs to it.
    pub files: Option<PathBuf>,
    /// The most that it may have.
    pub limit: ResourceLimit,
    /// The control groups that its processes belong into, each by its `cgroup.procs`.
    pub cgroups: Vec<PathBuf>,
}

impl TargetPlace {
    /// A folder without limits.
    pub fn folder(directory: &Path) -> Self {
        Self { directory: Some(directory.into()), ..Self::default() }
    }

    /// The group of that name.
    pub fn group(&self, name: &str) -> Option<&ProcessGroup> {
        self.groups.get(name)
    }

    /// The block device that the target's reads and writes go to, as the kernel accounts for it; `None` where its
    /// data are not here, and where a process serves them (FUSE), which has caches of its own.
    ///
    /// # Errors
    /// When the folder can't be read.
    pub fn block_device(&self) -> std::io::Result<Option<accounts::BlockDevice>> {
        match (&self.device, &self.directory) {
            (Some(device), _) => Ok(Some(accounts::BlockDevice::from_number(device.number))),
            (None, Some(folder)) if accounts::is_fuse(folder)? => Ok(None),
            (None, Some(folder)) => accounts::BlockDevice::under(folder).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// Moves this process into a group, and into no other.
    ///
    /// # Errors
    /// When the system won't have it.
    pub fn join(&self, name: &str) -> Result<(), TrialError> {
        let Some(joined) = self.group(name) else { return Ok(()) };
        let limited = |e| TrialError::place(&format!("the group {name} can't be limited"), e);
        group::join(&joined.cgroups).map_err(limited)
    }

    /// Makes the folders of the groups' servers; which these are.
    ///
    /// # Errors
    /// The first that can't be made.
    pub(crate) fn make_folders(&self) -> Result<Vec<PathBuf>, TrialError> {
        let folders = self.groups.values().filter_map(|group| group.runtime.clone());
        let folders: Vec<PathBuf> = folders.collect();
        for folder in &folders {
            wanting("the server's folder", fs::create_dir(folder))?;
        }
        Ok(folders)
    }

    /// What is to be read so that the page cache holds it: each group's own files by the group, or
    /// all of them where no group has any.
    pub fn readers(&self) -> Vec<(Option<&str>, &Path)> {
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

/// A place that is there until it is closed.
pub struct Staged {
    place: TargetPlace,
    /// The disk under the files.
    pub disk: TrialDisk,
    /// What the groups are limited by.
    limits: LimitedGroups,
    /// What is removed at the end.
    folders: Vec<PathBuf>,
}

impl Staged {
    /// Stages a place over the files in `files`, on a disk that is seen in its own folder. `wanted`
    /// are the groups of processes over them, whose servers' folders are made here; `limits` hold
    /// groups to what they may have.
    ///
    /// # Errors
    /// What can't be had.
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

    /// Where the processes that work in it find it.
    pub fn place(&self) -> &TargetPlace {
        &self.place
    }

    /// What the groups are limited by.
    pub fn limits(&self) -> &LimitedGroups {
        &self.limits
    }

    /// The disk, to be worked with, beside the limits.
    pub fn disk_and_limits(&mut self) -> (&mut TrialDisk, &LimitedGroups) {
        (&mut self.disk, &self.limits)
    }

    /// Removes what was made beside the files, and leaves the disk: one whose power has gone is still
    /// to be looked at.
    ///
    /// # Errors
    /// What can't be removed.
    pub fn into_disk(self) -> Result<TrialDisk, TrialError> {
        for folder in &self.folders {
            wanting("removing the server's folder", remove(folder))?;
        }
        Ok(self.disk)
    }

    /// Ends what still works in it, takes the disk away and removes what was made beside the files.
    ///
    /// # Errors
    /// What can't be ended or taken away.
    pub fn close(self) -> Result<(), TrialError> {
        // Nobody may still use the disk when it is taken away.
        let ended = self.limits.end_processes();
        let unmounted = self.disk.unmount();
        for folder in &self.folders {
            wanting("removing the server's folder", remove(folder))?;
        }
        ended.and(unmounted)
    }
}

/// Fails unless `needed` bytes are free under `folder`.
///
/// # Errors
/// [`MachineError::Full`].
pub fn room(folder: &Path, needed: u64) -> Result<(), MachineError> {
    let free = wanting("the free space", accounts::free(folder))?;
    if free < needed {
        return Err(MachineError::Full {
            folder: folder.into(),
            free,
            needed,
            what_for: String::new(),
        });
    }
    Ok(())
}

/// Removes a folder. A server that is being killed may still write in it for a moment.
///
/// # Errors
/// When it is still there after some seconds.
pub fn remove(folder: &Path) -> std::io::Result<()> {
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
