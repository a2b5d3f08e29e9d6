//! Tracks which changes have reached the device, and which only the backing folder has.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsStr;
use std::sync::{Arc, mpsc};

use bakeoff_devices::device::Nanos;
use bakeoff_devices::ext4::{self, Background, Barrier, Durable, Ext4, SyncScope, Ticket};
use bakeoff_devices::plug::{ChangeMark, EntryPlace, FileAttributes, Pending};
use bakeoff_devices::trace::Waits;
use rustix::fs::Stat;
use rustix::io::Errno;

use super::moments::{Noted, Recorders};
use super::size::KeptContent;
use super::unflushed::{ReachedChanges, UnflushedChanges};
use super::{InodeNumber, ROOT, Volume, VolumeOptions};
use crate::executor::{ExecutorTick, WorkCallback};

/// Beyond so much memory, pending changes of the file that is written to count as written back:
/// they were made over a long time, or to the same pages again and again.
const MOST_PENDING: u64 = 256 << 20;

/// A direct write in place that nobody has asked to be durable. It is, once the device is done with
/// it and later writes have pushed it out of the device's cache.
struct Direct {
    ino: InodeNumber,
    /// The moments before and after it in the order of changes.
    from: ChangeMark,
    to: ChangeMark,
    length: u64,
    done: bool,
}

/// Write-back by age is no promise of POSIX for names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DurabilityRequest {
    No,
    Yes,
}

pub(super) struct VolumeModel {
    pub ext4: Ext4,
    pub pending: Pending,
    /// Each when it has come.
    pub noted: Vec<Option<Noted>>,
    pub recorders: Recorders,
    /// The last change of each closed transaction that is not known to be on the device.
    closed: BTreeMap<u64, ChangeMark>,
    open: u64,
    device_cache: u64,
    /// In flight or in the device's cache, the oldest first.
    direct: VecDeque<Direct>,
    first_direct: u64,
    /// Bytes of those that the device is done with.
    cached: u64,
    unflushed: UnflushedChanges,
    span: u64,
}

impl VolumeModel {
    pub fn new(root: &Stat, options: &VolumeOptions) -> Self {
        let &VolumeOptions { device_cache, has_fua, metadata, journal, commit, .. } = options;
        let ext4 = Ext4::new(ext4::Ext4MountOptions {
            commit,
            has_fua,
            journal,
            ..ext4::Ext4MountOptions::default()
        });
        Self {
            open: ext4.running_transaction(),
            ext4,
            pending: Pending::new(ROOT, to_attributes(root), metadata).with_data(journal.data),
            noted: Vec::new(),
            recorders: Recorders::default(),
            closed: BTreeMap::new(),
            device_cache,
            direct: VecDeque::new(),
            first_direct: 0,
            cached: 0,
            unflushed: UnflushedChanges::new(match journal.barrier {
                Barrier::Off => device_cache,
                Barrier::On => 0,
            }),
            span: 0,
        }
    }

    /// Notes where closed transactions end in the order of changes. Call it after anything that may
    /// close one, before anything else changes.
    pub fn note_closed(&mut self) {
        while self.open < self.ext4.running_transaction() {
            self.closed.insert(self.open, self.pending.current_mark());
            self.open += 1;
        }
    }

    /// Work is done: the names and attributes of its transaction are durable if the journal keeps
    /// all in order. Returns what is no longer needed.
    fn note_done(&mut self, ticket: Ticket) -> Vec<InodeNumber> {
        self.ext4.finish_work(ticket);
        self.note_closed();
        let Some(transaction) = ticket.commits else { return Vec::new() };
        let Some(mark) = self.closed.range(..=transaction).next_back().map(|(_, mark)| *mark)
        else {
            return Vec::new();
        };
        self.closed = self.closed.split_off(&(transaction + 1));
        self.note_reached(ReachedChanges::Journal(mark))
    }

    /// Notes what a sync or a commit has brought to the device; it is durable if the device was
    /// flushed. Returns what is no longer needed.
    fn note_reached(&mut self, reached: ReachedChanges) -> Vec<InodeNumber> {
        let durable = self.unflushed.add_reached(reached, self.ext4.written_bytes());
        durable.into_iter().flat_map(|reached| reached.settle_in(&mut self.pending)).collect()
    }

    /// All work that there is, and the end of the changes that it makes durable.
    pub fn begin_settling(&mut self, now: Nanos) -> (Option<Background>, ChangeMark) {
        let background = self.ext4.settle_all(now);
        self.note_closed();
        (background, self.pending.current_mark())
    }

    /// Notes a direct write that begins. Returns its number if it needs no sync to be durable: the
    /// file has the blocks and the size for it.
    pub fn begin_direct(&mut self, ino: InodeNumber, from: ChangeMark, length: u64) -> Option<u64> {
        let in_place = self.ext4.is_found(ino);
        in_place.then(|| {
            let to = self.pending.current_mark();
            self.direct.push_back(Direct { ino, from, to, length, done: false });
            self.first_direct + self.direct.len() as u64 - 1
        })
    }

    /// Returns what is no longer needed of what has left the device's cache.
    fn end_direct(&mut self, number: u64) -> Vec<InodeNumber> {
        let direct = &mut self.direct[(number - self.first_direct) as usize];
        direct.done = true;
        self.cached += direct.length;
        let mut free = Vec::new();
        while self.cached > self.device_cache
            && self.direct.front().is_some_and(|oldest| oldest.done)
            && let Some(Direct { ino, from, to, length, .. }) = self.direct.pop_front()
        {
            self.first_direct += 1;
            self.cached -= length;
            free.extend(self.pending.note_direct_write(ino, from, to));
        }
        free
    }

    /// After a change to a file, of which nothing could be kept for want of room.
    pub fn expire_unkept(&mut self, ino: InodeNumber, kept: &KeptContent) -> Vec<InodeNumber> {
        match kept {
            KeptContent::Nothing => {
                let mark = self.pending.current_mark();
                self.pending.expire(ino, mark)
            }
            KeptContent::Bytes(_) | KeptContent::File(_) => Vec::new(),
        }
    }

    pub fn bound_memory(&mut self, ino: InodeNumber) -> Vec<InodeNumber> {
        let free = self.bound_history();
        if self.pending.memory_bytes() <= MOST_PENDING {
            return free;
        }
        let mark = self.pending.current_mark();
        self.pending.expire(ino, mark)
    }
}

pub(super) fn to_attributes(stat: &Stat) -> FileAttributes {
    FileAttributes { mode: stat.st_mode & 0o7777, uid: stat.st_uid, gid: stat.st_gid }
}

pub(super) fn to_entry_place(dir: InodeNumber, name: &OsStr) -> EntryPlace<'_> {
    EntryPlace { dir, name }
}

impl Volume {
    pub(super) fn start_ticking(self: &Arc<Self>) {
        let volume = Arc::downgrade(self);
        self.executor.set_ticker(move |now| {
            volume.upgrade().map_or_else(ExecutorTick::default, |volume| volume.tick(now))
        });
    }

    fn tick(self: &Arc<Self>, now: Nanos) -> ExecutorTick {
        if self.is_off() {
            return ExecutorTick::default();
        }
        let mut model = self.lock_model();
        let mut ticked = ExecutorTick::default();
        while let Some(background) = model.ext4.tick(now) {
            model.note_closed();
            let mark = model.pending.current_mark();
            self.trace_work(Waits::Nobody, None, &background.work);
            ticked.due.push(self.in_background(background, mark, DurabilityRequest::No));
        }
        ticked.next = model.ext4.next_tick();
        let span = model.ext4.span();
        if span != model.span {
            model.span = span;
            self.executor.set_span(span);
        }
        ticked
    }

    fn in_background(
        self: &Arc<Self>,
        background: Background,
        mark: ChangeMark,
        asked: DurabilityRequest,
    ) -> (ext4::DeviceWork, WorkCallback) {
        let Background { work, durable } = background;
        let (volume, ticket) = (Arc::clone(self), work.ticket);
        let then: WorkCallback = Box::new(move || {
            volume.finish_work(ticket);
            volume.became_durable(&durable, mark, asked);
        });
        (work, then)
    }

    /// Makes all earlier changes durable. Nobody waits for it: it is over on return only while the
    /// timing is off.
    pub fn settle(self: &Arc<Self>) {
        let now = self.executor.now();
        let (background, mark) = self.lock_model().begin_settling(now);
        self.write_back(now, background, mark);
    }

    /// Makes all earlier changes durable, removals by POSIX's metadata, too, and waits for it.
    pub(super) fn settle_to_end(self: &Arc<Self>) {
        let now = self.executor.now();
        let (background, mark) = self.lock_model().begin_settling(now);
        if let Some(background) = background {
            let (work, then) = self.in_background(background, mark, DurabilityRequest::Yes);
            let (done, end) = mpsc::channel::<()>();
            let then = Box::new(move || {
                then();
                drop(done);
            });
            self.executor.perform(now, work, then);
            // Nothing is sent: the callback is over, or was dropped.
            let _ = end.recv();
        }
        let Ok(_power) = self.hold_power() else { return };
        let free = self.lock_model().pending.settle(mark);
        self.free_files(&free);
    }

    /// Performs the work that makes all changes before `mark` durable.
    pub(super) fn write_back(
        self: &Arc<Self>,
        now: Nanos,
        background: Option<Background>,
        mark: ChangeMark,
    ) {
        if let Some(background) = background {
            let (work, then) = self.in_background(background, mark, DurabilityRequest::Yes);
            self.executor.perform(now, work, then);
        }
    }

    pub(super) fn finish_work(&self, ticket: Ticket) {
        if ticket.number == 0 {
            return;
        }
        let Ok(_power) = self.hold_power() else { return };
        let free = self.lock_model().note_done(ticket);
        self.free_files(&free);
    }

    fn became_durable(&self, durable: &[Durable], mark: ChangeMark, asked: DurabilityRequest) {
        let Ok(_power) = self.hold_power() else { return };
        let mut model = self.lock_model();
        let free: Vec<InodeNumber> = durable
            .iter()
            .flat_map(|what| {
                model.note_reached(match what {
                    Durable::File(file) => ReachedChanges::WrittenBack(*file, mark),
                    Durable::Names if asked == DurabilityRequest::Yes => {
                        ReachedChanges::Names(mark)
                    }
                    Durable::Names => ReachedChanges::Journal(mark),
                })
            })
            .collect();
        drop(model);
        self.free_files(&free);
    }

    /// `mark` is the end of what the sync covers.
    pub(super) fn synced_file(&self, ino: InodeNumber, mark: ChangeMark) -> Result<(), Errno> {
        let _power = self.hold_power()?;
        let free = self.lock_model().note_reached(ReachedChanges::File(ino, mark));
        self.free_files(&free);
        Ok(())
    }

    pub(super) fn synced_folder(&self, ino: InodeNumber, mark: ChangeMark) -> Result<(), Errno> {
        let _power = self.hold_power()?;
        let free = self.lock_model().note_reached(ReachedChanges::Folder(ino, mark));
        self.free_files(&free);
        Ok(())
    }

    pub(super) fn wrote_direct(&self, number: u64) -> Result<(), Errno> {
        let _power = self.hold_power()?;
        let free = self.lock_model().end_direct(number);
        self.free_files(&free);
        Ok(())
    }

    pub(super) fn free_files(&self, files: &[InodeNumber]) {
        for ino in files {
            if let Some(backing) = self.orphans.remove(*ino)
                && self.inodes.get(*ino).is_none()
            {
                self.numbers.release(backing, *ino);
            }
        }
    }

    /// A file has no name, and the application holds it no more.
    pub(super) fn forget_file(&self, ino: InodeNumber, backing: u64) {
        let now = self.executor.now();
        self.lock_model().ext4.remove_file(now, ino);
        if !self.orphans.contains(ino) {
            self.numbers.release(backing, ino);
        }
    }

    pub(super) fn note_renamed(&self, files: &[InodeNumber], note: impl FnOnce(&mut Pending)) {
        let now = self.executor.now();
        let mut model = self.lock_model();
        note(&mut model.pending);
        model.ext4.names_changed(now, files);
    }

    pub(super) fn sync_work(
        &self,
        ino: InodeNumber,
        sync: SyncScope,
    ) -> (ext4::DeviceWork, ChangeMark) {
        let now = self.executor.now();
        let mut model = self.lock_model();
        let work = model.ext4.sync_file(now, ino, sync);
        model.note_closed();
        (work, model.pending.current_mark())
    }

    pub(super) fn sync_folder_work(&self) -> (ext4::DeviceWork, ChangeMark) {
        let now = self.executor.now();
        let mut model = self.lock_model();
        let work = model.ext4.sync_dir(now);
        model.note_closed();
        (work, model.pending.current_mark())
    }
}
