use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ffi::OsString;
use std::io;

use super::content::FileContent;
use super::edits::{self, Edit, Fate};
use super::names::{FileAttributes, NodeKind, Tree};
use super::{Contents, Ino};

#[derive(Clone, Debug)]
pub struct CrashImage<'a> {
    root: Ino,
    items: BTreeMap<Ino, Item<'a>>,
}

#[derive(Clone, Debug)]
pub struct Item<'a> {
    pub kind: NodeKind,
    pub attributes: FileAttributes,
    pub entries: BTreeMap<OsString, Ino>,
    pub content: Option<FileContent<'a>>,
}

impl<'a> CrashImage<'a> {
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
                    (Some(edits), Some(fates)) => edits::build_content(ino, edits, fates, size),
                    _ => FileContent::from_present(ino, size),
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

    pub fn root(&self) -> Ino {
        self.root
    }

    pub fn item(&self, ino: Ino) -> Option<&Item<'a>> {
        self.items.get(&ino)
    }
}
