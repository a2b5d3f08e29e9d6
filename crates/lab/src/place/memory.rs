//! Limits of memory: control groups that bound what an engine's processes use together with the
//! page cache of the files they read and write.
//!
//! A group's name says which process made it, so that one whose maker was killed is known.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

mod hierarchy;

use hierarchy::{Files, Hierarchy, PROCESSES};

/// How the name of every group of bakeoff's begins.
const PREFIX: &str = "bakeoff-";
/// How long the processes of a group that goes may take to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// A group with a limit. When it is dropped, its processes are ended and it goes.
#[derive(Debug)]
pub struct Group {
    path: PathBuf,
    files: &'static Files,
    limit: u64,
}

impl Group {
    /// Makes a group whose processes and page cache may take so many bytes together, none of them
    /// swapped out.
    ///
    /// # Errors
    /// Memory can't be limited here: why, and what to do.
    pub fn create(bytes: u64) -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let hierarchy = Hierarchy::find().map_err(unlimited)?;
        let parent = hierarchy.parent().map_err(unlimited)?;
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(name(&number.to_string()));
        let wrong = |error: io::Error| unlimited(format!("{}: {error}", path.display()));
        fs::create_dir(&path).map_err(wrong)?;
        let group = Self { path: path.clone(), files: hierarchy.files, limit: bytes };
        group.set(group.files.limit, bytes).map_err(wrong)?;
        let (swap, of) = group.files.swap;
        // It is not there where nothing can be swapped out.
        if path.join(swap).exists() {
            group.set(swap, of(bytes)).map_err(wrong)?;
        }
        // Version 2 only: a server without one of its processes is no server.
        let _ = fs::write(path.join("memory.oom.group"), "1");
        Ok(group)
    }

    fn set(&self, file: &str, bytes: u64) -> io::Result<()> {
        fs::write(self.path.join(file), bytes.to_string())
    }

    /// The limit in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// The file that a process writes `0` to in order to belong to the group.
    pub fn processes(&self) -> PathBuf {
        self.path.join(PROCESSES)
    }

    /// Ends the processes that are still in it, and waits until they are gone.
    ///
    /// # Errors
    /// They don't end.
    pub fn end_processes(&self) -> io::Result<()> {
        end_processes(&self.path)
    }

    /// Bytes in use, the page cache among them.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn usage(&self) -> io::Result<u64> {
        number(&fs::read_to_string(self.path.join(self.files.usage))?)
    }

    /// The most that was in use at once; `None` where the kernel does not tell.
    pub fn peak(&self) -> Option<u64> {
        number(&fs::read_to_string(self.path.join(self.files.peak)).ok()?).ok()
    }

    /// Bytes of files in the page cache. Memory that processes share is not among them.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn cached(&self) -> io::Result<u64> {
        let text = fs::read_to_string(self.path.join("memory.stat"))?;
        let shared = field(&text, "shmem").unwrap_or(0);
        field(&text, self.files.cached)
            .map(|all| all.saturating_sub(shared))
            .ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// How many processes were killed because the limit was reached.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn out_of_memory_kills(&self) -> io::Result<u64> {
        let text = fs::read_to_string(self.path.join(self.files.kills))?;
        field(&text, "oom_kill").ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // One that can't be removed now is found by the next run.
        let _ = remove(&self.path);
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
    let group = Group::create(64 << 20)?;
    let mut child = Command::new("cat");
    let child = child.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
    let mut child = child.map_err(|error| unlimited(format!("cat can't be run: {error}")))?;
    let moved = fs::write(group.processes(), child.id().to_string());
    // It ends with its input.
    drop(child.stdin.take());
    let _ = child.wait();
    let place = group.path.parent().unwrap_or(&group.path).display();
    match moved {
        Ok(()) => Ok(format!("cgroup v{}, in {place}", group.files.version)),
        Err(error) => Err(unlimited(format!("no process can be moved into {place}: {error}"))),
    }
}

/// Removes the groups of runs that are gone; returns those that were removed.
pub fn sweep() -> Vec<PathBuf> {
    let Ok(hierarchy) = Hierarchy::find() else { return Vec::new() };
    let mut removed = Vec::new();
    sweep_below(&hierarchy.root, &mut removed);
    removed
}

fn sweep_below(folder: &Path, removed: &mut Vec<PathBuf>) {
    // A group that can't be looked into, or has just gone, is nobody's to remove.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let name = entry.file_name();
        if name.to_str().is_some_and(is_left_over) && remove(&entry.path()).is_ok() {
            removed.push(entry.path());
        } else {
            sweep_below(&entry.path(), removed);
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

/// Ends a group's processes and waits until they are gone.
fn end_processes(group: &Path) -> io::Result<()> {
    let start = Instant::now();
    loop {
        let processes = fs::read_to_string(group.join(PROCESSES))?;
        let mut pids = processes.lines().filter_map(|pid| Pid::from_raw(pid.parse().ok()?));
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

fn unlimited(why: String) -> String {
    format!("memory can't be limited: {why}")
}

fn number(text: &str) -> io::Result<u64> {
    text.trim().parse().map_err(|_| io::ErrorKind::InvalidData.into())
}

/// The number that stands behind a name at the start of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line?.trim().parse().ok()
}
