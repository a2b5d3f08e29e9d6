//! What a power cut would take, as it is told, and what is remembered of it.

use super::data::{Before, Edit};
use super::event::{ChangeMark, PendingEvent};
use super::history::History;
use super::image::CrashImage;
use super::names::{EntryPlace, FileAttributes, MetadataOperation, NameChange, NodeKind};
use super::state::PendingState;
use super::{Contents, Ino, Keep, Metadata};
use crate::ext4::DataMode;

/// All changes that a power cut would take now, with the tree of names that it would leave.
///
/// Each change is told right before it is made, or under the same lock. Changes of things that
/// have no name any more, durable or pending, are ignored: nothing of them can be lost.
pub struct Pending {
    state: PendingState,
    /// All that happened since somebody asked to have it remembered.
    history: Option<Box<History>>,
}

impl Pending {
    /// Nothing pending, over a tree that has a root only.
    pub fn new(root: Ino, attributes: FileAttributes, metadata: Metadata) -> Self {
        Self { state: PendingState::new(root, attributes, metadata), history: None }
    }

    /// The same on a file system that orders data in this way.
    #[must_use]
    pub fn with_data(mut self, data: DataMode) -> Self {
        self.state.data = data;
        self
    }

    /// Adds what was there at mount time: durable. A number that is there already gets a further
    /// name.
    pub fn adopt(
        &mut self,
        place: EntryPlace<'_>,
        ino: Ino,
        kind: NodeKind,
        attributes: FileAttributes,
    ) {
        self.state.adopt(place, ino, kind, attributes);
    }

    /// The present moment. A sync that begins now counts for the changes before it.
    pub fn mark(&self) -> ChangeMark {
        self.state.mark()
    }

    /// What is pending now.
    pub fn state(&self) -> &PendingState {
        &self.state
    }

    /// Whether the content of this may yet show in an image of now. What was unlinked must be kept
    /// for as long.
    pub fn holds(&self, ino: Ino) -> bool {
        self.state.holds(ino)
    }

    /// Whether no change of the bytes or the size of this is pending.
    pub fn is_clean(&self, ino: Ino) -> bool {
        self.state.is_clean(ino)
    }

    /// Bytes of memory that the pending changes take.
    pub fn bytes(&self) -> u64 {
        self.state.bytes()
    }

    /// What a power cut now leaves: see [`PendingState::image`].
    ///
    /// # Errors
    /// When a file's size can't be had.
    pub fn image(
        &self,
        keep: Keep,
        seed: u64,
        contents: &dyn Contents,
    ) -> std::io::Result<CrashImage<'_>> {
        self.state.image(keep, seed, contents)
    }

    /// `length` bytes are written at `offset` of a file of `old_size` bytes.
    pub fn write(&mut self, ino: Ino, offset: u64, length: u64, old_size: u64, before: Before<'_>) {
        if length > 0 {
            let range = offset..offset + length;
            self.edit(ino, |number| Edit::write(number, range, old_size, before));
        }
    }

    /// `length` bytes at `offset` become zeros; the size stays.
    pub fn punch(&mut self, ino: Ino, offset: u64, length: u64, old_size: u64, before: Before<'_>) {
        let end = old_size.min(offset.saturating_add(length));
        self.write(ino, offset, end.saturating_sub(offset), old_size, before);
    }

    /// The size is set; `cut_off` is what lay from `new_size` to `old_size`, if that is more.
    pub fn truncate(&mut self, ino: Ino, old_size: u64, new_size: u64, cut_off: Before<'_>) {
        if old_size != new_size {
            self.edit(ino, |number| Edit::truncate(number, old_size, new_size, cut_off));
        }
    }

    /// A new thing gets its first name: `open` with `O_CREAT`, `mkdir`, `symlink`, `mknod`.
    pub fn create(
        &mut self,
        place: EntryPlace<'_>,
        ino: Ino,
        kind: NodeKind,
        attributes: FileAttributes,
    ) {
        self.apply(PendingEvent::Add(ino, kind, attributes));
        self.change(MetadataOperation::Create(NameChange::new(place, None, Some(ino))));
    }

    /// A file gets a further name.
    pub fn link(&mut self, place: EntryPlace<'_>, ino: Ino) {
        self.change(MetadataOperation::Link(NameChange::new(place, None, Some(ino))));
    }

    /// A name goes: `unlink`, `rmdir`.
    pub fn remove(&mut self, place: EntryPlace<'_>, ino: Ino) {
        self.change(MetadataOperation::Remove(NameChange::new(place, Some(ino), None)));
    }

    /// A name changes, and maybe replaces what the new one stood for.
    pub fn rename(
        &mut self,
        from: EntryPlace<'_>,
        to: EntryPlace<'_>,
        ino: Ino,
        replaced: Option<Ino>,
    ) {
        // Two names of one file: POSIX has rename do nothing.
        if from != to && replaced != Some(ino) {
            let steps =
                [NameChange::new(from, Some(ino), None), NameChange::new(to, replaced, Some(ino))];
            self.change(MetadataOperation::Rename(steps));
        }
    }

    /// Two names change places: `rename` with `RENAME_EXCHANGE`. `a_ino` is what `a` stood for.
    pub fn exchange(&mut self, a: EntryPlace<'_>, b: EntryPlace<'_>, a_ino: Ino, b_ino: Ino) {
        if a_ino != b_ino {
            let steps = [
                NameChange::new(a, Some(a_ino), Some(b_ino)),
                NameChange::new(b, Some(b_ino), Some(a_ino)),
            ];
            self.change(MetadataOperation::Rename(steps));
        }
    }

    /// Permissions or the owner change.
    pub fn set_attributes(&mut self, ino: Ino, attributes: FileAttributes) {
        self.change(MetadataOperation::Attributes(ino, attributes));
    }

    /// `fsync` or `fdatasync` of a file. Gives the numbers whose content is no longer needed.
    pub fn sync_file(&mut self, ino: Ino, mark: ChangeMark) -> Vec<Ino> {
        self.apply(PendingEvent::SyncFile(ino, mark))
    }

    /// `fsync` of a file failed. As on Linux, what was written before is lost though the
    /// application still reads it: no later sync makes it durable, but for the sectors that are
    /// written again. Truncations and names are the journal's; they stay pending.
    pub fn fail_sync(&mut self, ino: Ino, mark: ChangeMark) {
        self.apply(PendingEvent::FailSync(ino, mark));
    }

    /// `fsync` of a directory. Gives the numbers whose content is no longer needed.
    pub fn sync_dir(&mut self, dir: Ino, mark: ChangeMark) -> Vec<Ino> {
        self.apply(PendingEvent::SyncDir(dir, mark))
    }

    /// All names and attributes became durable, as somebody asked for. Gives the numbers whose
    /// content is no longer needed.
    pub fn commit_names(&mut self, mark: ChangeMark) -> Vec<Ino> {
        self.apply(PendingEvent::CommitNames(mark))
    }

    /// The journal was committed, for whatever reason: names and attributes become durable if it
    /// keeps them in order, which POSIX promises nobody. Gives the numbers whose content is no
    /// longer needed.
    pub fn commit_journal(&mut self, mark: ChangeMark) -> Vec<Ino> {
        self.apply(PendingEvent::CommitJournal(mark))
    }

    /// A file's bytes and size were written back. Gives the numbers whose content is no longer
    /// needed.
    pub fn expire(&mut self, ino: Ino, mark: ChangeMark) -> Vec<Ino> {
        self.apply(PendingEvent::Expire(ino, mark))
    }

    /// Everything became durable at once, names, attributes, bytes and sizes, as by `sync(2)`: the same
    /// is then known of both kinds of file systems. Gives the numbers whose content is no longer
    /// needed.
    pub fn settle(&mut self) -> Vec<Ino> {
        let mark = self.mark();
        self.apply(PendingEvent::Settle(mark))
    }

    /// A write, made between two moments, is on the device, and what its place is found by was there
    /// before. It stays pending with earlier changes of the file that are: it may build on them.
    /// Gives the numbers whose content is no longer needed.
    pub fn wrote(&mut self, ino: Ino, from: ChangeMark, to: ChangeMark) -> Vec<Ino> {
        self.apply(PendingEvent::Wrote(ino, from, to))
    }

    /// Begins to remember all events, so that images of earlier moments can be made. Forgets what it
    /// remembered before. Until [`Pending::forget`] no file is reported as no longer needed.
    pub fn record(&mut self) {
        self.record_by(|| 0);
    }

    /// As [`Pending::record`], with the time at which each thing is told, by this clock.
    pub fn record_by(&mut self, clock: fn() -> u64) {
        self.history = Some(Box::new(History::new(self.state.clone(), clock)));
    }

    /// What is remembered, if anything is.
    pub fn history(&self) -> Option<&History> {
        self.history.as_deref()
    }

    /// Remembers no more. Gives the numbers whose content is no longer needed.
    pub fn forget(&mut self) -> Vec<Ino> {
        self.history.take().map_or_else(Vec::new, |history| history.free)
    }

    fn edit(&mut self, ino: Ino, edit: impl FnOnce(u64) -> Edit) {
        if self.holds(ino) || self.history.is_some() {
            let edit = edit(self.state.mark().0);
            self.apply(PendingEvent::Edit(ino, edit));
        }
    }

    fn change(&mut self, operation: MetadataOperation) {
        self.apply(PendingEvent::Change(operation));
    }

    /// Takes note of what happened. Gives the numbers whose content is no longer needed.
    fn apply(&mut self, event: PendingEvent) -> Vec<Ino> {
        let Some(history) = &mut self.history else { return self.state.happen(event) };
        history.add(event.clone());
        let free = self.state.happen(event);
        if let Some(history) = &mut self.history {
            history.free.extend(free);
        }
        Vec::new()
    }
}
