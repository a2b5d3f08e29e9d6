//! The file that is read, around the page cache, and which of its blocks are.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use bakeoff_disk::neighbour::is_in_memory;

use crate::TrialError;

/// Its name in the target's folder.
pub const NAME: &str = "data";
/// What memory, offsets and lengths of direct reads are aligned to, in bytes.
pub const ALIGNMENT: usize = 4096;

/// An open file.
pub struct DataFile {
    pub file: File,
    /// Bytes of a block.
    pub block: usize,
    /// How many blocks it has.
    blocks: u64,
}

impl DataFile {
    /// Opens the file in `folder`, to be read in blocks of so many bytes.
    pub fn open(folder: &Path, block: usize) -> Result<Self, TrialError> {
        let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
        let opened = OpenOptions::new().read(true).custom_flags(direct).open(folder.join(NAME));
        let no_disk = || {
            let why = "this file system is in memory or has no direct I/O, so that no disk would be \
                       measured: use --out on another one";
            TrialError::User(why.into())
        };
        let file = opened.map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL) => no_disk(),
            _ => TrialError::place("its file can't be opened", error),
        })?;
        if is_in_memory(&file).map_err(|e| TrialError::place("its file system", e))? {
            return Err(no_disk());
        }
        let length = file.metadata().map_err(|e| TrialError::place("its file", e))?.len();
        Ok(Self { file, block, blocks: length / block as u64 })
    }

    /// The blocks that a client reads.
    pub fn blocks(&self, seed: u64, client: usize) -> Blocks {
        let spread = (client as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let random = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(spread));
        Blocks { random, block: self.block as u64, count: self.blocks }
    }
}

/// An endless row of blocks, each as likely as any other.
pub struct Blocks {
    random: Xoshiro256PlusPlus,
    block: u64,
    count: u64,
}

impl Blocks {
    /// Where the next one starts, in bytes.
    pub fn next_offset(&mut self) -> u64 {
        self.random.random_range(0..self.count.max(1)) * self.block
    }
}

/// Memory for so many blocks, aligned as direct reads want it.
pub struct Buffers {
    memory: Vec<u8>,
    start: usize,
    block: usize,
}

impl Buffers {
    /// Of so many blocks of so many bytes.
    pub fn new(count: usize, block: usize) -> Self {
        // Room to move up to the next boundary.
        let memory = vec![0; count * block + ALIGNMENT];
        let start = memory.as_ptr().align_offset(ALIGNMENT);
        Self { memory, start, block }
    }

    /// The memory of one block.
    pub fn block(&mut self, number: usize) -> &mut [u8] {
        &mut self.memory[self.start + number * self.block..][..self.block]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_memory_is_no_disk() {
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
            eprintln!("skipped: there is no file system in memory");
            return;
        };
        std::fs::write(folder.path().join(NAME), vec![0; ALIGNMENT]).unwrap();
        let error = DataFile::open(folder.path(), ALIGNMENT).err().expect("it is in memory");
        assert!(matches!(&error, TrialError::User(why) if why.contains("in memory")), "{error:?}");
    }
}
