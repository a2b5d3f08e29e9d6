//! File operations as a program makes them, and as the kernel answers.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use rustix::mm::{MapFlags, MsyncFlags, ProtFlags};

/// The way by which data are read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Through the page cache.
    Buffered,
    /// The same, with `O_SYNC`.
    Synced,
    /// Around it, with `O_DIRECT`.
    Direct,
    /// The same, with `O_DSYNC`.
    DirectSynced,
    /// By a shared map of the whole file.
    Mapped,
}

impl Way {
    fn flags(self) -> i32 {
        // The system's own numbers: what rustix 1 calls `DSYNC` is `O_SYNC`.
        let flags = match self {
            Self::Buffered | Self::Mapped => 0,
            Self::Synced => libc::O_SYNC,
            Self::Direct => libc::O_DIRECT,
            Self::DirectSynced => libc::O_DIRECT | libc::O_DSYNC,
        };
        flags | libc::O_NOFOLLOW
    }
}

/// The error of a call of the standard library, which all come from the kernel here.
pub fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or_else(|| panic!("{error}"))
}

/// Opens a file.
pub fn open(path: &Path, way: Way) -> Result<File, Errno> {
    let opened = File::options().read(true).write(true).custom_flags(way.flags()).open(path);
    opened.map_err(|error| errno(&error))
}

/// Writes; a direct way takes whole sectors only.
pub fn write(file: &File, way: Way, offset: usize, bytes: &[u8]) -> Result<(), Errno> {
    match way {
        Way::Mapped => {
            let end = offset + bytes.len();
            with_map(file, end, |map| map[offset..end].copy_from_slice(bytes))
        }
        _ => {
            let bytes = Aligned::new(bytes.len(), bytes);
            file.write_all_at(bytes.slice(), offset as u64).map_err(|error| errno(&error))
        }
    }
}

/// Reads a whole file.
pub fn read(file: &File, way: Way) -> Result<Vec<u8>, Errno> {
    let size = file.metadata().map_err(|error| errno(&error))?.len() as usize;
    if way == Way::Mapped {
        let mut data = Vec::new();
        if size > 0 {
            with_map(file, size, |map| data.extend_from_slice(map))?;
        }
        return Ok(data);
    }
    // A sector more than there is: the end is to be seen.
    let mut buffer = Aligned::new(size.next_multiple_of(512) + 512, &[]);
    let mut count = 0;
    loop {
        let rest = &mut buffer.slice_mut()[count..];
        match file.read_at(rest, count as u64).map_err(|error| errno(&error))? {
            0 => break,
            some => count += some,
        }
        if !count.is_multiple_of(512) {
            break;
        }
    }
    Ok(buffer.slice()[..count].to_vec())
}

/// `fallocate`.
pub fn allocate(file: &File, flags: FallocateFlags, at: usize, length: usize) -> Result<(), Errno> {
    rustix::fs::fallocate(file, flags, at as u64, length as u64)
}

/// Maps the first bytes of a file to be shared, lets them be used, and syncs the map.
fn with_map(file: &File, length: usize, using: impl FnOnce(&mut [u8])) -> Result<(), Errno> {
    let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
    // SAFETY: a new map, in a place that the kernel chooses.
    let map = unsafe { rustix::mm::mmap(std::ptr::null_mut(), length, access, flags, file, 0) }?;
    // SAFETY: the map is that long, nobody else has it, and the file stays as long as that while
    // this runs; it is not used after it is unmapped.
    using(unsafe { std::slice::from_raw_parts_mut(map.cast(), length) });
    // SAFETY: the map made above, which nobody refers to any more.
    unsafe {
        let synced = rustix::mm::msync(map, length, MsyncFlags::SYNC);
        rustix::mm::munmap(map, length)?;
        synced
    }
}

/// Bytes at a place in memory that direct reads and writes take.
struct Aligned {
    room: Vec<u8>,
    start: usize,
    length: usize,
}

impl Aligned {
    fn new(length: usize, bytes: &[u8]) -> Self {
        let room = vec![0; length + 4096];
        let start = room.as_ptr().align_offset(4096);
        let mut aligned = Self { room, start, length };
        aligned.slice_mut()[..bytes.len()].copy_from_slice(bytes);
        aligned
    }

    fn slice(&self) -> &[u8] {
        &self.room[self.start..][..self.length]
    }

    fn slice_mut(&mut self) -> &mut [u8] {
        &mut self.room[self.start..][..self.length]
    }
}
