//! What a target makes of a trial's levels: how its data come about, where it does its work, and the groups
//! of processes that work for it, with their limits.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use bakeoff_engines as engines;
use bakeoff_experiment::{Cell, Cpus, Experiment, MemoryLimit};
use serde_json::Value;

use super::Target;
use crate::place::device::RawDevice;
use crate::place::group::ResourceLimit;
use crate::place::images::Recipe;
use crate::place::limits::SharedLimit;
use crate::place::{ProcessGroup, TargetPlace};
use crate::refusal::Refusal;

/// The levels that a target is to resolve.
#[derive(Clone, Copy, Debug)]
pub struct WantedLevels<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The levels.
    pub cell: &'a Cell,
    /// The workload: the experiment's, or the one that its power cuts are made with.
    pub workload: &'a str,
}

impl WantedLevels<'_> {
    /// What a target makes of them.
    ///
    /// # Errors
    /// The target's own refusal; two of its groups or shared limits have one name, so that nobody could
    /// say whose limit it is and who is charged; a shared limit is of a group that is not there, or has
    /// one already.
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

/// What a target made of a trial's levels. Its `Debug` leaves the subject out, which may have a
/// password.
#[derive(Clone, PartialEq)]
pub struct Setup {
    /// The target's name.
    pub target: &'static str,
    /// What [`Target::prepare`] is given: the target's own.
    pub subject: Value,
    /// How its data come about.
    pub recipe: Recipe,
    /// The groups of processes that work for it, each of another name.
    pub groups: Vec<GroupSetup>,
    /// Limits that several of these share, each of a name that no group has.
    pub shared: Vec<SharedLimit<GroupLimit>>,
    /// Where it does its work.
    pub home: TargetHome,
}

/// Where a target does its work: what it costs to stage, and what can be done to it, go by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetHome {
    /// In files alone: nothing is opened but these, and nothing recovers them.
    Files,
    /// In a store in the trial's process.
    Embedded,
    /// In private servers, which are started for a trial and stopped with it. A server wants a folder
    /// beside its data for its socket and log.
    Server,
    /// In a server that somebody else runs: it has no files here, and nothing of it can be limited,
    /// restored, cut or killed. It is loaded anew for each trial.
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
    /// Whether it has a private server.
    pub fn has_server(&self) -> bool {
        self.home == TargetHome::Server
    }

    /// Whether somebody else runs it.
    pub fn is_elsewhere(&self) -> bool {
        self.home == TargetHome::Elsewhere
    }

    /// What is wrong with its groups: what follows the name of its target.
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

    /// A place over the files in `directory`, nothing of it limited. Each server has a folder of its
    /// own for what it keeps beside its data, which is to be made: `server`, and the group's name.
    pub fn place(&self, directory: &Path, server: &Path) -> TargetPlace {
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
            ..TargetPlace::folder(directory)
        }
    }

    /// A place on a raw device, nothing of it limited: no group has files or a server.
    pub fn on_device(&self, device: &RawDevice) -> TargetPlace {
        let group = |wanted: &GroupSetup| (wanted.name.to_owned(), ProcessGroup::default());
        let groups = self.groups.iter().map(group).collect();
        TargetPlace { groups, device: Some(device.clone()), ..TargetPlace::default() }
    }
}

/// A group of processes that a target wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupSetup {
    /// Its name, as `database`.
    pub name: &'static str,
    /// Whether it is a server, which wants a folder beside its data for its socket and log.
    pub has_server: bool,
    /// The files that are its own, as a folder below the place's: the whole where it is empty.
    pub files: Option<&'static str>,
    /// The most that it may have, by the trial's levels.
    pub limit: GroupLimit,
}

/// The most that a group may have, as levels say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupLimit {
    /// Of memory, its page cache included.
    pub memory: MemoryLimit,
    /// Of processors.
    pub cpus: Cpus,
}

impl GroupLimit {
    /// None.
    pub const NONE: Self = Self { memory: MemoryLimit::Unlimited, cpus: Cpus::Unlimited };

    /// With data of so many bytes.
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
    /// With data of so many bytes.
    pub fn resolve_for_data(&self, loaded: u64) -> SharedLimit<ResourceLimit> {
        let Self { name, groups, limit } = self;
        SharedLimit { name, groups: groups.clone(), limit: limit.resolve_for_data(loaded) }
    }
}
