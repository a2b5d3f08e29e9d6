//! What bounds a group's memory together with the page cache of the files that it reads and writes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{field, number};

/// The files of a control group, by what they hold.
#[derive(Debug, PartialEq, Eq)]
struct MemoryControlFiles {
    /// The limit in bytes.
    limit: &'static str,
    /// The limit of what is swapped out, and what it is set to for a limit of so many bytes.
    swap: (&'static str, fn(u64) -> u64),
    /// Bytes in use.
    usage: &'static str,
    /// The most that was in use.
    peak: &'static str,
    /// Bytes in the page cache, in `memory.stat`, and those of them that are shared memory: of the
    /// group with those in it.
    cached: (&'static str, &'static str),
    /// The file that has a line `oom_kill` with the number of processes killed.
    kills: &'static str,
    /// What the limits are set to where there are none.
    unlimited: &'static str,
}

/// Version 1: its limit of swap counts memory and swap together.
const V1: MemoryControlFiles = MemoryControlFiles {
    limit: "memory.limit_in_bytes",
    swap: ("memory.memsw.limit_in_bytes", |limit| limit),
    usage: "memory.usage_in_bytes",
    peak: "memory.max_usage_in_bytes",
    cached: ("total_cache", "total_shmem"),
    kills: "memory.oom_control",
    unlimited: "-1",
};

/// Version 2.
const V2: MemoryControlFiles = MemoryControlFiles {
    limit: "memory.max",
    swap: ("memory.swap.max", |_| 0),
    usage: "memory.current",
    peak: "memory.peak",
    cached: ("file", "shmem"),
    kills: "memory.events",
    unlimited: "max",
};

/// The memory of a group that is limited.
#[derive(Debug)]
pub(super) struct GroupMemory {
    path: PathBuf,
    files: &'static MemoryControlFiles,
    /// The limit in bytes.
    pub limit: u64,
}

impl GroupMemory {
    /// Limits the control group in `path`, of that version: none of its memory is swapped out.
    pub fn limit(path: &Path, version: u8, bytes: u64) -> io::Result<Self> {
        let files = if version == 1 { &V1 } else { &V2 };
        let memory = Self { path: path.to_owned(), files, limit: bytes };
        let set = |file: &str, bytes: u64| fs::write(path.join(file), bytes.to_string());
        set(files.limit, bytes)?;
        let (swap, of) = files.swap;
        // It is not there where nothing can be swapped out.
        if path.join(swap).exists() {
            set(swap, of(bytes))?;
        }
        // Version 2 only: a server without one of its processes is no server.
        let _ = fs::write(path.join("memory.oom.group"), "1");
        Ok(memory)
    }

    /// Holds the group's processes to the limit no more.
    pub fn lift(&self) -> io::Result<()> {
        // Of version 1 the limit with swap may never be the smaller one.
        let (swap, _) = self.files.swap;
        let files = [swap, self.files.limit].map(|file| self.path.join(file));
        let mut there = files.iter().filter(|file| file.exists());
        there.try_for_each(|file| fs::write(file, self.files.unlimited))
    }

    fn read(&self, file: &str) -> io::Result<String> {
        fs::read_to_string(self.path.join(file))
    }

    pub fn usage(&self) -> io::Result<u64> {
        number(&self.read(self.files.usage)?)
    }

    pub fn peak(&self) -> Option<u64> {
        number(&self.read(self.files.peak).ok()?).ok()
    }

    pub fn cached(&self) -> io::Result<u64> {
        let text = self.read("memory.stat")?;
        let (cached, shared) = self.files.cached;
        let shared = field(&text, shared).unwrap_or(0);
        field(&text, cached)
            .map(|all| all.saturating_sub(shared))
            .ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    pub fn out_of_memory_kills(&self) -> io::Result<u64> {
        field(&self.read(self.files.kills)?, "oom_kill")
            .ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}
