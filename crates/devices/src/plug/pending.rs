//! What is pending, and how it becomes durable.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::mem;

use super::choice::Choice;
use super::data::{Before, Edit};
use super::history::{Event, History};
use super::image::Image;
use super::names::{Attributes, Change, Kind, Operation, Place, Step, Tree, with_ground};
use super::{Contents, Ino, Keep, Metadata};

/// A moment in the order of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(pub(super) u64);

/// All changes that a power cut would take now, with the tree of names that it would leave.
///
/// Each change is told right before it is made, or under the same lock. Changes of things that
/// have no name any more, durable or pending, are ignored: nothing of them can be lost.
pub struct Pending {
    root: Ino,
    pub(super) metadata: Metadata,
    tree: Tree,
    changes: Vec<Change>,
    edits: HashMap<Ino, VecDeque<Edit>>,
    /// The number of the next change.
    next: u64,
    /// Bytes of memory that the pending changes take.
    bytes: u64,
    /// All that happened since somebody asked to have it remembered.
    history: Option<Box<History>>,
}

impl Pending {
    /// Nothing pending, over a tree that has a root only.
    pub fn new(root: Ino, attributes: Attributes, metadata: Metadata) -> Self {
        let mut tree = Tree::default();
        tree.add_root(root, attributes);
        Self {
            root,
            metadata,
            tree,
            changes: Vec::new(),
            edits: HashMap::new(),
            next: 0,
            bytes: 0,
            history: None,
        }
    }

    /// Adds what was there at mount time: durable. A number that is there already gets a further
    /// name.
    pub fn adopt(&mut self, place: Place<'_>, ino: Ino, kind: Kind, attributes: Attributes) {
        if !self.holds(ino) {
            self.tree.add(ino, kind, attributes);
        }
        self.tree.name(place, ino);
    }

    /// The present moment. A sync that begins now counts for the changes before it.
    pub fn mark(&self) -> Mark {
        Mark(self.next)
    }

    /// Whether the content of this may yet show in an image. What was unlinked must be kept for
    /// as long.
    pub fn holds(&self, ino: Ino) -> bool {
        self.tree.nodes.contains_key(&ino)
    }

    /// Whether no change of the bytes or the size of this is pending.
    pub fn is_clean(&self, ino: Ino) -> bool {
        !self.edits.contains_key(&ino)
    }

    /// Bytes of memory that the pending changes take.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether no change was ever told.
    pub(super) fn is_untouched(&self) -> bool {
        self.next == 0
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
    pub fn create(&mut self, place: Place<'_>, ino: Ino, kind: Kind, attributes: Attributes) {
        self.apply(Event::Add(ino, kind, attributes));
        self.change(Operation::Create(Step::new(place, None, Some(ino))));
    }

    /// A file gets a further name.
    pub fn link(&mut self, place: Place<'_>, ino: Ino) {
        self.change(Operation::Link(Step::new(place, None, Some(ino))));
    }

    /// A name goes: `unlink`, `rmdir`.
    pub fn remove(&mut self, place: Place<'_>, ino: Ino) {
        self.change(Operation::Remove(Step::new(place, Some(ino), None)));
    }

    /// A name changes, and maybe replaces what the new one stood for.
    pub fn rename(&mut self, from: Place<'_>, to: Place<'_>, ino: Ino, replaced: Option<Ino>) {
        // Two names of one file: POSIX has rename do nothing.
        if from != to && replaced != Some(ino) {
            let steps = [Step::new(from, Some(ino), None), Step::new(to, replaced, Some(ino))];
            self.change(Operation::Rename(steps));
        }
    }

    /// Two names change places: `rename` with `RENAME_EXCHANGE`. `a_ino` is what `a` stood for.
    pub fn exchange(&mut self, a: Place<'_>, b: Place<'_>, a_ino: Ino, b_ino: Ino) {
        if a_ino != b_ino {
            let steps =
                [Step::new(a, Some(a_ino), Some(b_ino)), Step::new(b, Some(b_ino), Some(a_ino))];
            self.change(Operation::Rename(steps));
        }
    }

    /// Permissions or the owner change.
    pub fn set_attributes(&mut self, ino: Ino, attributes: Attributes) {
        self.change(Operation::Attributes(ino, attributes));
    }

    /// `fsync` or `fdatasync` of a file. Gives the numbers whose content is no longer needed.
    pub fn sync_file(&mut self, ino: Ino, mark: Mark) -> Vec<Ino> {
        self.apply(Event::SyncFile(ino, mark))
    }

    /// `fsync` of a file failed. As on Linux, what was written before is lost though the
    /// application still reads it: no later sync makes it durable, but for the sectors that are
    /// written again. Truncations and names are the journal's; they stay pending.
    pub fn fail_sync(&mut self, ino: Ino, mark: Mark) {
        self.apply(Event::FailSync(ino, mark));
    }

    /// `fsync` of a directory. Gives the numbers whose content is no longer needed.
    pub fn sync_dir(&mut self, dir: Ino, mark: Mark) -> Vec<Ino> {
        self.apply(Event::SyncDir(dir, mark))
    }

    /// All names and attributes became durable, as somebody asked for. Gives the numbers whose
    /// content is no longer needed.
    pub fn commit_names(&mut self, mark: Mark) -> Vec<Ino> {
        self.apply(Event::CommitNames(mark))
    }

    /// The journal was committed, for whatever reason: names and attributes become durable if it
    /// keeps them in order, which POSIX promises nobody. Gives the numbers whose content is no
    /// longer needed.
    pub fn commit_journal(&mut self, mark: Mark) -> Vec<Ino> {
        self.apply(Event::CommitJournal(mark))
    }

    /// A file's bytes and size were written back. Gives the numbers whose content is no longer
    /// needed.
    pub fn expire(&mut self, ino: Ino, mark: Mark) -> Vec<Ino> {
        self.apply(Event::Expire(ino, mark))
    }

    /// A write, made between two moments, is on the device, and what its place is found by was there
    /// before. It stays pending with earlier changes of the file that are: it may build on them.
    /// Gives the numbers whose content is no longer needed.
    pub fn wrote(&mut self, ino: Ino, from: Mark, to: Mark) -> Vec<Ino> {
        self.apply(Event::Wrote(ino, from, to))
    }

    /// Remembers from now on all that is told, so that images can be made of earlier moments; what
    /// was remembered before is forgotten. Nothing is given back as no longer needed until
    /// [`Pending::forget`].
    pub fn record(&mut self) {
        self.history = Some(Box::new(History::new(self.bare())));
    }

    /// The same, but for what is remembered.
    pub fn bare(&self) -> Self {
        Self {
            root: self.root,
            metadata: self.metadata,
            tree: self.tree.clone(),
            changes: self.changes.clone(),
            edits: self.edits.clone(),
            next: self.next,
            bytes: self.bytes,
            history: None,
        }
    }

    /// What is remembered, if anything is.
    pub fn history(&self) -> Option<&History> {
        self.history.as_deref()
    }

    /// Remembers no more. Gives the numbers whose content is no longer needed.
    pub fn forget(&mut self) -> Vec<Ino> {
        self.history.take().map_or_else(Vec::new, |history| history.free)
    }

    /// What a power cut now leaves. The same history and seed give the same image.
    ///
    /// # Errors
    /// When a file's size can't be had.
    pub fn image(&self, keep: Keep, seed: u64, contents: &dyn Contents) -> io::Result<Image<'_>> {
        let choice = Choice::new(&self.tree, &self.changes, &self.edits, self.metadata, keep, seed);
        let mut tree = self.tree.clone();
        for (change, _) in self.changes.iter().zip(&choice.changes).filter(|(_, kept)| **kept) {
            tree.apply(change);
        }
        Image::new(self.root, &tree, &self.edits, &choice.edits, contents)
    }

    fn edit(&mut self, ino: Ino, edit: impl FnOnce(u64) -> Edit) {
        if self.holds(ino) || self.history.is_some() {
            let edit = edit(self.next);
            self.apply(Event::Edit(ino, edit));
        }
    }

    fn change(&mut self, operation: Operation) {
        self.apply(Event::Change(operation));
    }

    /// Takes note of what happened. Gives the numbers whose content is no longer needed.
    fn apply(&mut self, event: Event) -> Vec<Ino> {
        let Some(history) = &mut self.history else { return self.happen(event) };
        history.add(event.clone());
        let free = self.happen(event);
        if let Some(history) = &mut self.history {
            history.free.extend(free);
        }
        Vec::new()
    }

    /// What an event does.
    pub(super) fn happen(&mut self, event: Event) -> Vec<Ino> {
        match event {
            Event::Edit(ino, edit) => self.add_edit(ino, edit),
            Event::Add(ino, kind, attributes) => self.tree.add(ino, kind, attributes),
            Event::Change(operation) => self.add_change(operation),
            Event::FailSync(ino, mark) => {
                let edits = self.edits.get_mut(&ino).into_iter().flatten();
                edits.take_while(|edit| edit.number < mark.0).for_each(Edit::lose);
            }
            Event::SyncFile(ino, mark) => {
                let mut free = self.settle_edits(ino, mark);
                if self.metadata == Metadata::Posix {
                    free.extend(self.settle_changes(mark, |change| change.is_of(ino)));
                }
                return free;
            }
            Event::SyncDir(dir, mark) if self.metadata == Metadata::Posix => {
                return self.settle_changes(mark, |change| {
                    change.is_of(dir) || change.steps().iter().any(|step| step.dir == dir)
                });
            }
            Event::CommitJournal(mark) if self.metadata == Metadata::Ordered => {
                return self.settle_changes(mark, |_| true);
            }
            Event::SyncDir(..) | Event::CommitJournal(_) => {}
            Event::CommitNames(mark) => return self.settle_changes(mark, |_| true),
            Event::Expire(ino, mark) => return self.settle_edits(ino, mark),
            Event::Wrote(ino, from, to) => {
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
        if self.holds(ino) {
            self.bytes += edit.weight();
            self.edits.entry(ino).or_default().push_back(edit);
        }
    }

    fn add_change(&mut self, operation: Operation) {
        let change = Change { number: self.next, operation };
        self.next += 1;
        self.bytes += change.weight();
        self.tree.mention(&change);
        self.changes.push(change);
    }

    /// Makes changes of a file's bytes durable. Gives the files that kept what they cut off.
    fn settle_edits(&mut self, ino: Ino, mark: Mark) -> Vec<Ino> {
        let Some(edits) = self.edits.get_mut(&ino) else { return Vec::new() };
        let mut free = Vec::new();
        let mut forget = |edit: Edit| {
            self.bytes -= edit.weight();
            free.extend(edit.kept());
        };
        let covered = edits.partition_point(|edit| edit.number < mark.0);
        let mut lost: Vec<Edit> = Vec::new();
        for edit in edits.drain(..covered) {
            if edit.is_lost() {
                lost.push(edit);
                continue;
            }
            for gone in lost.extract_if(.., |earlier| !earlier.mend(&edit)) {
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

    /// Forgets what was pending of a file that no name leads to.
    fn forget_edits(&mut self, ino: Ino) -> Vec<Ino> {
        let edits = self.edits.remove(&ino).unwrap_or_default();
        self.bytes -= edits.iter().map(Edit::weight).sum::<u64>();
        edits.iter().filter_map(Edit::kept).collect()
    }

    /// Makes the wanted changes of names and attributes durable, and those that they build on.
    /// Gives what has no name any more, and what was kept of it.
    fn settle_changes(&mut self, mark: Mark, wanted: impl Fn(&Change) -> bool) -> Vec<Ino> {
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
            self.bytes -= change.weight();
            self.tree.apply(change);
        }
        let gone: Vec<Ino> = settled.iter().flat_map(|change| self.tree.settle(change)).collect();
        let kept: Vec<Ino> = gone.iter().flat_map(|ino| self.forget_edits(*ino)).collect();
        gone.into_iter().chain(kept).collect()
    }
}
