//! A journalled file system after ext4: which requests an operation makes of the device, and when.
//!
//! In virtual time. Knows files by number and never sees their bytes. Buffered writes cost nothing
//! when they are made; their dirty pages reach the device on a sync, with age, or when there are
//! too many.
//!
//! Modelled as `mkfs.ext4` makes it (`data=ordered`, `delalloc`, `commit=5`); [`Ext4Parameters`]
//! has other choices:
//! - **Blocks** of 4 KiB in extents, allocated at write-back, or at once by direct writes and
//!   `fallocate`. A growing file gets some ahead of need.
//! - **The page cache**: dirty pages by file, written back whole files at a time, sorted, merged
//!   into requests of up to 1 MiB.
//! - **Syncs** as in `ext4_sync_file`: the file's dirty pages; a commit, if the transaction that
//!   changed it last is still running; a flush. Pages being written back and a commit in flight are
//!   waited for. `fdatasync` ignores timestamps, so that one after a write in place makes no
//!   commit. A sync that finds nothing to write still flushes.
//! - **Commits** as in jbd2: the blocks go to the journal, flush, commit record, flush. An append
//!   and its sync cost three writes that wait for each other and two flushes, an overwrite one and
//!   one. A device with FUA gets the commit record, and a direct overwrite with `O_DSYNC`, as a
//!   write through instead of a write and a flush. Allocation and write-back are one here, so that a commit's data are written before it, as
//!   `data=ordered` demands.
//! - **The journal**: one piece in the middle of the data, where `mkfs.ext4` puts it, written
//!   round.
//!
//! Not modelled: reading what a write of part of a page lacks, writing metadata to their own places
//! at a checkpoint, `auto_da_alloc`, access times.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use crate::device::{Nanos, RequestKind};

mod background;
mod cache;
mod changes;
mod counts;
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

use cache::{DirtyPages, DirtyRanges};
use counts::FileTally;
use extents::Extents;
use groups::BLOCK;
use journal::{Journal, Marks};
use journaled::JournaledPages;
use ranges::RangeSet;
use requests::{DeviceRange, merge_into_requests};
use space::FreeSpace;

/// The least span, without the journal: data lie as far apart as if there were this much. With
/// less, the short way from one file to the next would be a seek over much of the disk.
pub const LEAST_SPAN: u64 = 8 << 20;

pub type FileNumber = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durable {
    /// With its data, size and blocks.
    File(FileNumber),
    Names,
}

/// Work that the file system does on its own account.
#[derive(Debug)]
#[must_use = "it has to be performed"]
pub struct Background {
    pub work: DeviceWork,
    /// Durable once the work is done, in the state at the time of the call.
    pub durable: Vec<Durable>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub offset: u64,
    /// On the device.
    pub place: u64,
    pub length: u64,
}

#[derive(Debug, Default)]
struct FileState {
    extents: Extents,
    dirty: DirtyRanges,
    /// Pages that a buffered write changed in part and nobody read since. The kernel caches those
    /// of an ext4; those of a FUSE file system it asks for again.
    partly: RangeSet,
    size: u64,
    /// The size that the next commit makes durable: that of what was written back (`i_disksize`).
    written_size: u64,
    logged: JournaledPages,
    marks: Marks,
    tally: FileTally,
}

#[derive(Debug)]
pub struct Ext4 {
    options: Ext4MountOptions,
    files: HashMap<FileNumber, FileState>,
    space: FreeSpace,
    cache: DirtyPages,
    journal: Journal,
    near: u64,
    names: bool,
    /// Files written by waiting writers or around the page cache since the last background commit.
    written_unasked: BTreeSet<FileNumber>,
    due: Option<Nanos>,
    pressed: Option<Nanos>,
    last: u64,
    writing: BTreeMap<u64, HashSet<FileNumber>>,
    background: Option<(u64, u64)>,
    tally: FileTally,
    removed: FileTally,
    journal_end: u64,
    counts: Ext4Counts,
}

impl Ext4 {
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

    /// Takes in a file that exists already; all of it is durable.
    pub fn adopt_file(&mut self, file: FileNumber, bytes: u64) {
        let state = self.files.entry(file).or_default();
        state.extents.allocate_missing(0..bytes.div_ceil(BLOCK), true, &mut self.space);
        (state.size, state.written_size) = (bytes, bytes);
    }

    /// Reads bytes that the kernel's page cache did not have. The device is asked only for bytes
    /// that are neither dirty nor in a hole, and that the cache of an ext4 would not have had.
    pub fn read(&mut self, file: FileNumber, offset: u64, length: u64) -> DeviceWork {
        let mut work = DeviceWork::default();
        let Some(state) = self.files.get_mut(&file) else { return work };
        state.tally.host_read(offset, length);
        self.tally.host_read(offset, length);
        let bytes = offset..offset + length;
        let mut pieces = Vec::new();
        if state.dirty.is_empty() && state.partly.total() == 0 {
            state.extents.push_data_ranges(bytes, &mut pieces);
        } else {
            let clean = state.dirty.clean_parts(touched_pages(&bytes)).into_iter();
            for read in clean.flat_map(|clean| state.partly.find_gaps(clean)) {
                let part = bytes.start.max(read.start * BLOCK)..bytes.end.min(read.end * BLOCK);
                state.extents.push_data_ranges(part, &mut pieces);
            }
            state.partly.remove(touched_pages(&bytes));
        }
        let step = self.space.place_requests(merge_into_requests(RequestKind::Read, pieces));
        for request in &step {
            state.tally.device_read(request.offset, request.length);
            self.tally.device_read(request.offset, request.length);
        }
        work.add_step(step);
        work
    }

    /// Writes bytes. A buffered write has no work unless there are too many dirty pages; with a
    /// sync (`O_DSYNC`, `O_SYNC`) a sync of the file follows. Where data are journalled, all writes
    /// are buffered.
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
        let state = ensure_file(&mut self.files, &mut self.journal, file);
        state.tally.host_write(offset, length);
        self.tally.host_write(offset, length);
        self.journal.note_timestamps(&mut state.marks);
        state.size = state.size.max(offset + length);
        match mode {
            Mode::Buffered => {
                for edge in [offset, offset + length] {
                    if !edge.is_multiple_of(BLOCK) {
                        state.partly.insert(edge / BLOCK..edge / BLOCK + 1);
                    }
                }
                let pages = touched_pages(&(offset..offset + length));
                self.cache.mark_dirty(now, file, &mut state.dirty, pages);
                self.log_data(file, offset..offset + length);
            }
            Mode::Direct => self.write_direct(file, offset..offset + length, &mut work),
        }
        self.plan_look(now);
        match (sync, mode) {
            (Some(sync), Mode::Direct) if self.is_durable_alone(file, sync) => {
                self.write_through(file, &mut work);
            }
            (Some(sync), _) => self.sync_after(file, sync, &mut work),
            (None, Mode::Buffered) => self.throttle_writer(now, length, &mut work),
            (None, Mode::Direct) => {}
        }
        work
    }

    /// Must be called for all work with a number, whatever became of it.
    pub fn finish_work(&mut self, ticket: Ticket) {
        self.writing.remove(&ticket.number);
        self.background.take_if(|(number, _)| *number == ticket.number);
        if let Some(transaction) = ticket.commits {
            self.journal.finish_commit(transaction);
        }
    }

    /// The journal's transaction that takes in what changes now; earlier ones are closed. It is on
    /// the device when work is done whose ticket says so.
    pub fn running_transaction(&self) -> u64 {
        self.journal.running_transaction()
    }

    pub fn dirty_bytes(&self) -> u64 {
        self.cache.page_count() * BLOCK
    }

    /// Bytes that the device was asked to write so far: data and the journal.
    pub fn written_bytes(&self) -> u64 {
        self.tally.to_counts().device_writes.bytes + self.counts.journal.bytes
    }

    /// The end of the part of the device that is in use, in bytes.
    pub fn span(&self) -> u64 {
        let journal = self.space.journal_layout().map_or(0, |layout| layout.bytes());
        journal + LEAST_SPAN.max(self.space.used_end() * BLOCK)
    }

    pub fn file_extents(&self, file: FileNumber) -> Vec<Extent> {
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

    pub fn counts(&self) -> Ext4Counts {
        let files = self.files.iter().map(|(file, state)| (*file, state.tally.to_counts()));
        Ext4Counts {
            all: self.tally.to_counts(),
            files: files.collect(),
            removed: self.removed.to_counts(),
            ..self.counts.clone()
        }
    }

    fn number_work(&mut self, work: &mut DeviceWork) {
        self.last += 1;
        work.ticket.number = self.last;
    }

    fn plan_look(&mut self, now: Nanos) {
        self.due.get_or_insert(now + self.options.commit);
    }

    /// Writes bytes around the page cache; dirty pages below them need no write-back.
    fn write_direct(&mut self, file: FileNumber, bytes: Range<u64>, work: &mut DeviceWork) {
        let Some(state) = self.files.get_mut(&file) else { return };
        self.cache.mark_clean(file, &mut state.dirty, whole_pages(&bytes));
        let blocks = state.extents.block_count();
        if state.extents.allocate_missing(touched_pages(&bytes), true, &mut self.space) {
            self.journal.note_mapping(&mut state.marks);
        }
        if state.extents.block_count() > blocks {
            self.journal.note_allocation();
        }
        if bytes.end > state.written_size {
            state.written_size = bytes.end;
            self.journal.note_mapping(&mut state.marks);
        }
        let mut pieces = Vec::new();
        state.extents.push_data_ranges(bytes, &mut pieces);
        let step = merge_into_requests(RequestKind::Write, pieces);
        for request in &step {
            state.tally.device_write(request.offset, request.length);
        }
        self.write_step(step, work);
        self.written_unasked.insert(file);
    }
}

fn ensure_file<'a>(
    files: &'a mut HashMap<FileNumber, FileState>,
    journal: &mut Journal,
    file: FileNumber,
) -> &'a mut FileState {
    files.entry(file).or_insert_with(|| {
        let mut state = FileState::default();
        journal.note_inode();
        journal.note_mapping(&mut state.marks);
        state
    })
}

fn touched_pages(bytes: &Range<u64>) -> Range<u64> {
    bytes.start / BLOCK..bytes.end.div_ceil(BLOCK)
}

fn whole_pages(bytes: &Range<u64>) -> Range<u64> {
    let first = bytes.start.div_ceil(BLOCK);
    first..first.max(bytes.end / BLOCK)
}
