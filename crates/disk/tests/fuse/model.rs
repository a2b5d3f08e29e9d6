//! A file system in memory: what a POSIX file system must answer, as simply as it can be said.

use std::collections::BTreeMap;

use rustix::io::Errno;

/// The number of a thing.
pub type Id = usize;

/// A thing that has names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Thing {
    File { data: Vec<u8>, mode: u32, names: u32 },
    Folder(BTreeMap<String, Id>),
    Link(String),
}

/// What a rename does with what has the new name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collision {
    Replace,
    Refuse,
    Exchange,
}

/// The file system. Paths are of one or two parts.
#[derive(Clone, Debug)]
pub struct Model {
    things: Vec<Thing>,
}

const ROOT: Id = 0;

impl Model {
    pub fn new() -> Self {
        Self { things: vec![Thing::Folder(BTreeMap::new())] }
    }

    pub fn thing(&self, id: Id) -> &Thing {
        &self.things[id]
    }

    /// Every path, in order, folders before what is in them.
    pub fn paths(&self) -> Vec<(String, Id)> {
        let mut paths = Vec::new();
        self.add_paths(ROOT, "", &mut paths);
        paths
    }

    fn add_paths(&self, folder: Id, prefix: &str, paths: &mut Vec<(String, Id)>) {
        let Thing::Folder(entries) = &self.things[folder] else { return };
        for (name, id) in entries {
            let path = format!("{prefix}{name}");
            paths.push((path.clone(), *id));
            self.add_paths(*id, &format!("{path}/"), paths);
        }
    }

    fn entries(&self, folder: Id) -> Result<&BTreeMap<String, Id>, Errno> {
        match &self.things[folder] {
            Thing::Folder(entries) => Ok(entries),
            _ => Err(Errno::NOTDIR),
        }
    }

    fn entries_mut(&mut self, folder: Id) -> &mut BTreeMap<String, Id> {
        match &mut self.things[folder] {
            Thing::Folder(entries) => entries,
            other => panic!("{other:?} is not a folder"),
        }
    }

    /// The folder that a path's last part is in, and that part.
    fn parent<'a>(&self, path: &'a str) -> Result<(Id, &'a str), Errno> {
        let Some((folder, name)) = path.rsplit_once('/') else { return Ok((ROOT, path)) };
        let folder = self.find(folder)?;
        self.entries(folder)?;
        Ok((folder, name))
    }

    pub fn find(&self, path: &str) -> Result<Id, Errno> {
        let (folder, name) = self.parent(path)?;
        self.entries(folder)?.get(name).copied().ok_or(Errno::NOENT)
    }

    /// A file to be opened for writing.
    pub fn file(&self, path: &str) -> Result<Id, Errno> {
        let id = self.find(path)?;
        match self.things[id] {
            Thing::File { .. } => Ok(id),
            Thing::Folder(_) => Err(Errno::ISDIR),
            Thing::Link(_) => Err(Errno::LOOP),
        }
    }

    fn make(&mut self, path: &str, thing: Thing) -> Result<Id, Errno> {
        let (folder, name) = self.parent(path)?;
        if self.entries(folder)?.contains_key(name) {
            return Err(Errno::EXIST);
        }
        let id = self.things.len();
        self.things.push(thing);
        self.entries_mut(folder).insert(name.to_owned(), id);
        Ok(id)
    }

    pub fn create(&mut self, path: &str, mode: u32) -> Result<Id, Errno> {
        self.make(path, Thing::File { data: Vec::new(), mode, names: 1 })
    }

    pub fn mkdir(&mut self, path: &str) -> Result<(), Errno> {
        self.make(path, Thing::Folder(BTreeMap::new())).map(drop)
    }

    pub fn symlink(&mut self, path: &str, target: &str) -> Result<(), Errno> {
        self.make(path, Thing::Link(target.to_owned())).map(drop)
    }

    pub fn link(&mut self, from: &str, to: &str) -> Result<(), Errno> {
        let id = self.find(from)?;
        let (folder, name) = self.parent(to)?;
        if self.entries(folder)?.contains_key(name) {
            return Err(Errno::EXIST);
        }
        match &mut self.things[id] {
            Thing::File { names, .. } => *names += 1,
            Thing::Folder(_) => return Err(Errno::PERM),
            Thing::Link(_) => panic!("links are given no further names"),
        }
        self.entries_mut(folder).insert(name.to_owned(), id);
        Ok(())
    }

    pub fn unlink(&mut self, path: &str) -> Result<(), Errno> {
        let id = self.find(path)?;
        if matches!(self.things[id], Thing::Folder(_)) {
            return Err(Errno::ISDIR);
        }
        self.drop_name(path);
        Ok(())
    }

    pub fn rmdir(&mut self, path: &str) -> Result<(), Errno> {
        let id = self.find(path)?;
        if !self.entries(id)?.is_empty() {
            return Err(Errno::NOTEMPTY);
        }
        self.drop_name(path);
        Ok(())
    }

    fn drop_name(&mut self, path: &str) {
        let (folder, name) = self.parent(path).unwrap();
        let id = self.entries_mut(folder).remove(name).unwrap();
        if let Thing::File { names, .. } = &mut self.things[id] {
            *names -= 1;
        }
    }

    /// As `renameat2`, in the order in which Linux looks at what is wrong.
    pub fn rename(&mut self, from: &str, to: &str, collision: Collision) -> Result<(), Errno> {
        let (old, name) = self.parent(from)?;
        let (new, new_name) = self.parent(to)?;
        let id = *self.entries(old)?.get(name).ok_or(Errno::NOENT)?;
        let there = self.entries(new)?.get(new_name).copied();
        match (collision, there) {
            (Collision::Refuse, Some(_)) => return Err(Errno::EXIST),
            (Collision::Exchange, None) => return Err(Errno::NOENT),
            _ => {}
        }
        if to.starts_with(&format!("{from}/")) {
            return Err(Errno::INVAL);
        }
        if from.starts_with(&format!("{to}/")) {
            let exchange = collision == Collision::Exchange;
            return Err(if exchange { Errno::INVAL } else { Errno::NOTEMPTY });
        }
        if there == Some(id) {
            return Ok(());
        }
        if let (Collision::Exchange, Some(there)) = (collision, there) {
            self.entries_mut(old).insert(name.to_owned(), there);
            self.entries_mut(new).insert(new_name.to_owned(), id);
            return Ok(());
        }
        if let Some(there) = there {
            match (&self.things[id], &self.things[there]) {
                (Thing::Folder(_), Thing::Folder(entries)) if entries.is_empty() => {}
                (Thing::Folder(_), Thing::Folder(_)) => return Err(Errno::NOTEMPTY),
                (Thing::Folder(_), _) => return Err(Errno::NOTDIR),
                (_, Thing::Folder(_)) => return Err(Errno::ISDIR),
                _ => {}
            }
            self.drop_name(to);
        }
        self.entries_mut(old).remove(name);
        self.entries_mut(new).insert(new_name.to_owned(), id);
        Ok(())
    }

    pub fn data(&mut self, id: Id) -> &mut Vec<u8> {
        match &mut self.things[id] {
            Thing::File { data, .. } => data,
            other => panic!("{other:?} is not a file"),
        }
    }

    pub fn chmod(&mut self, id: Id, bits: u32) {
        match &mut self.things[id] {
            Thing::File { mode, .. } => *mode = bits,
            other => panic!("{other:?} is not a file"),
        }
    }

    pub fn write(&mut self, id: Id, offset: usize, bytes: &[u8]) {
        let data = self.data(id);
        let end = offset + bytes.len();
        if data.len() < end {
            data.resize(end, 0);
        }
        data[offset..end].copy_from_slice(bytes);
    }

    /// Makes zeros of what there is of a range.
    pub fn clear(&mut self, id: Id, offset: usize, length: usize) {
        let data = self.data(id);
        let end = data.len().min(offset + length);
        if offset < end {
            data[offset..end].fill(0);
        }
    }

    pub fn resize(&mut self, id: Id, size: usize) {
        self.data(id).resize(size, 0);
    }

    pub fn grow(&mut self, id: Id, size: usize) {
        let size = size.max(self.data(id).len());
        self.resize(id, size);
    }
}
