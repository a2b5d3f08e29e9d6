//! A trial's levels as a target resolved them: its data, its home, and its groups of processes with
//! their limits.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::{Subject, Target};
use crate::place::device::RawDevice;
use crate::place::group::ResourceLimit;
use crate::place::images::Recipe;
use crate::place::limits::SharedLimit;
use crate::place::{ProcessGroup, TargetPlace};
use crate::refusal::Refusal;
use bakeoff_engines as engines;
use bakeoff_experiment::{Cell, Cpus, Experiment, MemoryLimit};

#[derive(Clone, Copy, Debug)]
pub struct WantedLevels<'a> {
    pub experiment: &'a Experiment,
    pub cell: &'a Cell,
    /// The experiment's workload, or that of its power cuts.
    pub workload: &'a str,
    /// Which load of the data, from 0.
    pub image: u32,
}

impl WantedLevels<'_> {
    /// Also refuses groups or limits with the same name, and shared limits of missing groups or of
    /// groups that have one already.
    pub fn resolve(&self, target: &dyn Target) -> Result<Setup, Refusal> {
        let setup = target.resolve(self)?;
        match setup.wrong_groups() {
            None => Ok(setup),
            Some(wrong) => {
                let why = format!("the target `{}` {wrong}", target.name());
                Err(Refusal { levels: BTreeMap::new(), why })
            }
        }
    }
}

/// A part of names that tells loads of the same data apart; empty for the first image.
pub fn describe_image(image: u32) -> String {
    if image == 0 { String::new() } else { format!(" image {}", image + 1) }
}

/// Its `Debug` leaves out the subject, which may have a password.
#[derive(Clone)]
pub struct Setup {
    pub target: &'static str,
    pub subject: Arc<dyn Subject>,
    pub recipe: Recipe,
    pub groups: Vec<GroupSetup>,
    pub shared: Vec<SharedLimit<GroupLimit>>,
    pub home: TargetHome,
}

/// Where a target runs. Decides the cost of staging and what can be done to the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetHome {
    /// Only the clients open or recover them.
    Files,
    Embedded,
    /// Private servers, started for a trial and stopped with it. A server needs a folder beside its
    /// data for its socket and log.
    Server,
    /// A server that somebody else runs: it has no files here, and can't be limited, restored, cut
    /// or killed. It is loaded anew for each trial.
    Elsewhere,
}

impl From<engines::EngineHome> for TargetHome {
    fn from(home: engines::EngineHome) -> Self {
        match home {
            engines::EngineHome::Process => Self::Embedded,
            engines::EngineHome::Server => Self::Server,
            engines::EngineHome::External => Self::Elsewhere,
        }
    }
}

impl fmt::Debug for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Setup").field("recipe", &self.recipe).finish_non_exhaustive()
    }
}

impl Setup {
    pub fn has_server(&self) -> bool {
        self.home == TargetHome::Server
    }

    pub fn is_elsewhere(&self) -> bool {
        self.home == TargetHome::Elsewhere
    }

    fn wrong_groups(&self) -> Option<String> {
        let mut names = BTreeSet::new();
        if let Some(GroupSetup { name, .. }) = self.groups.iter().find(|it| !names.insert(it.name))
        {
            return Some(format!(
                "has two groups of processes named `{name}`: each needs a name of its own"
            ));
        }
        let groups = names.clone();
        let mut sharing: BTreeMap<&str, &str> = BTreeMap::new();
        for SharedLimit { name, groups: of, .. } in &self.shared {
            if !names.insert(name) {
                return Some(format!(
                    "has a shared limit named `{name}` like another one or like a group of processes: \
                     each needs a name of its own"
                ));
            }
            if let Some(group) = of.iter().find(|group| !groups.contains(*group)) {
                let all: Vec<&str> = groups.into_iter().collect();
                return Some(format!(
                    "has the limit `{name}` shared by `{group}`, which is no group of it: name some of {}",
                    all.join(", ")
                ));
            }
            for group in of {
                if let Some(other) = sharing.insert(group, name) {
                    return Some(format!(
                        "has the group `{group}` share the limit `{other}` and the limit `{name}`: it \
                         can share one, once"
                    ));
                }
            }
        }
        None
    }

    /// Sets no limits yet. A server's folder is `server` with the group's name.
    pub fn make_place(&self, directory: &Path, server: &Path) -> TargetPlace {
        let group = |wanted: &GroupSetup| {
            let mut folder = server.as_os_str().to_owned();
            folder.push("-");
            folder.push(wanted.name);
            let runtime = wanted.has_server.then(|| folder.into());
            let files = wanted.files.map(|below| directory.join(below));
            (wanted.name.to_owned(), ProcessGroup { runtime, files, ..ProcessGroup::default() })
        };
        TargetPlace {
            groups: self.groups.iter().map(group).collect(),
            ..TargetPlace::from_folder(directory)
        }
    }

    pub fn on_device(&self, device: &RawDevice) -> TargetPlace {
        let group = |wanted: &GroupSetup| (wanted.name.to_owned(), ProcessGroup::default());
        let groups = self.groups.iter().map(group).collect();
        TargetPlace { groups, device: Some(device.clone()), ..TargetPlace::default() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupSetup {
    pub name: &'static str,
    pub has_server: bool,
    /// A folder below the place's, or the whole if it is empty.
    pub files: Option<&'static str>,
    pub limit: GroupLimit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupLimit {
    /// Includes the page cache.
    pub memory: MemoryLimit,
    pub cpus: Cpus,
}

impl GroupLimit {
    pub const NONE: Self = Self { memory: MemoryLimit::Unlimited, cpus: Cpus::Unlimited };

    /// `loaded` are the bytes of the data.
    pub fn resolve_for_data(self, loaded: u64) -> ResourceLimit {
        let memory_bytes = match self.memory {
            MemoryLimit::Unlimited => None,
            MemoryLimit::Bytes(bytes) => Some(bytes),
            MemoryLimit::Share(percent) => Some(loaded * u64::from(percent) / 100),
        };
        ResourceLimit { memory_bytes, cpu_milli: self.cpus.milli() }
    }
}

impl SharedLimit<GroupLimit> {
    pub fn resolve_for_data(&self, loaded: u64) -> SharedLimit<ResourceLimit> {
        let Self { name, groups, limit } = self;
        SharedLimit { name, groups: groups.clone(), limit: limit.resolve_for_data(loaded) }
    }
}
