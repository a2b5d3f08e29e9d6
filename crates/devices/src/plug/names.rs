//! The tree of names, and its pending changes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};

use serde::{Deserialize, Serialize};

use super::Ino;

/// A file's mode and owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileAttributes {
    /// Permission bits, as of `chmod`.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NodeKind {
    /// A file with bytes.
    File,
    /// A directory.
    Directory,
    /// A symbolic link to this.
    Symlink(OsString),
    /// A socket, a pipe or a device: its type as in `st_mode` (`S_IFMT`), its number as in
    /// `st_rdev`.
    Special(u32, u64),
}

/// A name in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EntryPlace<'a> {
    /// The directory.
    pub dir: Ino,
    /// The name.
    pub name: &'a OsStr,
}

/// A thing that has, had or will have a name.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub kind: NodeKind,
    pub attributes: FileAttributes,
    /// How many durable names it has.
    links: u32,
    /// How many times pending changes speak of it.
    mentions: u32,
}

/// What is durable of the names.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    pub nodes: HashMap<Ino, Node>,
    pub entries: HashMap<Ino, BTreeMap<OsString, Ino>>,
}

/// What one change does to one name.
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

/// What a change does to names or attributes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum MetadataOperation {
    /// A new file or directory, with its first name.
    Create(NameChange),
    /// A further name for a file.
    Link(NameChange),
    /// A name is removed.
    Remove(NameChange),
    /// A file moves from one name to another, perhaps over a file that had it; or two exchange names.
    Rename([NameChange; 2]),
    /// The mode or the owner changes.
    Attributes(Ino, FileAttributes),
}

/// A pending change of names or attributes.
#[derive(Clone, Debug)]
pub(super) struct PendingChange {
    /// Its place in the order of all changes.
    pub number: u64,
    pub operation: MetadataOperation,
}

/// Something that a change brings about and a later one may build on.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Ground<'a> {
    /// The state of this name.
    Place(EntryPlace<'a>),
    /// The state of all names of this directory.
    Inside(Ino),
    /// That this directory was made.
    Made(Ino),
    /// That this file has a name.
    Named(Ino),
    /// Where directories lie in each other.
    Moves,
}

impl PendingChange {
    pub(super) fn steps(&self) -> &[NameChange] {
        match &self.operation {
            MetadataOperation::Create(step)
            | MetadataOperation::Link(step)
            | MetadataOperation::Remove(step) => std::slice::from_ref(step),
            MetadataOperation::Rename(steps) => steps,
            MetadataOperation::Attributes(..) => &[],
        }
    }

    /// What it speaks of, each as often as it does so.
    fn mentioned(&self) -> impl Iterator<Item = Ino> {
        let itself = match self.operation {
            MetadataOperation::Attributes(ino, _) => Some(ino),
            _ => None,
        };
        self.steps().iter().flat_map(|step| [step.before, step.after]).flatten().chain(itself)
    }

    /// Whether it changes the attributes of this.
    pub(super) fn is_of(&self, ino: Ino) -> bool {
        matches!(self.operation, MetadataOperation::Attributes(changed, _) if changed == ino)
    }

    /// Bytes of memory that it takes.
    pub(super) fn weight(&self) -> u64 {
        let names: usize = self.steps().iter().map(|step| step.name.len()).sum();
        (size_of::<Self>() + names) as u64
    }

    /// What later changes may build on.
    fn brings<'a>(&'a self, tree: &'a Tree) -> impl Iterator<Item = Ground<'a>> {
        let made = match &self.operation {
            MetadataOperation::Create(step) => step.after.filter(|ino| tree.is_dir(*ino)),
            _ => None,
        };
        let steps = self.steps().iter().flat_map(|step| {
            let named = step.after.map(Ground::Named);
            [Some(Ground::Place(step.place())), Some(Ground::Inside(step.dir)), named]
        });
        steps.chain([made.map(Ground::Made), self.moves(tree)]).flatten()
    }

    /// What it builds on.
    fn needs<'a>(&'a self, tree: &'a Tree) -> impl Iterator<Item = Ground<'a>> {
        let steps = self.steps().iter().flat_map(|step| {
            let ended = step.before.filter(|ino| tree.is_dir(*ino) && !self.places(*ino));
            let before = [step.before.map(Ground::Named), ended.map(Ground::Inside)];
            [Some(Ground::Place(step.place())), Some(Ground::Made(step.dir))]
                .into_iter()
                .chain(before)
        });
        steps.chain([self.moves(tree)]).flatten()
    }

    /// Whether something has one of its names from this change.
    fn places(&self, ino: Ino) -> bool {
        self.steps().iter().any(|step| step.after == Some(ino))
    }

    fn moves(&self, tree: &Tree) -> Option<Ground<'static>> {
        let MetadataOperation::Rename(steps) = &self.operation else { return None };
        let mut moved = steps.iter().filter_map(|step| step.after);
        moved.any(|ino| tree.is_dir(ino)).then_some(Ground::Moves)
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

    /// Adds the root, which needs no name.
    pub(super) fn add_root(&mut self, ino: Ino, attributes: FileAttributes) {
        let node = Node { kind: NodeKind::Directory, attributes, links: 1, mentions: 0 };
        self.nodes.insert(ino, node);
    }

    /// Adds a thing without a name.
    pub(super) fn add(&mut self, ino: Ino, kind: NodeKind, attributes: FileAttributes) {
        self.nodes.insert(ino, Node { kind, attributes, links: 0, mentions: 0 });
    }

    /// Gives something a durable name.
    pub(super) fn name(&mut self, place: EntryPlace<'_>, ino: Ino) {
        self.entries.entry(place.dir).or_default().insert(place.name.to_owned(), ino);
        if let Some(node) = self.nodes.get_mut(&ino) {
            node.links += 1;
        }
    }

    /// Notes that a pending change speaks of what it speaks of.
    pub(super) fn mention(&mut self, change: &PendingChange) {
        for ino in change.mentioned() {
            if let Some(node) = self.nodes.get_mut(&ino) {
                node.mentions += 1;
            }
        }
    }

    /// Makes a change in the tree.
    pub(super) fn apply(&mut self, change: &PendingChange) {
        if let MetadataOperation::Attributes(ino, attributes) = change.operation
            && let Some(node) = self.nodes.get_mut(&ino)
        {
            node.attributes = attributes;
        }
        for step in change.steps() {
            let removed = self.entries.get_mut(&step.dir).and_then(|dir| dir.remove(&step.name));
            if let Some(node) = removed.and_then(|ino| self.nodes.get_mut(&ino)) {
                node.links -= 1;
            }
        }
        for step in change.steps() {
            if let Some(ino) = step.after {
                self.name(step.place(), ino);
            }
        }
    }

    /// Forgets that a change, now applied, was pending. Gives what nothing speaks of any more.
    pub(super) fn settle(&mut self, change: &PendingChange) -> Vec<Ino> {
        let mut gone = Vec::new();
        for ino in change.mentioned() {
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

/// The wanted changes, and all earlier changes that these build on.
pub(super) fn with_ground(
    changes: &[PendingChange],
    tree: &Tree,
    wanted: impl Fn(&PendingChange) -> bool,
) -> HashSet<u64> {
    let mut chosen = HashSet::new();
    let mut needed = HashSet::new();
    for change in changes.iter().rev() {
        let is_needed =
            !needed.is_empty() && change.brings(tree).any(|ground| needed.contains(&ground));
        if is_needed || wanted(change) {
            chosen.insert(change.number);
            needed.extend(change.needs(tree));
        }
    }
    chosen
}

/// What was brought about by changes that a power cut took.
#[derive(Default)]
pub(super) struct Missing<'a>(HashSet<Ground<'a>>);

impl<'a> Missing<'a> {
    /// Whether a change, kept so far, falls because of what it builds on.
    pub(super) fn fells(&self, change: &'a PendingChange, tree: &'a Tree) -> bool {
        change.needs(tree).any(|ground| self.0.contains(&ground))
    }

    /// Notes that a change was dropped.
    pub(super) fn add(&mut self, change: &'a PendingChange, tree: &'a Tree) {
        self.0.extend(change.brings(tree));
    }
}
