//! What has reached the device, and what only the backing folder knows.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::sync::Arc;

use rustix::fs::Stat;
use rustix::io::Errno;

use super::{Ino, ROOT, Volume};
use crate::device::Nanos;
use crate::executor::{Then, Ticked};
use crate::ext4::{self, Background, Ext4, Lasting, Sync};
use crate::plug::{Attributes, Mark, Pending, Place};

/// Bytes of direct writes that a device holds in a cache of its own. They have left the page
/// cache, and nobody has asked for them to be lasting; those before them have been written. A
/// device that takes no time has none.
const DEVICE_CACHE: u64 = 32 << 20;

/// Bytes of memory for pending changes. Beyond it the changes of the file that is written to are
/// taken for written back: with so much to undo, they were made over a long time, or to the same
/// pages again and again.
const MOST_PENDING: u64 = 256 << 20;

/// The file system as its device sees it, and what the device has not got yet.
pub(super) struct Model {
    pub ext4: Ext4,
    pub pending: Pending,
    /// Direct writes that the device may hold in its cache, with their bytes, the oldest first.
    direct: VecDeque<(Ino, Mark, u64)>,
    direct_bytes: u64,
    /// What the executor was last told.
    span: u64,
}

impl Model {
    /// An empty root.
    pub fn new(root: &Stat) -> Self {
        Self {
            ext4: Ext4::new(ext4::Options::default()),
            pending: Pending::new(ROOT, attributes(root)),
            direct: VecDeque::new(),
            direct_bytes: 0,
            span: 0,
        }
    }

    /// Notes a direct write. Gives what is no longer needed of what it makes lasting.
    pub fn wrote_direct(&mut self, ino: Ino, length: u64) -> Vec<Ino> {
        self.direct.push_back((ino, self.pending.mark(), length));
        self.direct_bytes += length;
        let mut free = Vec::new();
        while self.direct_bytes > DEVICE_CACHE
            && let Some((ino, mark, length)) = self.direct.pop_front()
        {
            self.direct_bytes -= length;
            free.extend(self.pending.expire(ino, mark));
        }
        free
    }

    /// Bounds the memory of pending changes; see [`MOST_PENDING`].
    pub fn bound(&mut self, ino: Ino) -> Vec<Ino> {
        if self.pending.bytes() <= MOST_PENDING {
            return Vec::new();
        }
        let mark = self.pending.mark();
        self.pending.expire(ino, mark)
    }
}

/// What pending changes know of a file's attributes.
pub(super) fn attributes(stat: &Stat) -> Attributes {
    Attributes { mode: stat.st_mode & 0o7777, uid: stat.st_uid, gid: stat.st_gid }
}

/// A name in a folder.
pub(super) fn place(dir: Ino, name: &OsStr) -> Place<'_> {
    Place { dir, name }
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
        if self.is_cut() {
            return Ticked::default();
        }
        let mut model = self.model();
        let mut ticked = Ticked::default();
        while let Some(background) = model.ext4.tick(now) {
            let mark = model.pending.mark();
            ticked.due.push(self.in_background(background, mark));
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
    fn in_background(self: &Arc<Self>, background: Background, mark: Mark) -> (ext4::Work, Then) {
        let Background { work, lasting, ticket } = background;
        let volume = Arc::clone(self);
        let then: Then = Box::new(move || {
            volume.model().ext4.done(ticket);
            volume.became_lasting(&lasting, mark);
        });
        (work, then)
    }

    /// Makes lasting whatever was written and changed so far. Nobody waits for it, so it is over
    /// when this returns only while the timing is off.
    pub fn settle(self: &Arc<Self>) {
        let mut model = self.model();
        let background = model.ext4.settle_all(self.executor.now());
        let mark = model.pending.mark();
        drop(model);
        if let Some(background) = background {
            let (work, then) = self.in_background(background, mark);
            self.executor.perform(work, then);
        }
    }

    fn became_lasting(&self, lasting: &[Lasting], mark: Mark) {
        let Ok(_power) = self.powered() else { return };
        let mut model = self.model();
        let pending = &mut model.pending;
        let free: Vec<Ino> = lasting
            .iter()
            .flat_map(|what| match what {
                Lasting::File(file) => pending.expire(*file, mark),
                Lasting::Names => pending.commit_names(mark),
            })
            .collect();
        drop(model);
        self.free(&free);
    }

    /// A sync of a file that covers what was done before `mark` has reached the device.
    pub(super) fn synced(&self, ino: Ino, mark: Mark) -> Result<(), Errno> {
        let _power = self.powered()?;
        let free = self.model().pending.sync_file(ino, mark);
        self.free(&free);
        Ok(())
    }

    /// A sync of a folder has reached the device.
    pub(super) fn synced_folder(&self, ino: Ino, mark: Mark) -> Result<(), Errno> {
        let _power = self.powered()?;
        let free = self.model().pending.sync_dir(ino, mark);
        self.free(&free);
        Ok(())
    }

    /// Lets go of files that were kept for what a cut of the power could show.
    pub(super) fn free(&self, files: &[Ino]) {
        for ino in files {
            if let Some(backing) = self.graveyard.remove(*ino)
                && self.inodes.get(*ino).is_none()
            {
                self.numbers.release(backing, *ino);
            }
        }
    }

    /// A file has no name, and the application holds it no more.
    pub(super) fn gone(&self, ino: Ino, backing: u64) {
        let now = self.executor.now();
        self.model().ext4.remove(now, ino);
        if !self.graveyard.has(ino) {
            self.numbers.release(backing, ino);
        }
    }

    /// Notes that names changed, and what changed of them.
    pub(super) fn renamed(&self, note: impl FnOnce(&mut Pending)) {
        let now = self.executor.now();
        let mut model = self.model();
        note(&mut model.pending);
        model.ext4.names_changed(now);
    }

    /// The work of a sync of a file, and what it covers.
    pub(super) fn sync_work(&self, ino: Ino, sync: Sync) -> (ext4::Work, Mark) {
        let now = self.executor.now();
        let mut model = self.model();
        (model.ext4.sync(now, ino, sync), model.pending.mark())
    }

    /// The work of a sync of a folder, and what it covers.
    pub(super) fn sync_folder_work(&self) -> (ext4::Work, Mark) {
        let now = self.executor.now();
        let mut model = self.model();
        (model.ext4.sync_dir(now), model.pending.mark())
    }
}
