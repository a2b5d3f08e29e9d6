//! A journalled file system after ext4: which requests an operation makes of the device, and when.
//!
//! Pure, in virtual time. Buffered writes cost nothing when they are made; they become dirty pages,
//! and reach the device on a sync, with age, or when there are too many. Knows files by number and
//! never sees their bytes.
//!
//! What is modelled, of ext4 as `mkfs.ext4` makes it (`data=ordered`, `delalloc`, `commit=5`):
//! - **Blocks** of 4 KiB in extents. Blocks are allocated when data are written back, or at once
//!   by direct writes and `fallocate`, and a growing file is given some ahead of need.
//! - **The page cache**: dirty pages by file, written back whole files at a time, sorted, neighbours
//!   merged into requests of up to 1 MiB.
//! - **Syncs** as `ext4_sync_file` makes them: the file's dirty pages; then, if the transaction that
//!   changed it last is still running, a commit; then a flush of the device. Pages of the file that
//!   are being written back already, and a commit that is in flight, are waited for. `fdatasync`
//!   does not look at timestamps, so that one after a write in place makes no commit. A sync that
//!   finds nothing to write still flushes.
//! - **Commits** as jbd2 makes them: the blocks of a transaction are written to the journal; when
//!   they are there the device is flushed, the commit record is written, and the device is flushed
//!   again. An append and its sync cost three writes that wait for each other and two flushes, an
//!   overwrite one and one. By the time of a commit the data of the blocks it allocates are written,
//!   as `data=ordered` demands: allocation and write-back are one here.
//! - **The journal** in one place, in the middle of the data, where `mkfs.ext4` puts it, and written
//!   round.
//!
//! How a commit is written, where the journal lies, what is ordered of data, and whether the device is
//! flushed at all can be chosen ([`Ext4Parameters`]).
//!
//! What is not: reading what a write of part of a page lacks, writing metadata to their own places
//! when the journal is checkpointed, `auto_da_alloc`, access times.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use crate::device::{Nanos, RequestKind};

mod cache;
mod changes;
mod counts;
mod due;
mod extents;
mod groups;
mod journal;
mod journaled;
mod layout;
mod options;
mod parameters;
mod ranges;
mod requests;
mod space;
mod syncs;
mod work;
mod writeback;

pub use counts::{Ext4Counts, FileCounts, Flow};
pub use options::{Ext4MountOptions, Mode, SyncScope};
pub use parameters::{Barrier, Committing, DataMode, Ext4Parameters, JournalPlace};
pub use work::{DeviceWork, Ticket};

use cache::{Dirty, DirtyPages};
use counts::FileTally;
use extents::Extents;
use groups::BLOCK;
use journal::{Journal, Marks};
use journaled::JournaledPages;
use ranges::RangeSet;
use requests::{DeviceRange, requests};
use space::FreeSpace;

/// The least span, without the journal: what is on a device lies as far apart as if it were at least
/// this much. With less, the short way from one file to the next would become a seek over much of
/// the disk. So little lies in a disk's own memory anyway, once it was read.
pub const LEAST_SPAN: u64 = 8 << 20;

/// A file's number, as the volume gives it out.
pub type FileNumber = u64;

/// What becomes durable without having been asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durable {
    /// A file, with its data, size and blocks.
    File(FileNumber),
    /// All names.
    Names,
}

/// Work that the file system does on its own account.
#[derive(Debug)]
#[must_use = "it has to be performed"]
pub struct Background {
    /// What the device has to do.
    pub work: DeviceWork,
    /// What is durable once that is done, as it was when the work was handed out.
    pub durable: Vec<Durable>,
}

/// Bytes of a file that lie next to each other on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The first byte's place in the file.
    pub offset: u64,
    /// The first byte's place on the device.
    pub place: u64,
    /// How many bytes.
    pub length: u64,
}

/// A file, as far as it matters to the device.
#[derive(Debug, Default)]
struct FileState {
    extents: Extents,
    dirty: Dirty,
    /// Pages that a buffered write changed in part, and nobody read since. The kernel keeps those
    /// of an ext4 in its cache; those of a FUSE file system it asks for again.
    partly: RangeSet,
    size: u64,
    /// The size that the next commit makes durable: that of what was written back
    /// (`i_disksize`).
    written_size: u64,
    /// Where data are journalled, the pages of it in a transaction.
    logged: JournaledPages,
    marks: Marks,
    tally: FileTally,
}

/// The file system.
#[derive(Debug)]
pub struct Ext4 {
    options: Ext4MountOptions,
    files: HashMap<FileNumber, FileState>,
    space: FreeSpace,
    cache: DirtyPages,
    journal: Journal,
    /// The block of data written last.
    near: u64,
    /// Whether names changed since they were last said to be durable.
    names: bool,
    /// Files that were written to the device since the last commit in the background, by waiting
    /// writers or around the page cache.
    written_unasked: BTreeSet<FileNumber>,
    /// When to look at dirty pages and metadata.
    due: Option<Nanos>,
    /// Since when there are too many dirty pages.
    pressed: Option<Nanos>,
    /// The number of the last work that has one.
    last: u64,
    /// Work that is in flight and writes dirty pages, with the files whose pages they are.
    writing: BTreeMap<u64, HashSet<FileNumber>>,
    /// The work that writes pages back in the background, and how many.
    background: Option<(u64, u64)>,
    tally: FileTally,
    removed: FileTally,
    journal_end: u64,
    /// What is counted for no file.
    counts: Ext4Counts,
}

impl Ext4 {
    /// An empty file system.
    pub fn new(options: Ext4MountOptions) -> Self {
        Self {
            options,
            files: HashMap::new(),
            space: FreeSpace::new(options.journal.journal),
            cache: DirtyPages::default(),
            journal: Journal::default(),
            near: 0,
            names: false,
            written_unasked: BTreeSet::new(),
            due: None,
            pressed: None,
            last: 0,
            writing: BTreeMap::new(),
            background: None,
            tally: FileTally::default(),
            removed: FileTally::default(),
            journal_end: 0,
            counts: Ext4Counts::default(),
        }
    }

    /// Takes in a file that is there already, with all that it holds durable.
    pub fn adopt(&mut self, file: FileNumber, bytes: u64) {
        let state = self.files.entry(file).or_default();
        state.extents.fill(0..bytes.div_ceil(BLOCK), true, &mut self.space);
        (state.size, state.written_size) = (bytes, bytes);
    }

    /// Reads bytes that the kernel's page cache did not have. Only those come from the device that
    /// are neither dirty nor in a hole, and that the cache of an ext4 would not have had, either.
    pub fn read(&mut self, file: FileNumber, offset: u64, length: u64) -> DeviceWork {
        let mut work = DeviceWork::default();
        let Some(state) = self.files.get_mut(&file) else { return work };
        state.tally.host_read(offset, length);
        self.tally.host_read(offset, length);
        let bytes = offset..offset + length;
        let mut pieces = Vec::new();
        if state.dirty.is_empty() && state.partly.total() == 0 {
            state.extents.pieces(bytes, &mut pieces);
        } else {
            let clean = state.dirty.clean(pages(&bytes)).into_iter();
            for read in clean.flat_map(|clean| state.partly.gaps(clean)) {
                let part = bytes.start.max(read.start * BLOCK)..bytes.end.min(read.end * BLOCK);
                state.extents.pieces(part, &mut pieces);
            }
            state.partly.remove(pages(&bytes));
        }
        let step = self.space.requests(requests(RequestKind::Read, pieces));
        for request in &step {
            state.tally.device_read(request.offset, request.length);
            self.tally.device_read(request.offset, request.length);
        }
        work.then(step);
        work
    }

    /// Writes bytes. A buffered write has no work, unless it has to wait because there are too many
    /// dirty pages; with a sync (`O_DSYNC`, `O_SYNC`) it is followed by that sync of the file. Where data are
    /// journalled, all are buffered.
    pub fn write(
        &mut self,
        now: Nanos,
        file: FileNumber,
        offset: u64,
        length: u64,
        mode: Mode,
        sync: Option<SyncScope>,
    ) -> DeviceWork {
        let mut work = DeviceWork::default();
        if length == 0 {
            return work;
        }
        let mode = if self.journals_data() { Mode::Buffered } else { mode };
        let state = known(&mut self.files, &mut self.journal, file);
        state.tally.host_write(offset, length);
        self.tally.host_write(offset, length);
        self.journal.stamp(&mut state.marks);
        state.size = state.size.max(offset + length);
        match mode {
            Mode::Buffered => {
                for edge in [offset, offset + length] {
                    if !edge.is_multiple_of(BLOCK) {
                        state.partly.insert(edge / BLOCK..edge / BLOCK + 1);
                    }
                }
                let pages = pages(&(offset..offset + length));
                self.cache.mark_dirty(now, file, &mut state.dirty, pages);
                self.log_data(file, offset..offset + length);
            }
            Mode::Direct => self.write_direct(file, offset..offset + length, &mut work),
        }
        self.arm(now);
        match (sync, mode) {
            (Some(sync), _) => self.sync_after(file, sync, &mut work),
            (None, Mode::Buffered) => self.throttle_writer(now, length, &mut work),
            (None, Mode::Direct) => {}
        }
        work
    }

    /// Work is done. Has to be told of all work with a number, whatever became of it.
    pub fn done(&mut self, ticket: Ticket) {
        self.writing.remove(&ticket.number);
        self.background.take_if(|(number, _)| *number == ticket.number);
        if let Some(transaction) = ticket.commits {
            self.journal.committed(transaction);
        }
    }

    /// The journal's transaction that takes in what changes now; those before it are closed. It is
    /// on the device when work is done whose ticket says so.
    pub fn transaction(&self) -> u64 {
        self.journal.running()
    }

    /// Bytes of dirty pages.
    pub fn dirty(&self) -> u64 {
        self.cache.pages() * BLOCK
    }

    /// Bytes that the device was asked to write so far: data and the journal.
    pub fn written(&self) -> u64 {
        self.tally.counts().device_writes.bytes + self.counts.journal.bytes
    }

    /// The end of the part of the device that is in use, in bytes.
    pub fn span(&self) -> u64 {
        let journal = self.space.layout().map_or(0, |layout| layout.bytes());
        journal + LEAST_SPAN.max(self.space.end() * BLOCK)
    }

    /// Where a file's bytes lie, in the order of the file.
    pub fn extents(&self, file: FileNumber) -> Vec<Extent> {
        let Some(state) = self.files.get(&file) else { return Vec::new() };
        let mut extents = Vec::new();
        for (mut offset, piece) in state.extents.iter() {
            for DeviceRange { place, length } in self.space.on_device(piece) {
                extents.push(Extent { offset, place, length });
                offset += length;
            }
        }
        extents
    }

    /// What was counted so far.
    pub fn counts(&self) -> Ext4Counts {
        let files = self.files.iter().map(|(file, state)| (*file, state.tally.counts()));
        Ext4Counts {
            all: self.tally.counts(),
            files: files.collect(),
            removed: self.removed.counts(),
            ..self.counts.clone()
        }
    }

    /// Gives work a number.
    fn number(&mut self, work: &mut DeviceWork) {
        self.last += 1;
        work.ticket.number = self.last;
    }

    /// Looks at metadata and dirty pages some time after they changed.
    fn arm(&mut self, now: Nanos) {
        self.due.get_or_insert(now + self.options.commit);
    }

    /// Writes bytes around the page cache; dirty pages that they replace need no write-back.
    fn write_direct(&mut self, file: FileNumber, bytes: Range<u64>, work: &mut DeviceWork) {
        let Some(state) = self.files.get_mut(&file) else { return };
        self.cache.clean(file, &mut state.dirty, whole_pages(&bytes));
        let blocks = state.extents.blocks();
        if state.extents.fill(pages(&bytes), true, &mut self.space) {
            self.journal.change(&mut state.marks);
        }
        if state.extents.blocks() > blocks {
            self.journal.allocate();
        }
        if bytes.end > state.written_size {
            state.written_size = bytes.end;
            self.journal.change(&mut state.marks);
        }
        let mut pieces = Vec::new();
        state.extents.pieces(bytes, &mut pieces);
        let step = requests(RequestKind::Write, pieces);
        for request in &step {
            state.tally.device_write(request.offset, request.length);
        }
        self.write_step(step, work);
        // The next commit flushes the device.
        self.written_unasked.insert(file);
    }
}

/// The file; one that is new waits for a commit.
fn known<'a>(
    files: &'a mut HashMap<FileNumber, FileState>,
    journal: &mut Journal,
    file: FileNumber,
) -> &'a mut FileState {
    files.entry(file).or_insert_with(|| {
        let mut state = FileState::default();
        journal.create();
        journal.change(&mut state.marks);
        state
    })
}

/// The pages that hold any of the bytes.
fn pages(bytes: &Range<u64>) -> Range<u64> {
    bytes.start / BLOCK..bytes.end.div_ceil(BLOCK)
}

/// The pages that lie wholly in the bytes.
fn whole_pages(bytes: &Range<u64>) -> Range<u64> {
    let first = bytes.start.div_ceil(BLOCK);
    first..first.max(bytes.end / BLOCK)
}
