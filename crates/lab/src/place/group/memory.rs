//! Bounds a group's memory, page cache included.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{find_number, parse_number};

#[derive(Debug, PartialEq, Eq)]
struct MemoryControlFiles {
    limit: &'static str,
    /// The file's name, and its value for a limit of so many bytes.
    swap: (&'static str, fn(u64) -> u64),
    usage: &'static str,
    peak: &'static str,
    /// Names in `memory.stat`: page cache, and shared memory in it, both with inner groups.
    cached: (&'static str, &'static str),
    kills: &'static str,
    unlimited: &'static str,
}

/// The swap limit of version 1 counts memory and swap together.
const V1: MemoryControlFiles = MemoryControlFiles {
    limit: "memory.limit_in_bytes",
    swap: ("memory.memsw.limit_in_bytes", |limit| limit),
    usage: "memory.usage_in_bytes",
    peak: "memory.max_usage_in_bytes",
    cached: ("total_cache", "total_shmem"),
    kills: "memory.oom_control",
    unlimited: "-1",
};

const V2: MemoryControlFiles = MemoryControlFiles {
    limit: "memory.max",
    swap: ("memory.swap.max", |_| 0),
    usage: "memory.current",
    peak: "memory.peak",
    cached: ("file", "shmem"),
    kills: "memory.events",
    unlimited: "max",
};

#[derive(Debug)]
pub(super) struct GroupMemory {
    path: PathBuf,
    files: &'static MemoryControlFiles,
    pub limit: u64,
}

impl GroupMemory {
    /// None of the group's memory may be swapped.
    pub fn limit(path: &Path, version: u8, bytes: u64) -> io::Result<Self> {
        let files = if version == 1 { &V1 } else { &V2 };
        let memory = Self { path: path.to_owned(), files, limit: bytes };
        let set = |file: &str, bytes: u64| fs::write(path.join(file), bytes.to_string());
        set(files.limit, bytes)?;
        let (swap, of) = files.swap;
        // Missing if nothing can be swapped out.
        if path.join(swap).exists() {
            set(swap, of(bytes))?;
        }
        // Version 2 only: kill all processes together, since a server without one of them is no
        // server.
        let _ = fs::write(path.join("memory.oom.group"), "1");
        Ok(memory)
    }

    pub fn lift(&self) -> io::Result<()> {
        // In version 1 the limit with swap may never be the smaller one.
        let (swap, _) = self.files.swap;
        let files = [swap, self.files.limit].map(|file| self.path.join(file));
        let mut there = files.iter().filter(|file| file.exists());
        there.try_for_each(|file| fs::write(file, self.files.unlimited))
    }

    fn read(&self, file: &str) -> io::Result<String> {
        fs::read_to_string(self.path.join(file))
    }

    pub fn usage(&self) -> io::Result<u64> {
        parse_number(&self.read(self.files.usage)?)
    }

    pub fn peak(&self) -> Option<u64> {
        parse_number(&self.read(self.files.peak).ok()?).ok()
    }

    pub fn cached(&self) -> io::Result<u64> {
        let text = self.read("memory.stat")?;
        let (cached, shared) = self.files.cached;
        let shared = find_number(&text, shared).unwrap_or(0);
        find_number(&text, cached)
            .map(|all| all.saturating_sub(shared))
            .ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    pub fn out_of_memory_kills(&self) -> io::Result<u64> {
        find_number(&self.read(self.files.kills)?, "oom_kill")
            .ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}
