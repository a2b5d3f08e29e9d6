use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng as _, SeedableRng as _};
use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl, fstatfs, fstatvfs};
use rustix::io::Errno;

/// Large enough for most disks: more than a disk's own cache.
pub const FILE_BYTES: u64 = 256 << 20;

/// A smaller file is no stand-in for random access.
pub const LEAST_BYTES: u64 = 16 << 20;

pub(super) const BLOCK: usize = 16 << 10;

const CHUNK: usize = 1 << 20;

/// Direct I/O needs memory and places at multiples of this on any usual disk.
const ALIGNMENT: usize = 4096;

/// File systems without a disk by `statfs`: tmpfs and ramfs (linux/magic.h).
const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58f6];

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "neighbours need direct I/O to a disk, and the file system of {} has none", .0.display()
    )]
    NotDirect(PathBuf),
    #[error(
        "neighbours need a file of {least} bytes at least, which may take half of the free space, \
         and {} has only {free} bytes free", folder.display()
    )]
    NoSpace { folder: PathBuf, free: u64, least: u64 },
    #[error("the neighbours' file could not be made in {}: {cause}", folder.display())]
    Io { folder: PathBuf, cause: io::Error },
    #[error("a neighbour's request failed: {0}")]
    Failed(String),
}

/// It has no name: nobody else can open it, and it goes with its last user, however that ends.
#[derive(Debug)]
pub struct NeighbourFile {
    file: Arc<fs::File>,
}

impl NeighbourFile {
    /// Makes a file in a folder, filled with data that do not compress. It has at least
    /// [`LEAST_BYTES`], takes at most half of the free space, and is rounded down to whole
    /// requests.
    pub fn prepare(folder: &Path, bytes: u64) -> Result<Self, Error> {
        let io = |cause| Error::Io { folder: folder.to_owned(), cause };
        let file = create_nameless(folder, ".neighbours").map_err(io)?;
        if is_in_memory(&file).map_err(io)? {
            return Err(Error::NotDirect(folder.to_owned()));
        }
        let space = fstatvfs(&file).map_err(|error| io(error.into()))?;
        let free = space.f_bavail * space.f_frsize;
        let Some(bytes) = choose_size(bytes, free) else {
            let folder = folder.to_owned();
            return Err(Error::NoSpace { folder, free, least: LEAST_BYTES });
        };
        // EINVAL is how a file system says that it can't: at once, or at the first write.
        go_direct(&file).and_then(|()| fill_file(&file, bytes)).map_err(|cause| {
            if cause.raw_os_error() == Some(Errno::INVAL.raw_os_error()) {
                Error::NotDirect(folder.to_owned())
            } else {
                io(cause)
            }
        })?;
        Ok(Self { file: Arc::new(file) })
    }

    pub fn bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    pub(super) fn handle(&self) -> Arc<fs::File> {
        Arc::clone(&self.file)
    }

    #[cfg(test)]
    pub(super) fn from_handle(file: fs::File) -> Self {
        Self { file: Arc::new(file) }
    }
}

/// In memory, direct requests are accepted and reach no disk.
pub fn is_in_memory(file: &fs::File) -> io::Result<bool> {
    Ok(IN_MEMORY.contains(&(fstatfs(file)?.f_type as u32)))
}

fn choose_size(wanted: u64, free: u64) -> Option<u64> {
    let bytes = wanted.max(LEAST_BYTES).min(free / 2);
    (bytes >= LEAST_BYTES).then_some(bytes - bytes % BLOCK as u64)
}

/// A new file whose name, which begins with `prefix`, is taken away at once.
pub fn create_nameless(folder: &Path, prefix: &str) -> io::Result<fs::File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => Ok(file.into()),
        // Not all file systems have files that never had a name.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => create_unlinked(folder, prefix),
        Err(error) => Err(error.into()),
    }
}

fn create_unlinked(folder: &Path, prefix: &str) -> io::Result<fs::File> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let (process, number) = (std::process::id(), NUMBER.fetch_add(1, Relaxed));
    let path = folder.join(format!("{prefix}-{process}-{number}"));
    let file = fs::File::options().read(true).write(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}

/// Fails with `EINVAL` where the file system has no direct I/O; some fail so at the first write only.
pub fn go_direct(file: &fs::File) -> io::Result<()> {
    let flags = fcntl_getfl(file)?;
    Ok(fcntl_setfl(file, flags | OFlags::DIRECT)?)
}

fn fill_file(mut file: &fs::File, bytes: u64) -> io::Result<()> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(bytes);
    let mut chunk = Aligned::new(CHUNK);
    let mut left = bytes;
    while left > 0 {
        let part = left.min(CHUNK as u64);
        let part_of_chunk = &mut chunk.as_mut_bytes()[..part as usize];
        rng.fill_bytes(part_of_chunk);
        file.write_all(part_of_chunk)?;
        left -= part;
    }
    file.sync_all()
}

pub(super) struct Aligned {
    memory: Vec<u8>,
    start: usize,
}

impl Aligned {
    pub fn new(bytes: usize) -> Self {
        let memory = vec![0; bytes + ALIGNMENT];
        // The vector never grows, so its memory stays where it is.
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        Self { memory, start }
    }

    pub fn as_mut_bytes(&mut self) -> &mut [u8] {
        let end = self.start + self.memory.len() - ALIGNMENT;
        &mut self.memory[self.start..end]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_takes_what_is_wanted_up_to_half_of_what_is_free() {
        const MIB: u64 = 1 << 20;
        assert_eq!(choose_size(256 * MIB, 1000 * MIB), Some(256 * MIB));
        assert_eq!(choose_size(256 * MIB, 100 * MIB), Some(50 * MIB));
        assert_eq!(choose_size(256 * MIB, 100 * MIB + 33), Some(50 * MIB));
        assert_eq!(choose_size(256 * MIB, 32 * MIB), Some(16 * MIB));
        assert_eq!(choose_size(256 * MIB, 32 * MIB - 1), None);
        assert_eq!(choose_size(1, 1000 * MIB), Some(16 * MIB));
    }

    #[test]
    fn memory_is_aligned_and_as_long_as_asked() {
        for bytes in [1, BLOCK, CHUNK] {
            let mut memory = Aligned::new(bytes);
            assert_eq!(memory.as_mut_bytes().len(), bytes);
            assert_eq!(memory.as_mut_bytes().as_ptr().addr() % ALIGNMENT, 0);
        }
    }
}
