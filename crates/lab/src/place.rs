//! Places: where a target has its files and its processes. An image is restored, a disk put under
//! it, memory limited, and all of it taken away again.

pub mod disk;
mod image;
pub mod images;
pub mod leftovers;
pub mod limits;
pub mod memory;
pub mod page_cache;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use self::disk::Disk;
use self::limits::Limits;
use self::memory::Group;
use crate::error::wanting;
use crate::machine::accounts;
use crate::{MachineError, TrialError};

pub use image::{Sync, copy};

/// Bytes that must stay free on the disk: less, and the run stops before something breaks.
pub const RESERVE: u64 = 64 << 20;
/// How long removing a folder may take.
const REMOVING: Duration = Duration::from_secs(5);

/// A place, as the processes that work in it know it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    /// Where the target's files are, or are to be; `None` for one that somebody else runs.
    pub directory: Option<PathBuf>,
    /// Where a server keeps its socket, log and configuration.
    pub runtime: Option<PathBuf>,
    /// The groups of processes that work for the target.
    pub groups: Vec<ProcessGroup>,
    /// Whether tables of an earlier run, in a database that somebody else runs, may be dropped.
    pub reuse: bool,
}

/// A named group of processes, with what limits it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessGroup {
    /// Its name, as `database`.
    pub name: String,
    /// Bytes of memory that it has, its page cache included, where they are limited.
    pub memory_bytes: Option<u64>,
    /// The control groups that its processes belong into, each by its `cgroup.procs`.
    pub cgroups: Vec<PathBuf>,
}

impl Place {
    /// A folder without limits.
    pub fn folder(directory: &Path) -> Self {
        Self { directory: Some(directory.into()), ..Self::default() }
    }

    /// The group of that name.
    pub fn group(&self, name: &str) -> Option<&ProcessGroup> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// Moves this process into a group.
    ///
    /// # Errors
    /// When the system won't have it.
    pub fn join(&self, name: &str) -> Result<(), TrialError> {
        self.group(name).map_or(Ok(()), join)
    }

    /// Moves this process into all groups, one after the other.
    ///
    /// # Errors
    /// As [`Place::join`].
    pub fn join_all(&self) -> Result<(), TrialError> {
        self.groups.iter().try_for_each(join)
    }
}

fn join(group: &ProcessGroup) -> Result<(), TrialError> {
    memory::join(&group.cgroups).map_err(|e| TrialError::place("memory can't be limited", e))
}

/// A place that is there until it is closed.
pub struct Staged {
    place: Place,
    /// The disk under the files.
    pub disk: Disk,
    /// What the groups' memory is limited by.
    limits: Limits,
    /// What is removed at the end.
    folders: Vec<PathBuf>,
}

impl Staged {
    /// Stages `groups` of processes over the files in `files`, on a disk that is seen in its own
    /// folder. `runtime` is the new folder for what a server keeps beside its data, if there is
    /// one; `limits` hold groups to their memory.
    ///
    /// # Errors
    /// What can't be had.
    pub fn new(
        groups: &[&'static str],
        disk: Disk,
        files: &Path,
        runtime: Option<PathBuf>,
        limits: Limits,
    ) -> Result<Self, TrialError> {
        if let Some(folder) = &runtime {
            wanting("the server's folder", fs::create_dir(folder))?;
        }
        let folders = runtime.iter().cloned().collect();
        let group = |name: &&'static str| ProcessGroup {
            name: (*name).into(),
            memory_bytes: limits.of(name).map(Group::limit),
            cgroups: limits.of(name).map(Group::processes).into_iter().collect(),
        };
        let place = Place {
            directory: Some(disk.seen_at().unwrap_or(files).to_owned()),
            runtime,
            groups: groups.iter().map(group).collect(),
            reuse: false,
        };
        Ok(Self { place, disk, limits, folders })
    }

    /// Where the processes that work in it find it.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// What the groups' memory is limited by.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The disk, to be worked with, beside the limits.
    pub fn disk_and_limits(&mut self) -> (&mut Disk, &Limits) {
        (&mut self.disk, &self.limits)
    }

    /// Removes what was made beside the files, and leaves the disk: one whose power has gone is still
    /// to be looked at.
    ///
    /// # Errors
    /// What can't be removed.
    pub fn into_disk(self) -> Result<Disk, TrialError> {
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
        return Err(MachineError::Full { folder: folder.into(), free, needed });
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
