use super::edits::{Before, Edit};
use super::event::{ChangeMark, PendingEvent};
use super::history::History;
use super::names::{EntryPlace, FileAttributes, MetadataOperation, NameChange, NodeKind};
use super::state::PendingState;
use super::{Ino, Metadata};
use crate::ext4::DataMode;

/// All changes that a power cut would take now, and the durable tree of names.
///
/// Each change is told right before it is made, or under the same lock. Changes of things without a
/// durable or pending name are ignored: nothing of them can be lost.
///
/// Many methods return numbers of files: their content is no longer needed.
pub struct Pending {
    state: PendingState,
    history: Option<Box<History>>,
}

impl Pending {
    pub fn new(root: Ino, attributes: FileAttributes, metadata: Metadata) -> Self {
        Self { state: PendingState::new(root, attributes, metadata), history: None }
    }

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
    pub fn current_mark(&self) -> ChangeMark {
        self.state.current_mark()
    }

    pub fn state(&self) -> &PendingState {
        &self.state
    }

    /// Whether an image of now may show this content. What was unlinked must be kept for as long.
    pub fn needs_content(&self, ino: Ino) -> bool {
        self.state.needs_content(ino)
    }

    pub fn memory_bytes(&self) -> u64 {
        self.state.memory_bytes()
    }

    /// Call it before the bytes of a file of `old_size` bytes are written.
    pub fn write(&mut self, ino: Ino, offset: u64, length: u64, old_size: u64, before: Before<'_>) {
        if length > 0 {
            let range = offset..offset + length;
            self.add_edit(ino, |number| Edit::from_write(number, range, old_size, before));
        }
    }

    /// The bytes become zeros; the size stays.
    pub fn punch_hole(
        &mut self,
        ino: Ino,
        offset: u64,
        length: u64,
        old_size: u64,
        before: Before<'_>,
    ) {
        let end = old_size.min(offset.saturating_add(length));
        self.write(ino, offset, end.saturating_sub(offset), old_size, before);
    }

    /// `cut_off` is what lay from `new_size` to `old_size`, if that is more.
    pub fn truncate(&mut self, ino: Ino, old_size: u64, new_size: u64, cut_off: Before<'_>) {
        if old_size != new_size {
            self.add_edit(ino, |number| Edit::from_truncation(number, old_size, new_size, cut_off));
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
        self.apply_event(PendingEvent::Add(ino, kind, attributes));
        self.add_change(MetadataOperation::Create(NameChange::new(place, None, Some(ino))));
    }

    pub fn link(&mut self, place: EntryPlace<'_>, ino: Ino) {
        self.add_change(MetadataOperation::Link(NameChange::new(place, None, Some(ino))));
    }

    pub fn remove(&mut self, place: EntryPlace<'_>, ino: Ino) {
        self.add_change(MetadataOperation::Remove(NameChange::new(place, Some(ino), None)));
    }

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
            self.add_change(MetadataOperation::Rename(steps));
        }
    }

    /// `rename` with `RENAME_EXCHANGE`. `a_ino` is what `a` stood for.
    pub fn exchange(&mut self, a: EntryPlace<'_>, b: EntryPlace<'_>, a_ino: Ino, b_ino: Ino) {
        if a_ino != b_ino {
            let steps = [
                NameChange::new(a, Some(a_ino), Some(b_ino)),
                NameChange::new(b, Some(b_ino), Some(a_ino)),
            ];
            self.add_change(MetadataOperation::Rename(steps));
        }
    }

    pub fn set_attributes(&mut self, ino: Ino, attributes: FileAttributes) {
        self.add_change(MetadataOperation::Attributes(ino, attributes));
    }

    pub fn sync_file(&mut self, ino: Ino, mark: ChangeMark) -> Vec<Ino> {
        self.apply_event(PendingEvent::SyncFile(ino, mark))
    }

    /// `fsync` of a file failed. As on Linux, what was written before is lost though the
    /// application still reads it: no later sync makes it durable, except sectors that are written
    /// again. Truncations and names are the journal's; they stay pending.
    pub fn fail_sync(&mut self, ino: Ino, mark: ChangeMark) {
        self.apply_event(PendingEvent::FailSync(ino, mark));
    }

    pub fn sync_dir(&mut self, dir: Ino, mark: ChangeMark) -> Vec<Ino> {
        self.apply_event(PendingEvent::SyncDir(dir, mark))
    }

    /// Somebody asked for all names and attributes to be durable.
    pub fn commit_names(&mut self, mark: ChangeMark) -> Vec<Ino> {
        self.apply_event(PendingEvent::CommitNames(mark))
    }

    /// The journal was committed for whatever reason. Names and attributes become durable if it
    /// keeps them in order; POSIX does not promise that.
    pub fn commit_journal(&mut self, mark: ChangeMark) -> Vec<Ino> {
        self.apply_event(PendingEvent::CommitJournal(mark))
    }

    pub fn expire(&mut self, ino: Ino, mark: ChangeMark) -> Vec<Ino> {
        self.apply_event(PendingEvent::Expire(ino, mark))
    }

    /// Everything before became durable at once, as by `sync(2)`: then both kinds of metadata know
    /// the same.
    pub fn settle(&mut self, mark: ChangeMark) -> Vec<Ino> {
        self.apply_event(PendingEvent::Settle(mark))
    }

    /// A write between two moments is on the device with the metadata that lead to it. It stays
    /// pending if earlier changes of the file are: it may build on them.
    pub fn note_direct_write(&mut self, ino: Ino, from: ChangeMark, to: ChangeMark) -> Vec<Ino> {
        self.apply_event(PendingEvent::Wrote(ino, from, to))
    }

    /// Begins to remember all events for images of earlier moments, and forgets earlier ones. Until
    /// [`Pending::forget_history`] no file is reported as no longer needed.
    pub fn record(&mut self) {
        self.record_by(|| 0);
    }

    pub fn record_by(&mut self, clock: fn() -> u64) {
        self.history = Some(Box::new(History::new(self.state.clone(), clock)));
    }

    pub fn history(&self) -> Option<&History> {
        self.history.as_deref()
    }

    pub fn forget_history(&mut self) -> Vec<Ino> {
        self.history.take().map_or_else(Vec::new, |history| history.free)
    }

    fn add_edit(&mut self, ino: Ino, edit: impl FnOnce(u64) -> Edit) {
        if self.needs_content(ino) || self.history.is_some() {
            let edit = edit(self.state.current_mark().0);
            self.apply_event(PendingEvent::Edit(ino, edit));
        }
    }

    fn add_change(&mut self, operation: MetadataOperation) {
        self.apply_event(PendingEvent::Change(operation));
    }

    fn apply_event(&mut self, event: PendingEvent) -> Vec<Ino> {
        let Some(history) = &mut self.history else { return self.state.apply_event(event) };
        history.add_event(event.clone());
        let free = self.state.apply_event(event);
        if let Some(history) = &mut self.history {
            history.free.extend(free);
        }
        Vec::new()
    }
}
