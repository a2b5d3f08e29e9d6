//! The files that requests are for: made, opened, read again.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use rustix::fs::{AtFlags, StatxFlags};
use serde::{Deserialize, Serialize};

use super::content::{DataFileContent, PAGE};
use super::medium::{DataMedium, IN_MEMORY};
use crate::TrialError;

/// Bytes that are written or read at once when files are made or verified.
const PIECE: usize = 1 << 20;
/// The most bytes that are looked at when files are verified: of more, some pieces are, evenly spread.
const MOST_VERIFIED: u64 = 4 << 30;
/// The most faults that are told.
const MOST_FAULTS: usize = 100;

/// What the files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSetShape {
    /// Bytes of each, a whole number of pages.
    pub each: u64,
    /// How many there are.
    pub files: usize,
    /// Whether they hold zeros.
    pub zeros: bool,
    /// Seeds what they hold else.
    pub seed: u64,
}

/// How they are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOpenMode {
    /// Whether around the page cache.
    pub direct: bool,
    /// Whether to be written, too.
    pub writes: bool,
    /// Whether each write is durable when it returns.
    pub dsync: bool,
}

/// Where a block lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockLocation {
    /// The file's number.
    pub file: usize,
    /// Bytes from its start.
    pub offset: u64,
    /// The number of the block's first page among those of all files.
    pub page: u64,
}

impl FileSetShape {
    /// Bytes of all of them.
    pub fn bytes(&self) -> u64 {
        self.each * self.files as u64
    }

    /// What they hold.
    pub fn content(&self) -> DataFileContent {
        DataFileContent::new(self.seed, self.zeros)
    }

    /// Makes the files, durably. `told` is given the bytes so far.
    ///
    /// # Errors
    /// The first that can't be written.
    pub fn make(&self, medium: &DataMedium, told: &mut dyn FnMut(u64)) -> std::io::Result<()> {
        let (content, mut buffers) = (self.content(), AlignedBuffers::new(1, PIECE));
        let (mut page, mut written) = (0, 0);
        for number in 0..self.files {
            let file = medium.create(number)?;
            for start in (0..self.each).step_by(PIECE) {
                let length = (self.each - start).min(PIECE as u64) as usize;
                let part = &mut buffers.block(0)[..length];
                content.fill(part, page, 0);
                file.write_all_at(part, start)?;
                page += (length / PAGE) as u64;
                written += length as u64;
                told(written);
            }
            file.sync_all()?;
        }
        Ok(())
    }

    /// What is wrong with what they hold, in sentences: pages that are not as somebody wrote them, or not as
    /// somebody wrote them last. `expected` is the number of the write that a place in a file has to hold;
    /// `None` where it may be any. `direct` reads them around the page cache.
    ///
    /// # Errors
    /// The first that can't be read.
    pub fn faults(
        &self,
        medium: &DataMedium,
        direct: bool,
        expected: &dyn Fn(usize, u64) -> Option<u64>,
    ) -> std::io::Result<Vec<String>> {
        let (content, mut buffers) = (self.content(), AlignedBuffers::new(1, PIECE));
        let step = self.bytes().div_ceil(MOST_VERIFIED).max(1) * PIECE as u64;
        let flags = if direct { libc::O_DIRECT } else { 0 };
        let mut faults = Vec::new();
        for number in 0..self.files {
            let file = medium.open(number, OpenOptions::new().read(true).custom_flags(flags))?;
            for start in (0..self.each).step_by(step as usize) {
                let length = (self.each - start).min(PIECE as u64) as usize;
                let bytes = &mut buffers.block(0)[..length];
                file.read_exact_at(bytes, start)?;
                for (page, offset) in bytes.chunks_exact(PAGE).zip((start..).step_by(PAGE)) {
                    let of_all = (number as u64 * self.each + offset) / PAGE as u64;
                    let last = expected(number, offset);
                    let Some(what) = fault(&content, page, of_all, last) else { continue };
                    faults.push(format!("file {number} holds at byte {offset} {what}"));
                    if faults.len() == MOST_FAULTS {
                        return Ok(faults);
                    }
                }
            }
        }
        Ok(faults)
    }
}

/// What is wrong with a page, of all files' pages that of this number, that should be of the `last` write.
fn fault(content: &DataFileContent, bytes: &[u8], page: u64, last: Option<u64>) -> Option<String> {
    match (content.writing(bytes, page), last) {
        (Err(found), _) => Some(format!("{found} in the place of its own page")),
        (Ok(found), Some(last)) if found != last => {
            Some("an earlier write than the last that was acknowledged".to_owned())
        }
        (Ok(_), _) => None,
    }
}

/// Open files.
pub struct DataFiles {
    /// By their numbers.
    pub files: Vec<File>,
    /// Bytes of a block.
    pub block: usize,
    /// Blocks of each file.
    blocks_each: u64,
    pages_each: u64,
}

impl DataFiles {
    /// Opens the files, for requests of so many bytes.
    ///
    /// # Errors
    /// A file that can't be opened so, is shorter than it should be, or is on no disk.
    pub fn open(
        medium: &DataMedium,
        shape: &FileSetShape,
        block: usize,
        access: FileOpenMode,
    ) -> Result<Self, TrialError> {
        let open = |number| open(medium, number, shape, access);
        let files = (0..shape.files).map(open).collect::<Result<Vec<_>, _>>()?;
        if let Some(file) = files.first().filter(|_| access.direct) {
            aligned(block, medium.sector().or_else(|| sector(file)))?;
        }
        let (blocks_each, pages_each) = (shape.each / block as u64, shape.each / PAGE as u64);
        Ok(Self { files, block, blocks_each, pages_each })
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> u64 {
        self.blocks_each * self.files.len() as u64
    }

    /// The block that a place in a file is of; `None` behind the last whole one.
    pub fn block_at(&self, file: usize, offset: u64) -> Option<u64> {
        let place = offset / self.block as u64;
        (place < self.blocks_each).then(|| file as u64 * self.blocks_each + place)
    }

    /// Where a block lies: the blocks of a file follow each other.
    pub fn spot(&self, block: u64) -> BlockLocation {
        let (file, place) = (block / self.blocks_each, block % self.blocks_each);
        let offset = place * self.block as u64;
        let page = file * self.pages_each + offset / PAGE as u64;
        BlockLocation { file: file as usize, offset, page }
    }
}

fn open(
    medium: &DataMedium,
    number: usize,
    shape: &FileSetShape,
    access: FileOpenMode,
) -> Result<File, TrialError> {
    // rustix 1.1 has O_SYNC for O_DSYNC.
    let flag = |is_set, flag| if is_set { flag } else { 0 };
    let flags = flag(access.direct, libc::O_DIRECT) | flag(access.dsync, libc::O_DSYNC);
    let mut options = OpenOptions::new();
    options.read(true).write(access.writes).custom_flags(flags);
    let opened = medium.open(number, &options);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(libc::EINVAL) if access.direct => TrialError::User(
            "this file system has no direct I/O, so that its page cache would be measured in the place of a \
             disk: use --path or --out on another one"
                .to_owned(),
        ),
        _ => TrialError::place("its file can't be opened", error),
    })?;
    if medium.is_in_memory(&file).map_err(|e| TrialError::place("its file system", e))? {
        return Err(TrialError::User(IN_MEMORY.into()));
    }
    let length = medium.length(&file).map_err(|e| TrialError::place("its file", e))?;
    if length < shape.each {
        let short = format!("file {number} has {length} bytes, and not {}", shape.each);
        return Err(TrialError::place("its file is too short", short));
    }
    Ok(file)
}

/// Bytes of which a direct request to a file is a multiple, where the kernel tells (Linux 6.1): 0 where there
/// is no direct I/O. Source: statx(2), `STATX_DIOALIGN`.
fn sector(file: &File) -> Option<u32> {
    let wanted = StatxFlags::DIOALIGN;
    let about = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, wanted).ok()?;
    (about.stx_mask & wanted.bits() != 0).then_some(about.stx_dio_offset_align)
}

/// Refuses direct requests that are no multiple of a sector, and those of files without direct I/O: some file
/// systems open such a file all the same, and go through the page cache.
fn aligned(block: usize, sector: Option<u32>) -> Result<(), TrialError> {
    match sector {
        Some(0) => Err(TrialError::User(
            "this file system has no direct I/O for its files (as ext4 with data=journal), so that its page \
             cache would be measured in the place of a disk: use --path or --out on another one, or `access` \
             buffered"
                .to_owned(),
        )),
        Some(bytes) if !block.is_multiple_of(bytes as usize) => Err(TrialError::User(format!(
            "this disk takes direct requests of a multiple of {bytes} bytes, and a `block` has {block}: take \
             larger blocks, or `access` buffered"
        ))),
        _ => Ok(()),
    }
}

/// Memory for so many blocks, aligned as direct requests want it.
pub struct AlignedBuffers {
    memory: Vec<u8>,
    start: usize,
    block: usize,
}

impl AlignedBuffers {
    /// Of so many blocks of so many bytes.
    pub fn new(count: usize, block: usize) -> Self {
        // Room to move up to the next boundary.
        let memory = vec![0; count * block + PAGE];
        let start = memory.as_ptr().align_offset(PAGE);
        Self { memory, start, block }
    }

    /// The memory of all of them, one behind the other.
    pub fn all(&mut self) -> &mut [u8] {
        let end = self.memory.len() - (PAGE - self.start);
        &mut self.memory[self.start..end]
    }

    /// The memory of one block.
    pub fn block(&mut self, number: usize) -> &mut [u8] {
        &mut self.memory[self.start + number * self.block..][..self.block]
    }
}

#[cfg(test)]
mod tests {
    use super::super::medium::path;
    use super::*;

    const SHAPE: FileSetShape = FileSetShape { each: 16 << 10, files: 3, zeros: false, seed: 9 };
    const READS: FileOpenMode = FileOpenMode { direct: false, writes: false, dsync: false };

    /// Not the system's temporary folder: that may be in memory.
    fn made() -> tempfile::TempDir {
        let program = std::env::current_exe().unwrap();
        let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
        let mut told = Vec::new();
        SHAPE.make(&DataMedium::folder(folder.path()), &mut |bytes| told.push(bytes)).unwrap();
        assert_eq!(told, [16 << 10, 32 << 10, 48 << 10]);
        folder
    }

    #[test]
    fn a_file_in_memory_is_no_disk() {
        let Some(folder) = bakeoff_testkit::needs(tempfile::tempdir_in("/dev/shm")) else { return };
        SHAPE.make(&DataMedium::folder(folder.path()), &mut |_| ()).unwrap();
        for direct in [true, false] {
            let access = FileOpenMode { direct, ..READS };
            let error =
                DataFiles::open(&DataMedium::folder(folder.path()), &SHAPE, PAGE, access).err();
            let Some(TrialError::User(why)) = &error else { panic!("{error:?}") };
            assert!(why.contains("--out on another one"), "{why}");
        }
    }

    #[test]
    fn files_are_opened_around_the_page_cache_and_durable_where_they_are_to_be() {
        let folder = made();
        for (direct, dsync) in [(false, false), (true, false), (false, true), (true, true)] {
            let access = FileOpenMode { direct, writes: true, dsync };
            for file in DataFiles::open(&DataMedium::folder(folder.path()), &SHAPE, PAGE, access)
                .unwrap()
                .files
            {
                let flags = rustix::fs::fcntl_getfl(&file).unwrap().bits() as i32;
                assert_eq!(flags & libc::O_DIRECT != 0, direct, "{access:?}");
                assert_eq!(flags & libc::O_DSYNC != 0, dsync, "{access:?}");
                // O_SYNC would be a commit of the journal for each write.
                assert!(flags & libc::O_SYNC != libc::O_SYNC, "{access:?}");
            }
        }
    }

    #[test]
    fn blocks_lie_one_behind_the_other_in_one_file_after_the_other() {
        let folder = made();
        let files =
            DataFiles::open(&DataMedium::folder(folder.path()), &SHAPE, 2 * PAGE, READS).unwrap();
        assert_eq!(files.blocks(), 6);
        let spots: Vec<BlockLocation> = (0..6).map(|block| files.spot(block)).collect();
        let spot = |file, offset, page| BlockLocation { file, offset, page };
        let expected = [(0, 0, 0), (0, 8192, 2), (1, 0, 4), (1, 8192, 6), (2, 0, 8), (2, 8192, 10)];
        assert_eq!(spots, expected.map(|(file, offset, page)| spot(file, offset, page)));
        for (number, spot) in (0..).zip(spots) {
            assert_eq!(files.block_at(spot.file, spot.offset + 5000), Some(number));
        }
        assert_eq!(files.block_at(0, 16 << 10), None);
    }

    #[test]
    fn files_are_whole_until_somebody_spoils_a_page() {
        let folder = made();
        let medium = DataMedium::folder(folder.path());
        let faults = |last: Option<u64>| SHAPE.faults(&medium, false, &|_, _| last).unwrap();
        assert_eq!(faults(None), Vec::<String>::new());
        assert_eq!(faults(Some(0)), Vec::<String>::new(), "as they were made");
        let file = File::options().write(true).open(path(folder.path(), 1)).unwrap();
        file.write_all_at(b"?", 8192 + 100).unwrap();
        let [spoilt] = &faults(Some(0))[..] else { panic!("one page is spoilt") };
        assert!(spoilt.contains("file 1 holds at byte 8192 pieces of several"), "{spoilt}");
        // Whole pages of which each was to be written once more.
        let lost = faults(Some(1));
        assert_eq!(lost.len(), 12);
        assert!(lost[0].contains("byte 0 an earlier write than the last"), "{}", lost[0]);
    }

    #[test]
    fn a_file_system_without_direct_requests_is_told() {
        // One that every Linux has.
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/proc/version", path(folder.path(), 0)).unwrap();
        let shape = FileSetShape { files: 1, ..SHAPE };
        let access = FileOpenMode { direct: true, ..READS };
        let error = DataFiles::open(&DataMedium::folder(folder.path()), &shape, PAGE, access).err();
        let Some(TrialError::User(why)) = &error else { panic!("{error:?}") };
        assert!(why.contains("has no direct I/O") && why.contains("--path"), "{why}");
    }

    #[test]
    fn a_direct_request_is_a_multiple_of_the_sector() {
        assert!(aligned(4096, None).is_ok() && aligned(4096, Some(512)).is_ok());
        assert!(aligned(4096, Some(4096)).is_ok());
        let error = aligned(4096, Some(16 << 10)).unwrap_err().to_string();
        assert!(error.contains("multiple of 16384 bytes") && error.contains("has 4096"), "{error}");
    }

    #[test]
    fn a_file_that_opens_for_direct_requests_and_has_none_is_told() {
        let error = aligned(4096, Some(0)).unwrap_err();
        let TrialError::User(why) = &error else { panic!("{error:?}") };
        for words in ["has no direct I/O for its files", "--path or --out", "`access` buffered"] {
            assert!(why.contains(words), "{why}");
        }
    }

    #[test]
    fn a_file_that_is_too_short_is_told() {
        let folder = made();
        File::options().write(true).open(path(folder.path(), 2)).unwrap().set_len(4096).unwrap();
        let error =
            DataFiles::open(&DataMedium::folder(folder.path()), &SHAPE, PAGE, READS).err().unwrap();
        assert!(error.to_string().contains("has 4096 bytes, and not 16384"), "{error}");
    }
}
