//! What has reached the device, and what only the backing folder knows.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsStr;
use std::sync::Arc;

use bakeoff_devices::device::Nanos;
use bakeoff_devices::ext4::{self, Background, Barrier, Durable, Ext4, SyncScope, Ticket};
use bakeoff_devices::plug::{ChangeMark, EntryPlace, FileAttributes, Pending};
use bakeoff_devices::trace::Waits;
use rustix::fs::Stat;
use rustix::io::Errno;

use super::noted::{Noted, Recorders};
use super::unflushed::{ReachedChanges, Unflushed};
use super::{InodeNumber, ROOT, Volume, VolumeOptions};
use crate::executor::{Ticked, WorkCallback};

/// Bytes of memory for pending changes. Beyond it the changes of the file that is written to are
/// taken for written back: with so much to undo, they were made over a long time, or to the same
/// pages again and again.
const MOST_PENDING: u64 = 256 << 20;

/// A direct write in place that nobody has asked to be durable: it is when the device is done with
/// it and later ones have pushed it out of the device's cache.
struct Direct {
    ino: InodeNumber,
    /// The moments before and after it in the order of changes.
    from: ChangeMark,
    to: ChangeMark,
    length: u64,
    done: bool,
}

/// Whether somebody asked for all to be durable. What is written back for no other reason than its
/// age is no promise of POSIX for names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DurabilityRequested {
    No,
    Yes,
}

/// The file system as its device sees it, and what the device has not got yet.
pub(super) struct VolumeModel {
    pub ext4: Ext4,
    pub pending: Pending,
    /// The moments that were waited for, each when it has come.
    pub noted: Vec<Option<Noted>>,
    /// Who needs what is remembered of `pending`.
    pub recorders: Recorders,
    /// Up to where each of the journal's transactions goes that is closed, and not yet known to be
    /// on the device.
    closed: BTreeMap<u64, ChangeMark>,
    /// The first transaction that was not closed when that was last looked at.
    open: u64,
    /// Bytes of the device's cache.
    device_cache: u64,
    /// Direct writes that are in flight or that the device may hold in its cache, the oldest first.
    direct: VecDeque<Direct>,
    /// The number of the oldest one.
    first_direct: u64,
    /// Bytes of those that the device is done with.
    cached: u64,
    /// What syncs and commits have brought to the device, where nothing is flushed.
    unflushed: Unflushed,
    /// What the executor was last told.
    span: u64,
}

impl VolumeModel {
    /// An empty root.
    pub fn new(root: &Stat, options: &VolumeOptions) -> Self {
        let &VolumeOptions { device_cache, metadata, journal, commit, .. } = options;
        let ext4 = Ext4::new(ext4::Ext4MountOptions {
            commit,
            journal,
            ..ext4::Ext4MountOptions::default()
        });
        Self {
            open: ext4.transaction(),
            ext4,
            pending: Pending::new(ROOT, attributes(root), metadata).with_data(journal.data),
            noted: Vec::new(),
            recorders: Recorders::default(),
            closed: BTreeMap::new(),
            device_cache,
            direct: VecDeque::new(),
            first_direct: 0,
            cached: 0,
            unflushed: Unflushed::new(match journal.barrier {
                Barrier::Off => device_cache,
                Barrier::On => 0,
            }),
            span: 0,
        }
    }

    /// Notes up to where in the order of changes the transactions go that have been closed. Has to
    /// be called after whatever may close one, before anything else changes.
    pub fn note_closed(&mut self) {
        while self.open < self.ext4.transaction() {
            self.closed.insert(self.open, self.pending.mark());
            self.open += 1;
        }
    }

    /// Takes note that work is done: with it the names and attributes of a transaction are durable
    /// where the journal keeps all in order. Gives what is no longer needed.
    fn done(&mut self, ticket: Ticket) -> Vec<InodeNumber> {
        self.ext4.done(ticket);
        self.note_closed();
        let Some(transaction) = ticket.commits else { return Vec::new() };
        let Some(mark) = self.closed.range(..=transaction).next_back().map(|(_, mark)| *mark)
        else {
            return Vec::new();
        };
        self.closed = self.closed.split_off(&(transaction + 1));
        self.reach(ReachedChanges::Journal(mark))
    }

    /// Takes note of what a sync or a commit has brought to the device. Gives what is no longer needed of
    /// what is durable by then: this, where the device was flushed.
    fn reach(&mut self, reached: ReachedChanges) -> Vec<InodeNumber> {
        let durable = self.unflushed.reach(reached, self.ext4.written());
        durable.into_iter().flat_map(|reached| reached.settle(&mut self.pending)).collect()
    }

    /// Notes a direct write that begins. Gives its number, if it needs no sync to be durable: where
    /// the file has the blocks and the size for it.
    pub fn begin_direct(&mut self, ino: InodeNumber, from: ChangeMark, length: u64) -> Option<u64> {
        let in_place = self.ext4.is_found(ino);
        in_place.then(|| {
            let to = self.pending.mark();
            self.direct.push_back(Direct { ino, from, to, length, done: false });
            self.first_direct + self.direct.len() as u64 - 1
        })
    }

    /// The device is done with a direct write. Gives what is no longer needed of what has left its
    /// cache.
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
            free.extend(self.pending.wrote(ino, from, to));
        }
        free
    }

    /// Bounds the memory of what is remembered and of pending changes; see [`MOST_PENDING`].
    pub fn bound(&mut self, ino: InodeNumber) -> Vec<InodeNumber> {
        let free = self.bound_history();
        if self.pending.bytes() <= MOST_PENDING {
            return free;
        }
        let mark = self.pending.mark();
        self.pending.expire(ino, mark)
    }
}

/// What pending changes know of a file's attributes.
pub(super) fn attributes(stat: &Stat) -> FileAttributes {
    FileAttributes { mode: stat.st_mode & 0o7777, uid: stat.st_uid, gid: stat.st_gid }
}

/// A name in a folder.
pub(super) fn place(dir: InodeNumber, name: &OsStr) -> EntryPlace<'_> {
    EntryPlace { dir, name }
}

impl Volume {
    /// Has the executor ask for work that nobody waits for.
    pub(super) fn start_ticking(self: &Arc<Self>) {
        let volume = Arc::downgrade(self);
        self.executor.set_ticker(move |now| {
            volume.upgrade().map_or_else(Ticked::default, |volume| volume.tick(now))
        });
    }

    fn tick(self: &Arc<Self>, now: Nanos) -> Ticked {
        if self.is_off() {
            return Ticked::default();
        }
        let mut model = self.model();
        let mut ticked = Ticked::default();
        while let Some(background) = model.ext4.tick(now) {
            model.note_closed();
            let mark = model.pending.mark();
            self.trace(Waits::Nobody, None, &background.work);
            ticked.due.push(self.in_background(background, mark, DurabilityRequested::No));
        }
        ticked.next = model.ext4.next_tick();
        let span = model.ext4.span();
        if span != model.span {
            model.span = span;
            self.executor.set_span(span);
        }
        ticked
    }

    /// Work that nobody waits for, and what to call when it is done.
    fn in_background(
        self: &Arc<Self>,
        background: Background,
        mark: ChangeMark,
        asked: DurabilityRequested,
    ) -> (ext4::DeviceWork, WorkCallback) {
        let Background { work, durable } = background;
        let (volume, ticket) = (Arc::clone(self), work.ticket);
        let then: WorkCallback = Box::new(move || {
            volume.done(ticket);
            volume.became_durable(&durable, mark, asked);
        });
        (work, then)
    }

    /// Makes durable whatever was written and changed so far. Nobody waits for it, so it is over
    /// when this returns only while the timing is off.
    pub fn settle(self: &Arc<Self>) {
        let now = self.executor.now();
        let mut model = self.model();
        let background = model.ext4.settle_all(now);
        model.note_closed();
        let mark = model.pending.mark();
        drop(model);
        self.write_back(now, background, mark);
    }

    /// Does what was found to be done to make all durable that was changed before `mark`.
    pub(super) fn write_back(
        self: &Arc<Self>,
        now: Nanos,
        background: Option<Background>,
        mark: ChangeMark,
    ) {
        if let Some(background) = background {
            let (work, then) = self.in_background(background, mark, DurabilityRequested::Yes);
            self.executor.perform(now, work, then);
        }
    }

    /// Work is done.
    pub(super) fn done(&self, ticket: Ticket) {
        if ticket.number == 0 {
            return;
        }
        let Ok(_power) = self.powered() else { return };
        let free = self.model().done(ticket);
        self.free(&free);
    }

    fn became_durable(&self, durable: &[Durable], mark: ChangeMark, asked: DurabilityRequested) {
        let Ok(_power) = self.powered() else { return };
        let mut model = self.model();
        let free: Vec<InodeNumber> = durable
            .iter()
            .flat_map(|what| {
                model.reach(match what {
                    Durable::File(file) => ReachedChanges::WrittenBack(*file, mark),
                    Durable::Names if asked == DurabilityRequested::Yes => {
                        ReachedChanges::Names(mark)
                    }
                    Durable::Names => ReachedChanges::Journal(mark),
                })
            })
            .collect();
        drop(model);
        self.free(&free);
    }

    /// A sync of a file that covers what was done before `mark` has reached the device.
    pub(super) fn synced(&self, ino: InodeNumber, mark: ChangeMark) -> Result<(), Errno> {
        let _power = self.powered()?;
        let free = self.model().reach(ReachedChanges::File(ino, mark));
        self.free(&free);
        Ok(())
    }

    /// A sync of a folder has reached the device.
    pub(super) fn synced_folder(&self, ino: InodeNumber, mark: ChangeMark) -> Result<(), Errno> {
        let _power = self.powered()?;
        let free = self.model().reach(ReachedChanges::Folder(ino, mark));
        self.free(&free);
        Ok(())
    }

    /// The device is done with a direct write.
    pub(super) fn wrote_direct(&self, number: u64) -> Result<(), Errno> {
        let _power = self.powered()?;
        let free = self.model().end_direct(number);
        self.free(&free);
        Ok(())
    }

    /// Lets go of files that were kept for what a cut of the power could show.
    pub(super) fn free(&self, files: &[InodeNumber]) {
        for ino in files {
            if let Some(backing) = self.orphans.remove(*ino)
                && self.inodes.get(*ino).is_none()
            {
                self.numbers.release(backing, *ino);
            }
        }
    }

    /// A file has no name, and the application holds it no more.
    pub(super) fn gone(&self, ino: InodeNumber, backing: u64) {
        let now = self.executor.now();
        self.model().ext4.remove(now, ino);
        if !self.orphans.has(ino) {
            self.numbers.release(backing, ino);
        }
    }

    /// Notes that names or attributes of these files changed, and what changed of them.
    pub(super) fn renamed(&self, files: &[InodeNumber], note: impl FnOnce(&mut Pending)) {
        let now = self.executor.now();
        let mut model = self.model();
        note(&mut model.pending);
        model.ext4.names_changed(now, files);
    }

    /// The work of a sync of a file, and what it covers.
    pub(super) fn sync_work(
        &self,
        ino: InodeNumber,
        sync: SyncScope,
    ) -> (ext4::DeviceWork, ChangeMark) {
        let now = self.executor.now();
        let mut model = self.model();
        let work = model.ext4.sync(now, ino, sync);
        model.note_closed();
        (work, model.pending.mark())
    }

    /// The work of a sync of a folder, and what it covers.
    pub(super) fn sync_folder_work(&self) -> (ext4::DeviceWork, ChangeMark) {
        let now = self.executor.now();
        let mut model = self.model();
        let work = model.ext4.sync_dir(now);
        model.note_closed();
        (work, model.pending.mark())
    }
}
