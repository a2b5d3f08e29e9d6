//! Limits for a group of processes: control groups that bound its memory, page cache included, and
//! its processors.
//!
//! A group's name identifies the process that made it, so that groups of killed runs can be found.

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

use crate::machine::KILL_TIMEOUT;
use hierarchy::{CHILDREN, Hierarchy, PROCESSES};
use memory::GroupMemory;
use processors::GroupProcessors;
pub use processors::ThrottleCounts;

const PREFIX: &str = "bakeoff-";
const MEMORY: &str = "memory";
const CPU: &str = "cpu";

/// `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimit {
    /// Includes the page cache of its files.
    pub memory_bytes: Option<u64>,
    /// Thousandths of a processor.
    pub cpu_milli: Option<u32>,
}

impl ResourceLimit {
    pub fn from_memory(bytes: u64) -> Self {
        Self { memory_bytes: Some(bytes), cpu_milli: None }
    }

    pub fn from_processors(milli: u32) -> Self {
        Self { memory_bytes: None, cpu_milli: Some(milli) }
    }

    #[must_use]
    pub fn at_most(self, other: Self) -> Self {
        fn take_smaller<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            one.into_iter().chain(other).min()
        }
        Self {
            memory_bytes: take_smaller(self.memory_bytes, other.memory_bytes),
            cpu_milli: take_smaller(self.cpu_milli, other.cpu_milli),
        }
    }

    fn controllers(self) -> Vec<&'static str> {
        let memory = self.memory_bytes.map(|_| MEMORY);
        memory.into_iter().chain(self.cpu_milli.map(|_| CPU)).collect()
    }
}

/// Version 2 has one group for all limits, version 1 one for each.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ControlGroup {
    path: PathBuf,
    version: u8,
    controllers: Vec<&'static str>,
}

impl ControlGroup {
    /// Lets child groups have limits of their own, within this one's.
    fn divide(&self) -> io::Result<()> {
        if self.version == 2 {
            let all: Vec<String> = self.controllers.iter().map(|it| format!("+{it}")).collect();
            return fs::write(self.path.join(CHILDREN), all.join(" "));
        }
        // Always so since Linux 5.11.
        let together = self.path.join("memory.use_hierarchy");
        match fs::read_to_string(&together) {
            Ok(text) if text.trim() == "0" => fs::write(&together, "1"),
            _ => Ok(()),
        }
    }
}

/// When it is dropped, its processes are killed and it is removed.
#[derive(Debug)]
pub struct LimitedGroup {
    levels: Vec<ControlGroup>,
    memory: Option<GroupMemory>,
    processors: Option<GroupProcessors>,
}

impl LimitedGroup {
    /// The error says why this machine can't limit it, and what to do.
    pub fn create(limit: ResourceLimit) -> Result<Self, String> {
        Self::in_hierarchies(&limit.controllers(), limit)
    }

    /// A group around several groups, which share `limit`. `each` are limits that some of them have
    /// of their own. Processes join only the inner groups.
    pub fn of_several(limit: ResourceLimit, each: &[ResourceLimit]) -> Result<Self, String> {
        let mut controllers = limit.controllers();
        for controller in each.iter().flat_map(|it| it.controllers()) {
            if !controllers.contains(&controller) {
                controllers.push(controller);
            }
        }
        let group = Self::in_hierarchies(&controllers, limit)?;
        for level in &group.levels {
            level
                .divide()
                .map_err(|error| refusal_text(&level.path, &level.controllers, &error))?;
        }
        Ok(group)
    }

    /// A group inside this one: its processes have this limit, and all inner groups together have
    /// the outer one.
    pub fn create_within(&self, limit: ResourceLimit) -> Result<Self, String> {
        // Version 1 takes no larger quota of processors than the parent's.
        Self::create_below(&self.levels, limit.at_most(self.limit()))
    }

    fn in_hierarchies(controllers: &[&'static str], limit: ResourceLimit) -> Result<Self, String> {
        let mut above = Vec::new();
        for hierarchy in Hierarchy::find_by_controllers(controllers)? {
            let path = hierarchy
                .find_parent()
                .map_err(|why| unlimited_text(hierarchy.controllers[0], &why))?;
            let (version, controllers) = (hierarchy.version, hierarchy.controllers);
            above.push(ControlGroup { path, version, controllers });
        }
        Self::create_below(&above, limit)
    }

    fn create_below(above: &[ControlGroup], limit: ResourceLimit) -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = group_name(&COUNT.fetch_add(1, Ordering::Relaxed).to_string());
        let mut group = Self { levels: Vec::new(), memory: None, processors: None };
        for above in above {
            let level = ControlGroup { path: above.path.join(&name), ..above.clone() };
            let wrong = |error: io::Error| refusal_text(&level.path, &level.controllers, &error);
            // If both controllers of version 1 are mounted together, it exists already.
            if !group.levels.iter().any(|made| made.path == level.path) {
                fs::create_dir(&level.path).map_err(wrong)?;
            }
            group.levels.push(level.clone());
            group.set(&level, limit).map_err(wrong)?;
        }
        Ok(group)
    }

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

    fn paths(&self) -> Vec<&Path> {
        let mut paths: Vec<&Path> = self.levels.iter().map(|level| level.path.as_path()).collect();
        paths.dedup();
        paths
    }

    pub fn limit(&self) -> ResourceLimit {
        ResourceLimit {
            memory_bytes: self.memory.as_ref().map(|memory| memory.limit),
            cpu_milli: self.processors.as_ref().map(|processors| processors.milli),
        }
    }

    /// A process joins the group by writing `0` to each of these files.
    pub fn processes(&self) -> Vec<PathBuf> {
        self.paths().into_iter().map(|path| path.join(PROCESSES)).collect()
    }

    /// Except this process.
    pub fn members(&self) -> Vec<String> {
        let lists = self.processes().into_iter().filter_map(|list| fs::read_to_string(list).ok());
        let lists: Vec<String> = lists.collect();
        let pids: BTreeSet<u32> = lists.iter().flat_map(|list| parse_pids(list)).collect();
        let me = std::process::id();
        let name = |pid: u32| fs::read_to_string(format!("/proc/{pid}/comm")).ok();
        let names = pids.into_iter().filter(|pid| *pid != me).filter_map(name);
        names.map(|name| name.trim().to_owned()).collect()
    }

    pub fn end_processes(&self) -> io::Result<()> {
        self.paths().into_iter().try_for_each(end_processes)
    }

    /// Lifts the memory limit. [`LimitedGroup::limit`] still returns it.
    pub fn lift_memory(&self) -> io::Result<()> {
        self.memory.as_ref().map_or(Ok(()), GroupMemory::lift)
    }

    fn of_memory<T>(&self, ask: impl FnOnce(&GroupMemory) -> io::Result<T>) -> io::Result<T> {
        self.memory.as_ref().map_or_else(|| Err(io::ErrorKind::Unsupported.into()), ask)
    }

    pub fn usage(&self) -> io::Result<u64> {
        self.of_memory(GroupMemory::usage)
    }

    pub fn peak(&self) -> Option<u64> {
        self.memory.as_ref()?.peak()
    }

    /// Without shared memory.
    pub fn cached(&self) -> io::Result<u64> {
        self.of_memory(GroupMemory::cached)
    }

    pub fn out_of_memory_kills(&self) -> io::Result<u64> {
        self.memory.as_ref().map_or(Ok(0), GroupMemory::out_of_memory_kills)
    }

    /// Waits for the quota of processors since the group was made.
    pub fn throttled(&self) -> Option<ThrottleCounts> {
        self.processors.as_ref()?.throttled().ok()
    }
}

impl Drop for LimitedGroup {
    fn drop(&mut self) {
        // If it can't be removed now, the next run finds it.
        self.paths().into_iter().for_each(|path| drop(remove(path)));
    }
}

/// Moves this process into groups, given by their `cgroup.procs`.
pub fn join(groups: &[PathBuf]) -> io::Result<()> {
    groups.iter().try_for_each(|group| fs::write(group, "0"))
}

/// Limits a test process's memory; returns by what.
pub fn try_memory_limit() -> Result<String, String> {
    try_limit(ResourceLimit::from_memory(64 << 20))
}

/// Gives a test process a quota of processors; returns by what.
pub fn try_cpu_limit() -> Result<String, String> {
    try_limit(ResourceLimit::from_processors(500))
}

fn try_limit(limit: ResourceLimit) -> Result<String, String> {
    let controllers = limit.controllers();
    let refused = |why: String| unlimited_text(controllers[0], &why);
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

pub fn sweep_groups() -> Vec<PathBuf> {
    let mut removed = Vec::new();
    let hierarchies =
        [MEMORY, CPU].into_iter().filter_map(|it| Hierarchy::find_by_controllers(&[it]).ok());
    for hierarchy in hierarchies.flatten() {
        sweep_below(&hierarchy.root, &mut removed);
    }
    removed
}

fn sweep_below(folder: &Path, removed: &mut Vec<PathBuf>) {
    // A group that can't be read, or is gone, is not ours to remove.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        // Inner groups go first.
        sweep_below(&entry.path(), removed);
        let name = entry.file_name();
        if name.to_str().is_some_and(is_left_over) && remove(&entry.path()).is_ok() {
            removed.push(entry.path());
        }
    }
}

fn group_name(what: &str) -> String {
    let me = std::process::id();
    format!("{PREFIX}{}-{me}-{}-{what}", pid_namespace(), start_ticks(me).unwrap_or(0))
}

/// Whether a group is bakeoff's and its maker is gone. Groups of other PID namespaces, as of
/// containers, are left alone.
fn is_left_over(name: &str) -> bool {
    let Some(text) = name.strip_prefix(PREFIX) else { return false };
    let mut fields = text.split('-').map(str::parse::<u64>);
    match (fields.next(), fields.next(), fields.next()) {
        (Some(Ok(space)), Some(Ok(pid)), Some(Ok(start))) => {
            let pid = u32::try_from(pid).unwrap_or(0);
            space == pid_namespace() && start_ticks(pid) != Some(start)
        }
        _ => false,
    }
}

fn pid_namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino())
}

/// In clock ticks since boot: field 22 of proc_pid_stat(5).
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Field 2, the name in parentheses, may contain anything.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

fn end_processes(group: &Path) -> io::Result<()> {
    let start = Instant::now();
    loop {
        let processes = fs::read_to_string(group.join(PROCESSES))?;
        let mut pids = parse_pids(&processes).filter_map(|pid| Pid::from_raw(pid.try_into().ok()?));
        let Some(first) = pids.next() else { return Ok(()) };
        if start.elapsed() > KILL_TIMEOUT {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        for pid in [first].into_iter().chain(pids).filter(|pid| *pid != rustix::process::getpid()) {
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn remove(group: &Path) -> io::Result<()> {
    end_processes(group)?;
    // Version 1 only: pages in the cache would keep the group alive, unseen.
    let _ = fs::write(group.join("memory.force_empty"), "0");
    fs::remove_dir(group)
}

fn parse_pids(list: &str) -> impl Iterator<Item = u32> {
    list.lines().filter_map(|pid| pid.parse().ok())
}

fn refusal_text(path: &Path, controllers: &[&str], error: &io::Error) -> String {
    unlimited_text(controllers[0], &format!("{}: {error}", path.display()))
}

fn unlimited_text(controller: &str, why: &str) -> String {
    let what = if controller == CPU { "processors" } else { "memory" };
    format!("{what} can't be limited: {why}")
}

fn parse_number(text: &str) -> io::Result<u64> {
    text.trim().parse().map_err(|_| io::ErrorKind::InvalidData.into())
}

fn find_number(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line?.trim().parse().ok()
}

#[cfg(test)]
mod tests;
