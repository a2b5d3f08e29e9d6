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
//! flushed at all can be chosen ([`Parameters`]).
//!
//! What is not: reading what a write of part of a page lacks, writing metadata to their own places
//! when the journal is checkpointed, `auto_da_alloc`, access times.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use crate::device::{Kind, Nanos};

mod cache;
mod counts;
mod extents;
mod groups;
mod journal;
mod journaled;
mod layout;
mod parameters;
mod ranges;
mod requests;
mod space;
mod work;
mod writeback;

pub use counts::{Counts, FileCounts, Flow};
pub use parameters::{Barrier, Committing, Data, JournalPlace, Parameters};
pub use work::{Ticket, Work};

use cache::{Cache, Dirty};
use counts::Tally;
use extents::Extents;
use groups::BLOCK;
use journal::{Commit, Journal, Marks};
use journaled::Logged;
use ranges::Ranges;
use requests::{Piece, requests};
use space::Space;

/// The least span, without the journal: what is on a device lies as far apart as if it were at least
/// this much. With less, the short way from one file to the next would become a seek over much of
/// the disk. So little lies in a disk's own memory anyway, once it was read.
pub const LEAST_SPAN: u64 = 8 << 20;

/// A file's number, as the volume gives it out.
pub type File = u64;

/// How a write is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Into the page cache.
    Buffered,
    /// Around the page cache (`O_DIRECT`).
    Direct,
}

/// How much of a file a sync makes durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// Its data, and what is needed to read them again (`fdatasync`, `O_DSYNC`).
    Data,
    /// Everything (`fsync`, `O_SYNC`).
    All,
}

/// When dirty pages are written back and the journal is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How long a change of metadata waits for a commit, and how often dirty pages are looked at.
    pub commit: Nanos,
    /// How old dirty pages become.
    pub expire: Nanos,
    /// Bytes of dirty pages above which they are written back in the background.
    pub dirty_background: u64,
    /// Bytes of dirty pages, with those that are being written back in the background, above which
    /// a writer has to wait.
    pub dirty_limit: u64,
    /// How and where the journal is written.
    pub journal: Parameters,
}

impl Default for Options {
    /// Linux's: 5 s, 30 s, and 10 % and 20 % of the memory, of which it takes 1 GiB to be there.
    fn default() -> Self {
        Self {
            commit: 5_000_000_000,
            expire: 30_000_000_000,
            dirty_background: (1 << 30) / 10,
            dirty_limit: (1 << 30) / 5,
            journal: Parameters::default(),
        }
    }
}

/// What becomes durable without having been asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durable {
    /// A file, with its data, size and blocks.
    File(File),
    /// All names.
    Names,
}

/// Work that the file system does on its own account.
#[derive(Debug)]
#[must_use = "it has to be performed"]
pub struct Background {
    /// What the device has to do.
    pub work: Work,
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
struct State {
    extents: Extents,
    dirty: Dirty,
    /// Pages that a buffered write changed in part, and nobody read since. The kernel keeps those
    /// of an ext4 in its cache; those of a FUSE file system it asks for again.
    partly: Ranges,
    size: u64,
    /// The size that the next commit makes durable: that of what was written back
    /// (`i_disksize`).
    written_size: u64,
    /// Where data are journalled, the pages of it in a transaction.
    logged: Logged,
    marks: Marks,
    tally: Tally,
}

/// The file system.
#[derive(Debug)]
pub struct Ext4 {
    options: Options,
    files: HashMap<File, State>,
    space: Space,
    cache: Cache,
    journal: Journal,
    /// The block of data written last.
    near: u64,
    /// Whether names changed since they were last said to be durable.
    names: bool,
    /// Files that were written to the device since the last commit in the background, by waiting
    /// writers or around the page cache.
    written_unasked: BTreeSet<File>,
    /// When to look at dirty pages and metadata.
    due: Option<Nanos>,
    /// Since when there are too many dirty pages.
    pressed: Option<Nanos>,
    /// The number of the last work that has one.
    last: u64,
    /// Work that is in flight and writes dirty pages, with the files whose pages they are.
    writing: BTreeMap<u64, HashSet<File>>,
    /// The work that writes pages back in the background, and how many.
    background: Option<(u64, u64)>,
    tally: Tally,
    removed: Tally,
    journal_end: u64,
    /// What is counted for no file.
    counts: Counts,
}

impl Ext4 {
    /// An empty file system.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            files: HashMap::new(),
            space: Space::new(options.journal.journal),
            cache: Cache::default(),
            journal: Journal::default(),
            near: 0,
            names: false,
            written_unasked: BTreeSet::new(),
            due: None,
            pressed: None,
            last: 0,
            writing: BTreeMap::new(),
            background: None,
            tally: Tally::default(),
            removed: Tally::default(),
            journal_end: 0,
            counts: Counts::default(),
        }
    }

    /// Takes in a file that is there already, with all that it holds durable.
    pub fn adopt(&mut self, file: File, bytes: u64) {
        let state = self.files.entry(file).or_default();
        state.extents.fill(0..bytes.div_ceil(BLOCK), true, &mut self.space);
        (state.size, state.written_size) = (bytes, bytes);
    }

    /// Reads bytes that the kernel's page cache did not have. Only those come from the device that
    /// are neither dirty nor in a hole, and that the cache of an ext4 would not have had, either.
    pub fn read(&mut self, file: File, offset: u64, length: u64) -> Work {
        let mut work = Work::default();
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
        let step = self.space.requests(requests(Kind::Read, pieces));
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
        file: File,
        offset: u64,
        length: u64,
        mode: Mode,
        sync: Option<Sync>,
    ) -> Work {
        let mut work = Work::default();
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

    /// Whether all that a file's data are found by, its size and its blocks, is on the device: an
    /// `fdatasync` would have nothing to commit.
    pub fn is_found(&self, file: File) -> bool {
        let state = self.files.get(&file);
        let data = state.map(|state| state.marks.of(Sync::Data));
        data.is_some_and(|transaction| self.journal.commit_of(transaction) == Commit::Done)
    }

    /// Syncs a file.
    pub fn sync(&mut self, now: Nanos, file: File, sync: Sync) -> Work {
        let mut work = Work::default();
        known(&mut self.files, &mut self.journal, file);
        self.sync_after(file, sync, &mut work);
        self.arm(now);
        work
    }

    /// Syncs a directory: a commit if any name changed since the last one.
    pub fn sync_dir(&mut self, now: Nanos) -> Work {
        let mut work = Work::default();
        self.number(&mut work);
        self.counts.directory_syncs += 1;
        let running = self.journal.running();
        let transaction = if self.journal.awaits_names() { running } else { running - 1 };
        if !self.commit(transaction, &mut work) {
            self.flush(&mut work);
        }
        self.arm(now);
        work
    }

    /// Names or attributes of these files changed.
    pub fn names_changed(&mut self, now: Nanos, files: &[File]) {
        for file in files {
            // Of a file that is not known yet a sync makes a commit anyway.
            let Some(state) = self.files.get_mut(file) else { continue };
            self.journal.stamp(&mut state.marks);
        }
        self.journal.rename();
        self.names = true;
        self.arm(now);
    }

    /// Gives a file another size.
    pub fn truncate(&mut self, now: Nanos, file: File, size: u64) {
        let state = known(&mut self.files, &mut self.journal, file);
        self.journal.change(&mut state.marks);
        (state.size, state.written_size) = (size, size);
        self.arm(now);
        self.zero(now, file, size..u64::MAX);
    }

    /// Makes a hole. The size stays.
    pub fn punch(&mut self, now: Nanos, file: File, offset: u64, length: u64) {
        let state = known(&mut self.files, &mut self.journal, file);
        self.journal.change(&mut state.marks);
        self.arm(now);
        self.zero(now, file, offset..offset.saturating_add(length));
    }

    /// Allocates blocks where there are none (`fallocate`). A size that grows is told with
    /// [`truncate`](Self::truncate).
    pub fn allocate(&mut self, now: Nanos, file: File, offset: u64, length: u64) {
        let state = known(&mut self.files, &mut self.journal, file);
        self.journal.stamp(&mut state.marks);
        if state.extents.fill(pages(&(offset..offset + length)), false, &mut self.space) {
            self.journal.change(&mut state.marks);
            self.journal.allocate();
        }
        self.arm(now);
    }

    /// Nobody has the file open for writing any more: blocks kept for its growth are free again.
    pub fn close(&mut self, file: File) {
        if let Some(state) = self.files.get_mut(&file) {
            state.extents.stop_growing(&mut self.space);
        }
    }

    /// The file is gone: it has no name and nobody has it open. Its dirty pages go with it.
    pub fn remove(&mut self, now: Nanos, file: File) {
        let Some(mut state) = self.files.remove(&file) else { return };
        self.cache.clean(file, &mut state.dirty, 0..u64::MAX);
        if state.extents.cut(0..u64::MAX, &mut self.space) {
            self.journal.allocate();
        }
        self.journal.create();
        state.extents.stop_growing(&mut self.space);
        self.journal.change(&mut state.marks);
        self.removed.absorb(&state.tally);
        self.arm(now);
    }

    /// A sync of the file failed: its dirty pages are taken for clean, as Linux does.
    pub fn fail_sync(&mut self, file: File) {
        if let Some(state) = self.files.get_mut(&file) {
            self.cache.clean(file, &mut state.dirty, 0..u64::MAX);
        }
    }

    /// When to call [`tick`](Self::tick) next. Any other call may bring this forward.
    pub fn next_tick(&self) -> Option<Nanos> {
        let pressed = self.pressed.filter(|_| self.background.is_none());
        [self.due, pressed].into_iter().flatten().min()
    }

    /// Work that is due: dirty pages that have expired, or are too many, and a commit. Pages are
    /// written back by one work at a time.
    pub fn tick(&mut self, now: Nanos) -> Option<Background> {
        let look = self.due.is_some_and(|due| due <= now);
        let mut durable = Vec::new();
        let mut work = Work::default();
        self.number(&mut work);
        let before = self.cache.pages();
        // Nothing is written to its place before the journal has it.
        let commits_first = self.journals_data() && (look || self.pressed.is_some());
        if commits_first {
            self.settle(&mut durable, &mut work);
        }
        if self.background.is_none() {
            self.write_back_old(now, look, &mut durable, &mut work);
        }
        let pages = before - self.cache.pages();
        if pages > 0 {
            self.background = Some((work.ticket.number, pages));
        }
        if !commits_first && (look || pages > 0) {
            self.settle(&mut durable, &mut work);
        }
        if look {
            self.due = (self.cache.pages() > 0).then_some(now + self.options.commit);
        }
        let any = !work.is_empty() || !durable.is_empty();
        any.then_some(Background { work, durable })
    }

    /// All work that there is, as by sync(2): what is dirty now has expired by then.
    pub fn settle_all(&mut self, now: Nanos) -> Option<Background> {
        self.tick(now.saturating_add(self.options.expire))
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
    pub fn extents(&self, file: File) -> Vec<Extent> {
        let Some(state) = self.files.get(&file) else { return Vec::new() };
        let mut extents = Vec::new();
        for (mut offset, piece) in state.extents.iter() {
            for Piece { place, length } in self.space.on_device(piece) {
                extents.push(Extent { offset, place, length });
                offset += length;
            }
        }
        extents
    }

    /// What was counted so far.
    pub fn counts(&self) -> Counts {
        let files = self.files.iter().map(|(file, state)| (*file, state.tally.counts()));
        Counts {
            all: self.tally.counts(),
            files: files.collect(),
            removed: self.removed.counts(),
            ..self.counts.clone()
        }
    }

    /// Gives work a number.
    fn number(&mut self, work: &mut Work) {
        self.last += 1;
        work.ticket.number = self.last;
    }

    /// Looks at metadata and dirty pages some time after they changed.
    fn arm(&mut self, now: Nanos) {
        self.due.get_or_insert(now + self.options.commit);
    }

    /// Writes bytes around the page cache; dirty pages that they replace need no write-back.
    fn write_direct(&mut self, file: File, bytes: Range<u64>, work: &mut Work) {
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
        let step = requests(Kind::Write, pieces);
        for request in &step {
            state.tally.device_write(request.offset, request.length);
        }
        self.write_step(step, work);
        // The next commit flushes the device.
        self.written_unasked.insert(file);
    }

    fn sync_after(&mut self, file: File, sync: Sync, work: &mut Work) {
        self.number(work);
        if !self.journals_data() {
            let step = self.write_back(work.ticket.number, file, u64::MAX);
            self.write_step(step, work);
            self.await_pages(file, work);
        }
        let Some(state) = self.files.get_mut(&file) else { return };
        state.tally.sync(sync);
        let transaction = state.marks.of(sync);
        self.tally.sync(sync);
        if !self.commit(transaction, work) {
            self.flush(work);
        }
    }

    /// Drops pages that lie in `bytes` and frees their blocks; what is left of a page is written
    /// with zeros.
    fn zero(&mut self, now: Nanos, file: File, bytes: Range<u64>) {
        let journals_data = self.journals_data();
        let Some(state) = self.files.get_mut(&file) else { return };
        let whole = whole_pages(&bytes);
        self.cache.clean(file, &mut state.dirty, whole.clone());
        state.partly.remove(whole.clone());
        if state.extents.cut(whole, &mut self.space) {
            self.journal.allocate();
        }
        for edge in [bytes.start, bytes.end] {
            let page = edge / BLOCK;
            if !edge.is_multiple_of(BLOCK) && state.extents.holds(page) {
                self.cache.mark_dirty(now, file, &mut state.dirty, page..page + 1);
                self.journal.log(u64::from(journals_data));
            }
        }
    }
}

/// The file; one that is new waits for a commit.
fn known<'a>(
    files: &'a mut HashMap<File, State>,
    journal: &mut Journal,
    file: File,
) -> &'a mut State {
    files.entry(file).or_insert_with(|| {
        let mut state = State::default();
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
