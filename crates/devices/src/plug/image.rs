//! Crash images: what a power cut leaves.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::OsString;
use std::io;

use super::content::FileContent;
use super::data::{self, Edit, Fate};
use super::names::{FileAttributes, NodeKind, Tree};
use super::{Contents, Ino};

/// What a power cut leaves: a tree of names, and what each stands for.
#[derive(Clone, Debug)]
pub struct CrashImage<'a> {
    root: Ino,
    items: BTreeMap<Ino, Item<'a>>,
}

/// A file, a directory or another thing of an image.
#[derive(Clone, Debug)]
pub struct Item<'a> {
    /// What it is.
    pub kind: NodeKind,
    /// Its permissions and owner.
    pub attributes: FileAttributes,
    /// A directory's names.
    pub entries: BTreeMap<OsString, Ino>,
    /// A file's bytes.
    pub content: Option<FileContent<'a>>,
}

impl<'a> CrashImage<'a> {
    /// The image of what can be reached from a tree's root.
    pub(super) fn new(
        root: Ino,
        tree: &Tree,
        edits: &'a HashMap<Ino, VecDeque<Edit>>,
        fates: &HashMap<Ino, Vec<Fate>>,
        contents: &dyn Contents,
    ) -> io::Result<Self> {
        let mut items = BTreeMap::new();
        let mut to_visit = vec![root];
        while let Some(ino) = to_visit.pop() {
            let Some(node) = tree.nodes.get(&ino) else { continue };
            if items.contains_key(&ino) {
                continue;
            }
            let content = if node.kind == NodeKind::File {
                let size = contents.size(ino)?;
                Some(match (edits.get(&ino), fates.get(&ino)) {
                    (Some(edits), Some(fates)) => data::content(ino, edits, fates, size),
                    _ => FileContent::present(ino, size),
                })
            } else {
                None
            };
            let entries = tree.entries.get(&ino).cloned().unwrap_or_default();
            to_visit.extend(entries.values());
            let (kind, attributes) = (node.kind.clone(), node.attributes);
            items.insert(ino, Item { kind, attributes, entries, content });
        }
        Ok(Self { root, items })
    }

    /// The root's number.
    pub fn root(&self) -> Ino {
        self.root
    }

    /// What a number stands for, if it has a name in this image.
    pub fn item(&self, ino: Ino) -> Option<&Item<'a>> {
        self.items.get(&ino)
    }
}
