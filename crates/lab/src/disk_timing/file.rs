//! A file of a timed disk: written once, without a name, around the page cache where that is possible.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use bakeoff_disk::neighbour::{self, go_direct};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng as _, SeedableRng as _};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::targets::folder::AlignedBuffers;

pub const SMALL: usize = 4 << 10;
pub const LARGE: usize = 1 << 20;

const PREFIX: &str = ".bakeoff-timing";

pub struct TimedFile {
    file: File,
    /// The same, written through.
    through: File,
    is_direct: bool,
    bytes: u64,
    buffer: AlignedBuffers,
}

pub fn create_nameless(folder: &Path) -> io::Result<File> {
    neighbour::create_nameless(folder, PREFIX)
}

impl TimedFile {
    /// So many bytes, durable.
    pub fn create(folder: &Path, bytes: u64) -> io::Result<Self> {
        let mut file = Self::create_empty(folder)?;
        for number in 0..bytes / LARGE as u64 {
            file.append(number)?;
        }
        file.file.sync_all()?;
        Ok(file)
    }

    pub fn create_empty(folder: &Path) -> io::Result<Self> {
        let file = create_nameless(folder)?;
        let is_direct = try_direct(&file)?;
        let direct = if is_direct { OFlags::DIRECT } else { OFlags::empty() };
        let flags = (direct | OFlags::DSYNC).bits() as i32;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let through = OpenOptions::new().write(true).custom_flags(flags).open(path)?;
        let mut buffer = AlignedBuffers::new(1, LARGE);
        // A drive may compress what it is given.
        Xoshiro256PlusPlus::seed_from_u64(1).fill_bytes(buffer.all());
        Ok(Self { file, through, is_direct, bytes: 0, buffer })
    }

    pub fn is_direct(&self) -> bool {
        self.is_direct
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Writes a large block behind the others.
    pub fn append(&mut self, number: u64) -> io::Result<()> {
        let block = mark_block(&mut self.buffer, LARGE, number);
        self.file.write_all_at(block, self.bytes)?;
        self.bytes += LARGE as u64;
        Ok(())
    }

    /// Writes the block of that number anew; behind the last one comes the first.
    pub fn overwrite(&mut self, block: usize, number: u64) -> io::Result<()> {
        let place = self.find_place(block, number);
        self.file.write_all_at(mark_block(&mut self.buffer, block, number), place)
    }

    pub fn write_through(&mut self, block: usize, number: u64) -> io::Result<()> {
        let place = self.find_place(block, number);
        self.through.write_all_at(mark_block(&mut self.buffer, block, number), place)
    }

    pub fn read_large(&mut self, number: u64) -> io::Result<()> {
        let place = self.find_place(LARGE, number);
        self.file.read_exact_at(self.buffer.all(), place)
    }

    fn find_place(&self, block: usize, number: u64) -> u64 {
        number % (self.bytes / block as u64) * block as u64
    }
}

/// Makes a block unlike those written before it.
fn mark_block(buffer: &mut AlignedBuffers, bytes: usize, number: u64) -> &[u8] {
    let block = &mut buffer.all()[..bytes];
    for page in block.chunks_mut(SMALL) {
        let mark: &mut [u8] = &mut page[..size_of::<u64>()];
        mark.copy_from_slice(&number.to_le_bytes());
    }
    block
}

/// Whether the file goes around the page cache from now on. Some file systems refuse that at the first
/// write only.
fn try_direct(file: &File) -> io::Result<bool> {
    let is_refused = |error: &io::Error| error.raw_os_error() == Some(Errno::INVAL.raw_os_error());
    let mut block = AlignedBuffers::new(1, SMALL);
    let tried = go_direct(file).and_then(|()| file.write_all_at(block.all(), 0));
    match tried {
        Ok(()) => Ok(true),
        Err(error) if is_refused(&error) => {
            let flags = rustix::fs::fcntl_getfl(file)?;
            rustix::fs::fcntl_setfl(file, flags - OFlags::DIRECT)?;
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
