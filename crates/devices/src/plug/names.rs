use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};

use serde::{Deserialize, Serialize};

use super::Ino;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileAttributes {
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeKind {
    File,
    Directory,
    Symlink(OsString),
    /// A socket, a pipe or a device: its type as in `st_mode` (`S_IFMT`), its number as in
    /// `st_rdev`.
    Special(u32, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EntryPlace<'a> {
    pub dir: Ino,
    pub name: &'a OsStr,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub kind: NodeKind,
    pub attributes: FileAttributes,
    links: u32,
    mentions: u32,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    pub nodes: HashMap<Ino, Node>,
    pub entries: HashMap<Ino, BTreeMap<OsString, Ino>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct NameChange {
    pub dir: Ino,
    pub name: OsString,
    pub before: Option<Ino>,
    pub after: Option<Ino>,
}

impl NameChange {
    pub(super) fn new(place: EntryPlace<'_>, before: Option<Ino>, after: Option<Ino>) -> Self {
        Self { dir: place.dir, name: place.name.to_owned(), before, after }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum MetadataOperation {
    Create(NameChange),
    Link(NameChange),
    Remove(NameChange),
    /// A file moves, perhaps over another file; or two names are exchanged.
    Rename([NameChange; 2]),
    Attributes(Ino, FileAttributes),
}

#[derive(Clone, Debug)]
pub(super) struct PendingChange {
    pub number: u64,
    pub operation: MetadataOperation,
}

/// Something that a change creates and a later one may build on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ChangeDependency<'a> {
    /// The state of this name.
    Place(EntryPlace<'a>),
    /// The state of all names of this directory.
    Inside(Ino),
    /// This directory was made.
    Made(Ino),
    /// This file has a name.
    Named(Ino),
    /// Which directory lies in which.
    Moves,
}

impl PendingChange {
    pub(super) fn name_changes(&self) -> &[NameChange] {
        match &self.operation {
            MetadataOperation::Create(step)
            | MetadataOperation::Link(step)
            | MetadataOperation::Remove(step) => std::slice::from_ref(step),
            MetadataOperation::Rename(steps) => steps,
            MetadataOperation::Attributes(..) => &[],
        }
    }

    /// Each number as often as the change speaks of it.
    fn mentioned_numbers(&self) -> impl Iterator<Item = Ino> {
        let itself = match self.operation {
            MetadataOperation::Attributes(ino, _) => Some(ino),
            _ => None,
        };
        self.name_changes()
            .iter()
            .flat_map(|step| [step.before, step.after])
            .flatten()
            .chain(itself)
    }

    pub(super) fn is_of(&self, ino: Ino) -> bool {
        matches!(self.operation, MetadataOperation::Attributes(changed, _) if changed == ino)
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        let names: usize = self.name_changes().iter().map(|step| step.name.len()).sum();
        (size_of::<Self>() + names) as u64
    }

    fn brought_grounds<'a>(&'a self, tree: &'a Tree) -> impl Iterator<Item = ChangeDependency<'a>> {
        let made = match &self.operation {
            MetadataOperation::Create(step) => step.after.filter(|ino| tree.is_dir(*ino)),
            _ => None,
        };
        let steps = self.name_changes().iter().flat_map(|step| {
            let named = step.after.map(ChangeDependency::Named);
            [
                Some(ChangeDependency::Place(step.place())),
                Some(ChangeDependency::Inside(step.dir)),
                named,
            ]
        });
        steps.chain([made.map(ChangeDependency::Made), self.moves_ground(tree)]).flatten()
    }

    fn needed_grounds<'a>(&'a self, tree: &'a Tree) -> impl Iterator<Item = ChangeDependency<'a>> {
        let steps = self.name_changes().iter().flat_map(|step| {
            let ended = step.before.filter(|ino| tree.is_dir(*ino) && !self.gives_name_to(*ino));
            let before =
                [step.before.map(ChangeDependency::Named), ended.map(ChangeDependency::Inside)];
            [Some(ChangeDependency::Place(step.place())), Some(ChangeDependency::Made(step.dir))]
                .into_iter()
                .chain(before)
        });
        steps.chain([self.moves_ground(tree)]).flatten()
    }

    /// Whether the change gives this one of its names.
    fn gives_name_to(&self, ino: Ino) -> bool {
        self.name_changes().iter().any(|step| step.after == Some(ino))
    }

    fn moves_ground(&self, tree: &Tree) -> Option<ChangeDependency<'static>> {
        let MetadataOperation::Rename(steps) = &self.operation else { return None };
        let mut moved = steps.iter().filter_map(|step| step.after);
        moved.any(|ino| tree.is_dir(ino)).then_some(ChangeDependency::Moves)
    }
}

impl NameChange {
    fn place(&self) -> EntryPlace<'_> {
        EntryPlace { dir: self.dir, name: &self.name }
    }
}

impl Tree {
    pub(super) fn is_dir(&self, ino: Ino) -> bool {
        self.nodes.get(&ino).is_some_and(|node| node.kind == NodeKind::Directory)
    }

    pub(super) fn add_root(&mut self, ino: Ino, attributes: FileAttributes) {
        let node = Node { kind: NodeKind::Directory, attributes, links: 1, mentions: 0 };
        self.nodes.insert(ino, node);
    }

    pub(super) fn add_node(&mut self, ino: Ino, kind: NodeKind, attributes: FileAttributes) {
        self.nodes.insert(ino, Node { kind, attributes, links: 0, mentions: 0 });
    }

    pub(super) fn add_name(&mut self, place: EntryPlace<'_>, ino: Ino) {
        self.entries.entry(place.dir).or_default().insert(place.name.to_owned(), ino);
        if let Some(node) = self.nodes.get_mut(&ino) {
            node.links += 1;
        }
    }

    pub(super) fn count_mentions(&mut self, change: &PendingChange) {
        for ino in change.mentioned_numbers() {
            if let Some(node) = self.nodes.get_mut(&ino) {
                node.mentions += 1;
            }
        }
    }

    pub(super) fn apply_change(&mut self, change: &PendingChange) {
        if let MetadataOperation::Attributes(ino, attributes) = change.operation
            && let Some(node) = self.nodes.get_mut(&ino)
        {
            node.attributes = attributes;
        }
        for step in change.name_changes() {
            let removed = self.entries.get_mut(&step.dir).and_then(|dir| dir.remove(&step.name));
            if let Some(node) = removed.and_then(|ino| self.nodes.get_mut(&ino)) {
                node.links -= 1;
            }
        }
        for step in change.name_changes() {
            if let Some(ino) = step.after {
                self.add_name(step.place(), ino);
            }
        }
    }

    /// Forgets that an applied change was pending. Returns what nothing speaks of any more.
    pub(super) fn forget_mentions(&mut self, change: &PendingChange) -> Vec<Ino> {
        let mut gone = Vec::new();
        for ino in change.mentioned_numbers() {
            let Some(node) = self.nodes.get_mut(&ino) else { continue };
            node.mentions -= 1;
            if node.mentions == 0 && node.links == 0 {
                self.nodes.remove(&ino);
                self.entries.remove(&ino);
                gone.push(ino);
            }
        }
        gone
    }
}

pub(super) fn with_ground(
    changes: &[PendingChange],
    tree: &Tree,
    wanted: impl Fn(&PendingChange) -> bool,
) -> HashSet<u64> {
    let mut chosen = HashSet::new();
    let mut needed = HashSet::new();
    for change in changes.iter().rev() {
        let is_needed = !needed.is_empty()
            && change.brought_grounds(tree).any(|ground| needed.contains(&ground));
        if is_needed || wanted(change) {
            chosen.insert(change.number);
            needed.extend(change.needed_grounds(tree));
        }
    }
    chosen
}

#[derive(Default)]
pub(super) struct Missing<'a>(HashSet<ChangeDependency<'a>>);

impl<'a> Missing<'a> {
    pub(super) fn fells_change(&self, change: &'a PendingChange, tree: &'a Tree) -> bool {
        change.needed_grounds(tree).any(|ground| self.0.contains(&ground))
    }

    pub(super) fn add_lost(&mut self, change: &'a PendingChange, tree: &'a Tree) {
        self.0.extend(change.brought_grounds(tree));
    }
}
