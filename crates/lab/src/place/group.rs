//! Limits of a group of processes: control groups that bound the memory that they use together with
//! the page cache of the files they read and write, and the processors that they have.
//!
//! A group's name says which process made it, so that one whose maker was killed is known.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

mod hierarchy;
mod memory;
mod processors;

use crate::patience::PATIENCE;
use hierarchy::{CHILDREN, Hierarchy, PROCESSES};
use memory::GroupMemory;
use processors::GroupProcessors;
pub use processors::Throttled;

/// How the name of every group of bakeoff's begins.
const PREFIX: &str = "bakeoff-";
/// The controllers of what is limited.
const MEMORY: &str = "memory";
const CPU: &str = "cpu";

/// The most that the processes of a group may have; what is `None` is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimit {
    /// Bytes of memory, the page cache of its files included.
    pub memory_bytes: Option<u64>,
    /// Thousandths of a processor.
    pub cpu_milli: Option<u32>,
}

impl ResourceLimit {
    /// Of so many bytes of memory.
    pub fn memory(bytes: u64) -> Self {
        Self { memory_bytes: Some(bytes), cpu_milli: None }
    }

    /// Of so many thousandths of a processor.
    pub fn processors(milli: u32) -> Self {
        Self { memory_bytes: None, cpu_milli: Some(milli) }
    }

    /// What is left of it where another limit holds, too.
    #[must_use]
    pub fn within(self, other: Self) -> Self {
        fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            one.into_iter().chain(other).min()
        }
        Self {
            memory_bytes: least(self.memory_bytes, other.memory_bytes),
            cpu_milli: least(self.cpu_milli, other.cpu_milli),
        }
    }

    /// The controllers that it takes.
    fn controllers(self) -> Vec<&'static str> {
        let memory = self.memory_bytes.map(|_| MEMORY);
        memory.into_iter().chain(self.cpu_milli.map(|_| CPU)).collect()
    }
}

/// A control group: one for all limits by version 2, one for each by version 1.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ControlGroup {
    path: PathBuf,
    version: u8,
    /// The controllers of what it can limit.
    controllers: Vec<&'static str>,
}

impl ControlGroup {
    /// Has groups in this one be limited by themselves and held to its limits together.
    fn divide(&self) -> io::Result<()> {
        if self.version == 2 {
            let all: Vec<String> = self.controllers.iter().map(|it| format!("+{it}")).collect();
            return fs::write(self.path.join(CHILDREN), all.join(" "));
        }
        // Since Linux 5.11 it is always so.
        let together = self.path.join("memory.use_hierarchy");
        match fs::read_to_string(&together) {
            Ok(text) if text.trim() == "0" => fs::write(&together, "1"),
            _ => Ok(()),
        }
    }
}

/// A group with limits. When it is dropped, its processes are ended and it goes.
#[derive(Debug)]
pub struct LimitedGroup {
    levels: Vec<ControlGroup>,
    memory: Option<GroupMemory>,
    processors: Option<GroupProcessors>,
}

impl LimitedGroup {
    /// Makes a group whose processes may have no more than that together.
    ///
    /// # Errors
    /// It can't be limited here: why, and what to do.
    pub fn create(limit: ResourceLimit) -> Result<Self, String> {
        Self::in_hierarchies(&limit.controllers(), limit)
    }

    /// Makes a group for the groups of several, which may have no more than that together. `each` are
    /// the limits that some of them have of their own. No process belongs to it but by one of these.
    ///
    /// # Errors
    /// As [`LimitedGroup::create`].
    pub fn of_several(limit: ResourceLimit, each: &[ResourceLimit]) -> Result<Self, String> {
        let mut controllers = limit.controllers();
        for controller in each.iter().flat_map(|it| it.controllers()) {
            if !controllers.contains(&controller) {
                controllers.push(controller);
            }
        }
        let group = Self::in_hierarchies(&controllers, limit)?;
        for level in &group.levels {
            level.divide().map_err(|error| refused(&level.path, &level.controllers, &error))?;
        }
        Ok(group)
    }

    /// Makes a group in this one, which is of several: its processes may have no more than this limit,
    /// and with those of the others no more than that of all.
    ///
    /// # Errors
    /// As [`LimitedGroup::create`].
    pub fn create_within(&self, limit: ResourceLimit) -> Result<Self, String> {
        // Version 1 takes no larger quota of processors than the one above it.
        Self::below(&self.levels, limit.within(self.limit()))
    }

    fn in_hierarchies(controllers: &[&'static str], limit: ResourceLimit) -> Result<Self, String> {
        let mut above = Vec::new();
        for hierarchy in Hierarchy::find_by_controllers(controllers)? {
            let path =
                hierarchy.parent().map_err(|why| unlimited(hierarchy.controllers[0], &why))?;
            let (version, controllers) = (hierarchy.version, hierarchy.controllers);
            above.push(ControlGroup { path, version, controllers });
        }
        Self::below(&above, limit)
    }

    /// Makes a group in those above, each of which holds a part of the limit.
    fn below(above: &[ControlGroup], limit: ResourceLimit) -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = name(&COUNT.fetch_add(1, Ordering::Relaxed).to_string());
        let mut group = Self { levels: Vec::new(), memory: None, processors: None };
        for above in above {
            let level = ControlGroup { path: above.path.join(&name), ..above.clone() };
            let wrong = |error: io::Error| refused(&level.path, &level.controllers, &error);
            // Where both controllers of version 1 are mounted together, it is there already.
            if !group.levels.iter().any(|made| made.path == level.path) {
                fs::create_dir(&level.path).map_err(wrong)?;
            }
            group.levels.push(level.clone());
            group.set(&level, limit).map_err(wrong)?;
        }
        Ok(group)
    }

    /// Sets what of a limit a control group holds.
    fn set(&mut self, level: &ControlGroup, limit: ResourceLimit) -> io::Result<()> {
        let ControlGroup { path, version, controllers } = level;
        let held = |controller| controllers.contains(&controller);
        if let Some(bytes) = limit.memory_bytes.filter(|_| held(MEMORY)) {
            self.memory = Some(GroupMemory::limit(path, *version, bytes)?);
        }
        if let Some(milli) = limit.cpu_milli.filter(|_| held(CPU)) {
            self.processors = Some(GroupProcessors::limit(path, *version, milli)?);
        }
        Ok(())
    }

    /// The folders of its control groups, each once, that of its memory first.
    fn paths(&self) -> Vec<&Path> {
        let mut paths: Vec<&Path> = self.levels.iter().map(|level| level.path.as_path()).collect();
        paths.dedup();
        paths
    }

    /// Its limits.
    pub fn limit(&self) -> ResourceLimit {
        ResourceLimit {
            memory_bytes: self.memory.as_ref().map(|memory| memory.limit),
            cpu_milli: self.processors.as_ref().map(|processors| processors.milli),
        }
    }

    /// The files that a process writes `0` to, each of them, in order to belong to the group.
    pub fn processes(&self) -> Vec<PathBuf> {
        self.paths().into_iter().map(|path| path.join(PROCESSES)).collect()
    }

    /// The names of the processes that are in it, but for this one.
    pub fn members(&self) -> Vec<String> {
        let lists = self.processes().into_iter().filter_map(|list| fs::read_to_string(list).ok());
        let lists: Vec<String> = lists.collect();
        let pids: BTreeSet<u32> = lists.iter().flat_map(|list| pids(list)).collect();
        let me = std::process::id();
        let name = |pid: u32| fs::read_to_string(format!("/proc/{pid}/comm")).ok();
        let names = pids.into_iter().filter(|pid| *pid != me).filter_map(name);
        names.map(|name| name.trim().to_owned()).collect()
    }

    /// Ends the processes that are still in it, and waits until they are gone.
    ///
    /// # Errors
    /// They don't end.
    pub fn end_processes(&self) -> io::Result<()> {
        self.paths().into_iter().try_for_each(end_processes)
    }

    /// Lets its processes have as much memory as the machine has from now on. [`LimitedGroup::limit`] is what it was.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn lift_memory(&self) -> io::Result<()> {
        self.memory.as_ref().map_or(Ok(()), GroupMemory::lift)
    }

    fn of_memory<T>(&self, ask: impl FnOnce(&GroupMemory) -> io::Result<T>) -> io::Result<T> {
        self.memory.as_ref().map_or_else(|| Err(io::ErrorKind::Unsupported.into()), ask)
    }

    /// Bytes in use, the page cache among them.
    ///
    /// # Errors
    /// The kernel does not tell, as where memory is not limited.
    pub fn usage(&self) -> io::Result<u64> {
        self.of_memory(GroupMemory::usage)
    }

    /// The most that was in use at once; `None` where the kernel does not tell.
    pub fn peak(&self) -> Option<u64> {
        self.memory.as_ref()?.peak()
    }

    /// Bytes of files in the page cache. Memory that processes share is not among them.
    ///
    /// # Errors
    /// As [`LimitedGroup::usage`].
    pub fn cached(&self) -> io::Result<u64> {
        self.of_memory(GroupMemory::cached)
    }

    /// How many processes were killed because the limit of memory was reached.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn out_of_memory_kills(&self) -> io::Result<u64> {
        self.memory.as_ref().map_or(Ok(0), GroupMemory::out_of_memory_kills)
    }

    /// What it has waited for its quota of processors since it was made; `None` where it has none, or
    /// the kernel does not tell.
    pub fn throttled(&self) -> Option<Throttled> {
        self.processors.as_ref()?.throttled().ok()
    }
}

impl Drop for LimitedGroup {
    fn drop(&mut self) {
        // One that can't be removed now is found by the next run.
        self.paths().into_iter().for_each(|path| drop(remove(path)));
    }
}

/// Moves this process into groups, given by their lists of processes.
///
/// # Errors
/// The first one that does not take it.
pub fn join(groups: &[PathBuf]) -> io::Result<()> {
    groups.iter().try_for_each(|group| fs::write(group, "0"))
}

/// Limits a process's memory, to see that it can be done; says by what.
///
/// # Errors
/// Why it can't, and what to do.
pub fn try_memory_limit() -> Result<String, String> {
    try_limit(ResourceLimit::memory(64 << 20))
}

/// Gives a process a quota of processors, to see that it can be done; says by what.
///
/// # Errors
/// Why it can't, and what to do.
pub fn try_cpu_limit() -> Result<String, String> {
    try_limit(ResourceLimit::processors(500))
}

fn try_limit(limit: ResourceLimit) -> Result<String, String> {
    let controllers = limit.controllers();
    let refused = |why: String| unlimited(controllers[0], &why);
    let group = LimitedGroup::create(limit)?;
    let mut child = Command::new("cat");
    let child = child.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
    let mut child = child.map_err(|error| refused(format!("cat can't be run: {error}")))?;
    let id = child.id().to_string();
    let moved = group.processes().iter().try_for_each(|list| fs::write(list, &id));
    // It ends with its input.
    drop(child.stdin.take());
    let _ = child.wait();
    let own = &group.levels[0].path;
    let place = own.parent().unwrap_or(own).display();
    let version = Hierarchy::find_by_controllers(&controllers)?[0].version;
    match moved {
        Ok(()) => Ok(format!("cgroup v{version}, in {place}")),
        Err(error) => Err(refused(format!("no process can be moved into {place}: {error}"))),
    }
}

/// Removes the groups of runs that are gone; returns those that were removed.
pub fn sweep() -> Vec<PathBuf> {
    let mut removed = Vec::new();
    let hierarchies =
        [MEMORY, CPU].into_iter().filter_map(|it| Hierarchy::find_by_controllers(&[it]).ok());
    for hierarchy in hierarchies.flatten() {
        sweep_below(&hierarchy.root, &mut removed);
    }
    removed
}

fn sweep_below(folder: &Path, removed: &mut Vec<PathBuf>) {
    // A group that can't be looked into, or has just gone, is nobody's to remove.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        // A group goes after those in it.
        sweep_below(&entry.path(), removed);
        let name = entry.file_name();
        if name.to_str().is_some_and(is_left_over) && remove(&entry.path()).is_ok() {
            removed.push(entry.path());
        }
    }
}

/// The name of a group of this process's.
fn name(what: &str) -> String {
    let me = std::process::id();
    format!("{PREFIX}{}-{me}-{}-{what}", namespace(), started(me).unwrap_or(0))
}

/// Whether a group is one of bakeoff's, and its maker is gone. Those who see other processes than
/// this one, as in another container, are left alone.
fn is_left_over(name: &str) -> bool {
    let Some(text) = name.strip_prefix(PREFIX) else { return false };
    let mut fields = text.split('-').map(str::parse::<u64>);
    match (fields.next(), fields.next(), fields.next()) {
        (Some(Ok(space)), Some(Ok(pid)), Some(Ok(start))) => {
            let pid = u32::try_from(pid).unwrap_or(0);
            space == namespace() && started(pid) != Some(start)
        }
        _ => false,
    }
}

/// The namespace that this process sees others in.
fn namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino())
}

/// When a process started, in ticks since the machine did: field 22 of proc_pid_stat(5).
fn started(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // A name in parentheses comes second, and may hold anything.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Ends a group's processes and waits until they are gone, for [`PATIENCE`] at most.
fn end_processes(group: &Path) -> io::Result<()> {
    let start = Instant::now();
    loop {
        let processes = fs::read_to_string(group.join(PROCESSES))?;
        let mut pids = pids(&processes).filter_map(|pid| Pid::from_raw(pid.try_into().ok()?));
        let Some(first) = pids.next() else { return Ok(()) };
        if start.elapsed() > PATIENCE {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        for pid in [first].into_iter().chain(pids).filter(|pid| *pid != rustix::process::getpid()) {
            // One that is gone already is no loss.
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Ends a group's processes, then removes it.
fn remove(group: &Path) -> io::Result<()> {
    end_processes(group)?;
    // Version 1 only: what is still in the page cache would keep the group alive, unseen.
    let _ = fs::write(group.join("memory.force_empty"), "0");
    fs::remove_dir(group)
}

/// The processes in the text of a list.
fn pids(list: &str) -> impl Iterator<Item = u32> {
    list.lines().filter_map(|pid| pid.parse().ok())
}

/// Says that a control group can't be made or set.
fn refused(path: &Path, controllers: &[&str], error: &io::Error) -> String {
    unlimited(controllers[0], &format!("{}: {error}", path.display()))
}

fn unlimited(controller: &str, why: &str) -> String {
    let what = if controller == CPU { "processors" } else { "memory" };
    format!("{what} can't be limited: {why}")
}

fn number(text: &str) -> io::Result<u64> {
    text.trim().parse().map_err(|_| io::ErrorKind::InvalidData.into())
}

/// The number that stands behind a name at the start of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line?.trim().parse().ok()
}

#[cfg(test)]
mod tests;
