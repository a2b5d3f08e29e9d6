use std::collections::{HashMap, VecDeque};
use std::io;
use std::mem;

use super::copies::MirrorCopies;
use super::edits::Edit;
use super::event::{ChangeMark, PendingEvent};
use super::fates::Choice;
use super::image::CrashImage;
use super::names::{
    EntryPlace, FileAttributes, MetadataOperation, NodeKind, PendingChange, Tree, with_ground,
};
use super::{Contents, Ino, Keep, Metadata};
use crate::ext4::DataMode;

#[derive(Clone)]
pub struct PendingState {
    root: Ino,
    pub(super) metadata: Metadata,
    pub(super) data: DataMode,
    tree: Tree,
    changes: Vec<PendingChange>,
    edits: HashMap<Ino, VecDeque<Edit>>,
    next: u64,
    /// Up to this change everything was made durable at once.
    settled: u64,
    bytes: u64,
}

impl PendingState {
    pub(super) fn new(root: Ino, attributes: FileAttributes, metadata: Metadata) -> Self {
        let mut tree = Tree::default();
        tree.add_root(root, attributes);
        let (changes, edits) = (Vec::new(), HashMap::new());
        let data = DataMode::Ordered;
        Self { root, metadata, data, tree, changes, edits, next: 0, settled: 0, bytes: 0 }
    }

    pub(super) fn adopt(
        &mut self,
        place: EntryPlace<'_>,
        ino: Ino,
        kind: NodeKind,
        attributes: FileAttributes,
    ) {
        if !self.needs_content(ino) {
            self.tree.add_node(ino, kind, attributes);
        }
        self.tree.add_name(place, ino);
    }

    pub(super) fn current_mark(&self) -> ChangeMark {
        ChangeMark(self.next)
    }

    pub(super) fn needs_content(&self, ino: Ino) -> bool {
        self.tree.nodes.contains_key(&ino)
    }

    pub fn is_clean(&self, ino: Ino) -> bool {
        !self.edits.contains_key(&ino)
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.bytes
    }

    /// The root and the tree, if no change was ever told.
    pub(super) fn untouched_tree(&self) -> Option<(Ino, &Tree)> {
        (self.next == 0).then_some((self.root, &self.tree))
    }

    /// Whether nothing is pending on any file system: no change since the start or since all was
    /// made durable at once. A failed sync may have left something.
    pub(super) fn is_untouched(&self) -> bool {
        self.next == self.settled && self.changes.is_empty() && self.edits.is_empty()
    }

    /// The image that a power cut leaves now. The same history and seed give the same image.
    pub fn image(
        &self,
        keep: Keep,
        seed: u64,
        contents: &dyn Contents,
    ) -> io::Result<CrashImage<'_>> {
        self.image_on(None, keep, seed, contents)
    }

    /// As [`PendingState::image`], on an array: with the worse copy of what was in flight.
    pub fn image_on(
        &self,
        copies: Option<&MirrorCopies>,
        keep: Keep,
        seed: u64,
        contents: &dyn Contents,
    ) -> io::Result<CrashImage<'_>> {
        let modes = (self.metadata, self.data);
        let drawn = (keep, seed, copies);
        let choice = Choice::new(&self.tree, &self.changes, &self.edits, modes, drawn);
        let mut tree = self.tree.clone();
        for (change, _) in self.changes.iter().zip(&choice.changes).filter(|(_, kept)| **kept) {
            tree.apply_change(change);
        }
        CrashImage::new(self.root, &tree, &self.edits, &choice.edits, contents)
    }

    pub fn edited_files(&self) -> impl Iterator<Item = Ino> {
        self.edits.keys().copied()
    }

    pub(super) fn apply_event(&mut self, event: PendingEvent) -> Vec<Ino> {
        match event {
            PendingEvent::Edit(ino, edit) => self.add_edit(ino, edit),
            PendingEvent::Add(ino, kind, attributes) => self.tree.add_node(ino, kind, attributes),
            PendingEvent::Change(operation) => self.add_change(operation),
            PendingEvent::FailSync(ino, mark) => {
                let edits = self.edits.get_mut(&ino).into_iter().flatten();
                edits.take_while(|edit| edit.number < mark.0).for_each(Edit::mark_lost);
            }
            PendingEvent::SyncFile(ino, mark) => {
                let mut free = self.settle_edits(ino, mark);
                if self.metadata == Metadata::Posix {
                    free.extend(self.settle_changes(mark, |change| change.is_of(ino)));
                }
                return free;
            }
            PendingEvent::SyncDir(dir, mark) if self.metadata == Metadata::Posix => {
                return self.settle_changes(mark, |change| {
                    change.is_of(dir) || change.name_changes().iter().any(|step| step.dir == dir)
                });
            }
            PendingEvent::CommitJournal(mark) if self.metadata == Metadata::Ordered => {
                let mut free = match self.data {
                    // They are in the transaction.
                    DataMode::Journal => self.settle_all_edits(mark),
                    DataMode::Ordered | DataMode::Writeback => Vec::new(),
                };
                free.extend(self.settle_changes(mark, |_| true));
                return free;
            }
            PendingEvent::SyncDir(..) | PendingEvent::CommitJournal(_) => {}
            PendingEvent::CommitNames(mark) => return self.settle_changes(mark, |_| true),
            PendingEvent::Expire(ino, mark) => return self.settle_edits(ino, mark),
            PendingEvent::Settle(mark) => return self.settle_before(mark),
            PendingEvent::Wrote(ino, from, to) => {
                let first = self.edits.get(&ino).and_then(VecDeque::front);
                if first.is_some_and(|edit| edit.number >= from.0) {
                    return self.settle_edits(ino, to);
                }
            }
        }
        Vec::new()
    }

    fn add_edit(&mut self, ino: Ino, edit: Edit) {
        self.next = edit.number + 1;
        if self.needs_content(ino) {
            self.bytes += edit.memory_bytes();
            self.edits.entry(ino).or_default().push_back(edit);
        }
    }

    fn add_change(&mut self, operation: MetadataOperation) {
        let change = PendingChange { number: self.next, operation };
        self.next += 1;
        self.bytes += change.memory_bytes();
        self.tree.count_mentions(&change);
        self.changes.push(change);
    }

    fn settle_edits(&mut self, ino: Ino, mark: ChangeMark) -> Vec<Ino> {
        let Some(edits) = self.edits.get_mut(&ino) else { return Vec::new() };
        let mut free = Vec::new();
        let mut forget = |edit: Edit| {
            self.bytes -= edit.memory_bytes();
            free.extend(edit.kept_file());
        };
        let covered = edits.partition_point(|edit| edit.number < mark.0);
        let mut lost: Vec<Edit> = Vec::new();
        for edit in edits.drain(..covered) {
            if edit.is_lost() {
                lost.push(edit);
                continue;
            }
            for gone in lost.extract_if(.., |earlier| !earlier.mend_by(&edit)) {
                forget(gone);
            }
            forget(edit);
        }
        for edit in lost.into_iter().rev() {
            edits.push_front(edit);
        }
        if edits.is_empty() {
            self.edits.remove(&ino);
        }
        free
    }

    fn settle_all_edits(&mut self, mark: ChangeMark) -> Vec<Ino> {
        let edited: Vec<Ino> = self.edits.keys().copied().collect();
        edited.into_iter().flat_map(|ino| self.settle_edits(ino, mark)).collect()
    }

    /// Makes all earlier changes durable. Returns what has no name any more, and the files that
    /// kept cut-off ends.
    fn settle_before(&mut self, mark: ChangeMark) -> Vec<Ino> {
        let mut free = self.settle_all_edits(mark);
        free.extend(self.settle_changes(mark, |_| true));
        self.settled = mark.0;
        free
    }

    fn forget_edits(&mut self, ino: Ino) -> Vec<Ino> {
        let edits = self.edits.remove(&ino).unwrap_or_default();
        self.bytes -= edits.iter().map(Edit::memory_bytes).sum::<u64>();
        edits.iter().filter_map(Edit::kept_file).collect()
    }

    /// Makes the wanted changes of names and attributes durable, and those that they build on.
    /// Returns what has no name any more, and what was kept of it.
    fn settle_changes(
        &mut self,
        mark: ChangeMark,
        wanted: impl Fn(&PendingChange) -> bool,
    ) -> Vec<Ino> {
        let before = self.changes.partition_point(|change| change.number < mark.0);
        let chosen = with_ground(&self.changes[..before], &self.tree, wanted);
        if chosen.is_empty() {
            return Vec::new();
        }
        let changes = mem::take(&mut self.changes).into_iter();
        let (settled, pending): (Vec<_>, _) =
            changes.partition(|change| chosen.contains(&change.number));
        self.changes = pending;
        for change in &settled {
            self.bytes -= change.memory_bytes();
            self.tree.apply_change(change);
        }
        let gone: Vec<Ino> =
            settled.iter().flat_map(|change| self.tree.forget_mentions(change)).collect();
        let kept: Vec<Ino> = gone.iter().flat_map(|ino| self.forget_edits(*ino)).collect();
        gone.into_iter().chain(kept).collect()
    }
}
