use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};

use rustix::fs::{AtFlags, StatxFlags};
use serde::{Deserialize, Serialize};

use super::content::{DataFileContent, PAGE};
use super::medium::{DataMedium, IN_MEMORY};
use crate::TrialError;

const PIECE: usize = 1 << 20;
/// If there are more bytes, only some pieces are verified, evenly spread.
const MOST_VERIFIED: u64 = 4 << 30;
const MOST_FAULTS: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSetShape {
    /// In bytes: whole pages.
    pub each: u64,
    pub files: usize,
    pub zeros: bool,
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOpenMode {
    pub direct: bool,
    pub writes: bool,
    pub dsync: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockLocation {
    pub file: usize,
    pub offset: u64,
    /// Counted over all files.
    pub page: u64,
}

impl FileSetShape {
    pub fn total_bytes(&self) -> u64 {
        self.each * self.files as u64
    }

    pub fn content(&self) -> DataFileContent {
        DataFileContent::new(self.seed, self.zeros)
    }

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

    /// Finds pages that were never written so, or that are not the last write. `expected` gives the
    /// write that a place must hold; `None` allows any. `direct` bypasses the page cache.
    pub fn find_faults(
        &self,
        medium: &DataMedium,
        direct: bool,
        expected: &dyn Fn(usize, u64) -> Option<u64>,
    ) -> std::io::Result<Vec<String>> {
        let (content, mut buffers) = (self.content(), AlignedBuffers::new(1, PIECE));
        let step = self.total_bytes().div_ceil(MOST_VERIFIED).max(1) * PIECE as u64;
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
                    let Some(what) = page_fault(&content, page, of_all, last) else { continue };
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

fn page_fault(
    content: &DataFileContent,
    bytes: &[u8],
    page: u64,
    last: Option<u64>,
) -> Option<String> {
    match (content.find_writing(bytes, page), last) {
        (Err(found), _) => Some(format!("{found} in the place of its own page")),
        (Ok(found), Some(last)) if found != last => {
            Some("an earlier write than the last that was acknowledged".to_owned())
        }
        (Ok(_), _) => None,
    }
}

pub struct DataFiles {
    pub files: Vec<File>,
    pub block: usize,
    blocks_each: u64,
    pages_each: u64,
}

impl DataFiles {
    pub fn open(
        medium: &DataMedium,
        shape: &FileSetShape,
        block: usize,
        access: FileOpenMode,
    ) -> Result<Self, TrialError> {
        let open = |number| open_file(medium, number, shape, access);
        let files = (0..shape.files).map(open).collect::<Result<Vec<_>, _>>()?;
        if let Some(file) = files.first().filter(|_| access.direct) {
            check_alignment(block, medium.known_sector().or_else(|| direct_sector(file)))?;
        }
        let (blocks_each, pages_each) = (shape.each / block as u64, shape.each / PAGE as u64);
        Ok(Self { files, block, blocks_each, pages_each })
    }

    pub fn blocks(&self) -> u64 {
        self.blocks_each * self.files.len() as u64
    }

    /// `None` behind the last whole block.
    pub fn block_at(&self, file: usize, offset: u64) -> Option<u64> {
        let place = offset / self.block as u64;
        (place < self.blocks_each).then(|| file as u64 * self.blocks_each + place)
    }

    pub fn locate_block(&self, block: u64) -> BlockLocation {
        let (file, place) = (block / self.blocks_each, block % self.blocks_each);
        let offset = place * self.block as u64;
        let page = file * self.pages_each + offset / PAGE as u64;
        BlockLocation { file: file as usize, offset, page }
    }
}

fn open_file(
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
        _ => TrialError::place_error("its file can't be opened", error),
    })?;
    if medium.is_in_memory(&file).map_err(|e| TrialError::place_error("its file system", e))? {
        return Err(TrialError::User(IN_MEMORY.into()));
    }
    let length = medium.length(&file).map_err(|e| TrialError::place_error("its file", e))?;
    if length < shape.each {
        let short = format!("file {number} has {length} bytes, and not {}", shape.each);
        return Err(TrialError::place_error("its file is too short", short));
    }
    Ok(file)
}

/// Direct requests must be a multiple of this; 0 without direct I/O. Linux 6.1 and later report it.
/// Source: statx(2), `STATX_DIOALIGN`.
fn direct_sector(file: &File) -> Option<u32> {
    let wanted = StatxFlags::DIOALIGN;
    let about = rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, wanted).ok()?;
    (about.stx_mask & wanted.bits() != 0).then_some(about.stx_dio_offset_align)
}

/// Some file systems open a file without direct I/O all the same, and use the page cache.
fn check_alignment(block: usize, sector: Option<u32>) -> Result<(), TrialError> {
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

pub struct AlignedBuffers {
    memory: Vec<u8>,
    start: usize,
    block: usize,
}

impl AlignedBuffers {
    pub fn new(count: usize, block: usize) -> Self {
        // Room to move up to the next boundary.
        let memory = vec![0; count * block + PAGE];
        let start = memory.as_ptr().align_offset(PAGE);
        Self { memory, start, block }
    }

    pub fn all(&mut self) -> &mut [u8] {
        let end = self.memory.len() - (PAGE - self.start);
        &mut self.memory[self.start..end]
    }

    pub fn block(&mut self, number: usize) -> &mut [u8] {
        &mut self.memory[self.start + number * self.block..][..self.block]
    }
}

#[cfg(test)]
mod tests {
    use super::super::medium::file_path;
    use super::*;
    use crate::tests::folder_on_disk;

    const SHAPE: FileSetShape = FileSetShape { each: 16 << 10, files: 3, zeros: false, seed: 9 };
    const READS: FileOpenMode = FileOpenMode { direct: false, writes: false, dsync: false };

    fn made() -> (tempfile::TempDir, DataMedium) {
        let folder = folder_on_disk();
        let (medium, mut told) = (DataMedium::from_folder(folder.path()), Vec::new());
        SHAPE.make(&medium, &mut |bytes| told.push(bytes)).unwrap();
        assert_eq!(told, [16 << 10, 32 << 10, 48 << 10]);
        (folder, medium)
    }

    #[test]
    fn files_are_opened_around_the_page_cache_and_durable() {
        let (_folder, medium) = made();
        for (direct, dsync) in [(false, false), (true, false), (false, true), (true, true)] {
            let access = FileOpenMode { direct, writes: true, dsync };
            for file in DataFiles::open(&medium, &SHAPE, PAGE, access).unwrap().files {
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
        let (_folder, medium) = made();
        let files = DataFiles::open(&medium, &SHAPE, 2 * PAGE, READS).unwrap();
        assert_eq!(files.blocks(), 6);
        let spots = (0..6).map(|block| files.locate_block(block));
        let spots: Vec<_> = spots.map(|spot| (spot.file, spot.offset, spot.page)).collect();
        let expected = [(0, 0, 0), (0, 8192, 2), (1, 0, 4), (1, 8192, 6), (2, 0, 8), (2, 8192, 10)];
        assert_eq!(spots, expected);
        for (number, (file, offset, _)) in (0..).zip(spots) {
            assert_eq!(files.block_at(file, offset + 5000), Some(number));
        }
        assert_eq!(files.block_at(0, 16 << 10), None);
    }

    #[test]
    fn files_are_whole_until_somebody_spoils_a_page() {
        let (folder, medium) = made();
        let faults = |last: Option<u64>| SHAPE.find_faults(&medium, false, &|_, _| last).unwrap();
        assert_eq!(faults(None), Vec::<String>::new());
        assert_eq!(faults(Some(0)), Vec::<String>::new(), "as they were made");
        let file = File::options().write(true).open(file_path(folder.path(), 1)).unwrap();
        file.write_all_at(b"?", 8192 + 100).unwrap();
        let [spoilt] = &faults(Some(0))[..] else { panic!("one page is spoilt") };
        assert!(spoilt.contains("file 1 holds at byte 8192 pieces of several"), "{spoilt}");
        // Whole pages of which each was to be written once more.
        let lost = faults(Some(1));
        assert_eq!(lost.len(), 12);
        assert!(lost[0].contains("byte 0 an earlier write than the last"), "{}", lost[0]);
    }

    #[test]
    fn files_that_can_not_be_read_as_they_are_to_be_are_told() {
        let why = |medium: &DataMedium, shape: &FileSetShape, direct| {
            let access = FileOpenMode { direct, ..READS };
            let error = DataFiles::open(medium, shape, PAGE, access).err();
            let Some(TrialError::User(why)) = error else { panic!("{error:?}") };
            why
        };
        if let Some(folder) = bakeoff_testkit::needs(tempfile::tempdir_in("/dev/shm")) {
            let medium = DataMedium::from_folder(folder.path());
            SHAPE.make(&medium, &mut |_| ()).unwrap();
            for direct in [true, false] {
                let why = why(&medium, &SHAPE, direct);
                assert!(why.contains("--out on another one"), "{why}");
            }
        }
        // A file system without direct requests that every Linux has.
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/proc/version", file_path(folder.path(), 0)).unwrap();
        let one = FileSetShape { files: 1, ..SHAPE };
        let none = why(&DataMedium::from_folder(folder.path()), &one, true);
        assert!(none.contains("has no direct I/O") && none.contains("--path"), "{none}");
        let (folder, medium) = made();
        let last = File::options().write(true).open(file_path(folder.path(), 2)).unwrap();
        last.set_len(4096).unwrap();
        let short = DataFiles::open(&medium, &SHAPE, PAGE, READS).err().unwrap().to_string();
        assert!(short.contains("has 4096 bytes, and not 16384"), "{short}");
    }

    #[test]
    fn a_direct_request_is_a_multiple_of_the_sector() {
        for sector in [None, Some(512), Some(4096)] {
            check_alignment(4096, sector).unwrap();
        }
        for (sector, words) in [
            (16 << 10, &["multiple of 16384 bytes", "has 4096"][..]),
            // A file that opens for direct requests and has none.
            (0, &["has no direct I/O for its files", "--path or --out", "`access` buffered"]),
        ] {
            let error = check_alignment(4096, Some(sector)).unwrap_err();
            let TrialError::User(why) = &error else { panic!("{error:?}") };
            assert!(words.iter().all(|words| why.contains(words)), "{why}");
        }
    }
}
