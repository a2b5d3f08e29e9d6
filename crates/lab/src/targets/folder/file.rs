//! The file that is read, around the page cache, and which of its blocks are.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::TrialError;

/// Its name in the target's folder.
pub const NAME: &str = "data";
/// Bytes of a read, and what memory and offsets are aligned to.
pub const BLOCK: usize = 4096;

/// An open file.
pub struct DataFile {
    pub file: File,
    /// How many blocks it has.
    blocks: u64,
}

impl DataFile {
    /// Opens the file in `folder`.
    pub fn open(folder: &Path) -> Result<Self, TrialError> {
        let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
        let opened = OpenOptions::new().read(true).custom_flags(direct).open(folder.join(NAME));
        let file = opened.map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL) => TrialError::User(
                "this file system has no direct I/O, and through the page cache no disk is \
                 measured: use --out on another one"
                    .into(),
            ),
            _ => TrialError::place("its file can't be opened", error),
        })?;
        let length = file.metadata().map_err(|e| TrialError::place("its file", e))?.len();
        Ok(Self { file, blocks: length / BLOCK as u64 })
    }

    /// The blocks that a client reads.
    pub fn blocks(&self, seed: u64, client: usize) -> Blocks {
        let spread = (client as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let random = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(spread));
        Blocks { random, count: self.blocks }
    }
}

/// An endless row of blocks, each as likely as any other.
pub struct Blocks {
    random: Xoshiro256PlusPlus,
    count: u64,
}

impl Blocks {
    /// Where the next one starts, in bytes.
    pub fn next_offset(&mut self) -> u64 {
        self.random.random_range(0..self.count.max(1)) * BLOCK as u64
    }
}

/// Memory for so many blocks, aligned as direct reads want it.
pub struct Buffers {
    memory: Vec<u8>,
    start: usize,
}

impl Buffers {
    /// Of so many blocks.
    pub fn new(count: usize) -> Self {
        // Room to move up to the next boundary.
        let memory = vec![0; (count + 1) * BLOCK];
        let start = memory.as_ptr().align_offset(BLOCK);
        Self { memory, start }
    }

    /// The memory of one block.
    pub fn block(&mut self, number: usize) -> &mut [u8] {
        &mut self.memory[self.start + number * BLOCK..][..BLOCK]
    }
}
