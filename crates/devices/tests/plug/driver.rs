//! Does commands to [`Pending`] and to the model alike.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::MetadataExt as _;

use bakeoff_devices::ext4::DataMode;
use bakeoff_devices::plug::{
    Before, ChangeMark, Contents, EntryPlace, FileAttributes, Ino, Metadata, NodeKind, Pending,
};

use crate::commands::Command;
use crate::model::{Act, Fate, History, ROOT, Step, World};

/// A mistake that is planted to see whether it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// A sync of a file does not count for the last change before it.
    SyncsTooLittle,
    /// A sync counts for what was changed since it began.
    SyncsTooMuch,
    /// A journal commit makes bytes durable.
    CommitsBytes,
    /// What a write replaced is not told.
    ForgetsOld,
    /// Of two writes the later is told first.
    SwapsWrites,
    /// A rename is told as a further name and one less.
    RenamesInTwo,
    /// A rename is not told.
    MissesRenames,
    /// Permissions are told as durable.
    MissesModes,
    /// A failed sync is not told, and the next one makes up for it.
    ForgivesFailures,
    /// Where names are one log, each is kept or lost by itself.
    ReordersNames,
    /// Where names are one log, a sync takes those of its file out of their order.
    SyncsOutOfOrder,
    /// A journal commit is not told.
    MissesCommits,
}

impl Flaw {
    /// Each, and what the file system promises where it shows.
    pub const ALL: [(Self, Promises); 12] = [
        (Self::SyncsTooLittle, POSIX),
        (Self::SyncsTooMuch, POSIX),
        (Self::CommitsBytes, POSIX),
        (Self::ForgetsOld, POSIX),
        (Self::SwapsWrites, POSIX),
        (Self::RenamesInTwo, POSIX),
        (Self::MissesRenames, POSIX),
        (Self::MissesModes, POSIX),
        (Self::ForgivesFailures, POSIX),
        (Self::ReordersNames, ORDERED),
        (Self::SyncsOutOfOrder, ORDERED),
        (Self::MissesCommits, ORDERED),
    ];
}

/// The present bytes; those that were given back can't be read any more.
#[derive(Default)]
pub struct Store(pub BTreeMap<Ino, Vec<u8>>);

impl Contents for Store {
    fn read(&self, ino: Ino, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.0.get(&ino).ok_or_else(|| io::Error::other(format!("no file {ino}")))?;
        let rest = bytes.get(offset as usize..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn size(&self, ino: Ino) -> io::Result<u64> {
        let bytes = self.0.get(&ino).ok_or_else(|| io::Error::other(format!("no file {ino}")))?;
        Ok(bytes.len() as u64)
    }
}

/// What a file system promises of names and of data.
pub type Promises = (Metadata, DataMode);
pub const ORDERED: Promises = (Metadata::Ordered, DataMode::Ordered);
pub const WRITEBACK: Promises = (Metadata::Ordered, DataMode::Writeback);
/// All is one log.
pub const JOURNAL: Promises = (Metadata::Ordered, DataMode::Journal);
pub const POSIX: Promises = (Metadata::Posix, DataMode::Ordered);

/// A name: its directory, itself, what it stands for.
pub type Entry = (Ino, String, Ino);

/// More pending acts than this are made durable, so that all sets of them can be tried.
const MOST_NAMES: usize = 9;
const MOST_EDITS: usize = 6;

pub struct Driver {
    pub pending: Pending,
    /// Others that are told the same; then no content is given back.
    pub twins: Vec<Pending>,
    pub history: History,
    pub store: Store,
    live: World,
    next: Ino,
    /// What is not needed any more, by what the plug says.
    pub free: Vec<Ino>,
    /// Numbers that keep what was cut off.
    pub copies: Vec<Ino>,
    begun: (ChangeMark, usize),
    /// The moment before the last change.
    last: ChangeMark,
    pub promises: Promises,
    flaw: Option<Flaw>,
    held_back: Option<(Ino, u64, u64, u64, Vec<u8>)>,
}

/// Of things of this user's: only root may give files to others.
pub fn attributes(mode: u32) -> FileAttributes {
    let own = std::fs::metadata("/proc/self").expect("this process runs");
    FileAttributes { mode, uid: own.uid(), gid: own.gid() }
}

fn place(step: &Step) -> EntryPlace<'_> {
    EntryPlace { dir: step.dir, name: OsStr::new(&step.name) }
}

/// What the one symbolic link of all histories points to.
pub fn target() -> NodeKind {
    NodeKind::Symlink("../there".into())
}

impl Driver {
    /// Over a tree that has something in it at mount time: `/a` with 5000 bytes, `/d/b` empty.
    pub fn new(promises: Promises, flaw: Option<Flaw>) -> Self {
        let told = match flaw {
            Some(Flaw::ReordersNames | Flaw::SyncsOutOfOrder) => Metadata::Posix,
            _ => promises.0,
        };
        let pending = Pending::new(ROOT, attributes(0o755), told).with_data(promises.1);
        Self::with_pendings(pending, Vec::new(), promises, flaw)
    }

    /// With a twin of each kind of metadata. They are recorded, too, so that changes of what one
    /// of them needs no more have a number in all.
    pub fn with_twins(metadata: Metadata) -> Self {
        let new = |metadata| {
            let mut pending = Pending::new(ROOT, attributes(0o755), metadata);
            pending.record();
            pending
        };
        let twins = Metadata::ALL.map(new).into();
        Self::with_pendings(new(metadata), twins, (metadata, DataMode::Ordered), None)
    }

    fn with_pendings(
        pending: Pending,
        twins: Vec<Pending>,
        promises: Promises,
        flaw: Option<Flaw>,
    ) -> Self {
        let begun = (pending.current_mark(), 0);
        let last = begun.0;
        let mut driver = Self {
            pending,
            twins,
            history: History::default(),
            store: Store::default(),
            live: World::new(),
            next: ROOT + 1,
            free: Vec::new(),
            copies: Vec::new(),
            begun,
            last,
            promises,
            flaw,
            held_back: None,
        };
        let a = driver.adopt(ROOT, "a", NodeKind::File);
        let bytes: Vec<u8> = (0..5000_u32).map(|n| (n % 251) as u8).collect();
        driver.did(Act::Write { ino: a, offset: 0, bytes }, Fate::Durable);
        let d = driver.adopt(ROOT, "d", NodeKind::Directory);
        driver.adopt(d, "b", NodeKind::File);
        driver
    }

    fn adopt(&mut self, dir: Ino, name: &str, kind: NodeKind) -> Ino {
        let ino = self.number();
        let step = Step { dir, name: name.to_owned(), before: None, after: Some(ino) };
        self.tell(|it| it.adopt(place(&step), ino, kind.clone(), attributes(0o755)));
        self.did(Act::Names { steps: vec![step], made: Some(kind) }, Fate::Durable);
        ino
    }

    fn tell<T>(&mut self, tell: impl Fn(&mut Pending) -> T) -> T {
        self.twins.iter_mut().for_each(|twin| drop(tell(twin)));
        tell(&mut self.pending)
    }

    fn number(&mut self) -> Ino {
        self.next += 1;
        self.next - 1
    }

    fn did(&mut self, act: Act, fate: Fate) {
        self.live.apply(&act);
        if let Some(ino) = act.edits() {
            self.store.0.insert(ino, self.live.files[&ino].clone());
        }
        if let Act::Names { steps, made: Some(NodeKind::File) } = &act {
            self.store.0.insert(steps[0].after.unwrap(), Vec::new());
        }
        self.history.acts.push((act, fate));
    }

    pub fn picture(&self) -> crate::model::Picture {
        self.live.picture()
    }

    /// The name at the end of a path.
    pub fn at(&self, path: &str) -> Entry {
        let tree = self.live.tree();
        let (dir, name) = path.rsplit_once('/').expect("a path from the root");
        (tree[dir], name.to_owned(), tree[path])
    }

    /// The files, named or not; there is always one.
    fn file(&self, choice: usize) -> Ino {
        *self.live.files.keys().nth(choice % self.live.files.len()).unwrap()
    }

    /// A directory that has a name.
    fn dir(&self, choice: usize) -> Ino {
        let dirs: Vec<Ino> =
            self.live.tree().into_values().filter(|ino| self.live.dirs.contains_key(ino)).collect();
        dirs[choice % dirs.len()]
    }

    /// A name with what it stands for.
    fn entry(&self, choice: usize) -> Option<Entry> {
        let dirs = self.live.dirs.iter();
        let entries: Vec<_> = dirs
            .flat_map(|(dir, names)| names.iter().map(|(name, ino)| (*dir, name.clone(), *ino)))
            .collect();
        (!entries.is_empty()).then(|| entries[choice % entries.len()].clone())
    }

    fn lookup(&self, dir: Ino, name: &str) -> Option<Ino> {
        self.live.dirs[&dir].get(name).copied()
    }

    /// Whether `inner` is `outer` or lies in it.
    fn lies_in(&self, inner: Ino, outer: Ino) -> bool {
        inner == outer
            || self
                .live
                .dirs
                .get(&outer)
                .is_some_and(|names| names.values().any(|entry| self.lies_in(inner, *entry)))
    }

    pub fn run(&mut self, command: &Command) {
        let name = |choice: usize| ["a", "b", "c", "d"][choice % 4].to_owned();
        match *command {
            Command::Write { file, offset, length, direct } => {
                let seed = self.history.acts.len();
                let bytes = (0..length).map(|n| (seed * 37 + n / 64 + 1) as u8).collect();
                self.write_by(self.file(file), offset, bytes, direct);
            }
            Command::Punch { file, offset, length } => self.punch(self.file(file), offset, length),
            Command::Truncate { file, size, kept } => self.truncate(self.file(file), size, kept),
            Command::Create { dir, name: n, kind } => {
                let kind = [NodeKind::File, NodeKind::File, NodeKind::Directory, target()]
                    [kind % 4]
                    .clone();
                self.create(self.dir(dir), &name(n), kind);
            }
            Command::Link { file, dir, name: n } => {
                self.link(self.file(file), self.dir(dir), &name(n));
            }
            Command::Remove { entry } => {
                if let Some(entry) = self.entry(entry) {
                    self.remove(entry);
                }
            }
            Command::Rename { entry, dir, name: n } => {
                if let Some(entry) = self.entry(entry) {
                    self.rename(entry, self.dir(dir), &name(n));
                }
            }
            Command::Exchange { a, b } => {
                if let (Some(a), Some(b)) = (self.entry(a), self.entry(b)) {
                    self.exchange(a, b);
                }
            }
            Command::Chmod { thing, mode } => {
                let things: Vec<Ino> = self.live.tree().into_values().collect();
                self.chmod(things[thing % things.len()], mode);
            }
            Command::Begin => self.begun = (self.pending.current_mark(), self.history.acts.len()),
            Command::SyncFile { file, late } => self.sync_file(self.file(file), late),
            Command::FailSync { file, late } => self.fail_sync(self.file(file), late),
            Command::SyncDir { dir, late } => self.sync_dir(self.dir(dir), late),
            Command::Commit { late, asked } => self.commit(late, asked),
            Command::Expire { file, late } => self.expire(self.file(file), late),
        }
        if self.history.pending(|act| !act.steps().is_empty()).len() > MOST_NAMES {
            self.commit(false, true);
        }
        let files: Vec<Ino> = self.live.files.keys().copied().collect();
        for ino in files {
            if self.history.pending(|act| act.edits() == Some(ino)).len() > MOST_EDITS {
                self.expire(ino, false);
            }
        }
    }

    pub fn write(&mut self, ino: Ino, offset: usize, bytes: Vec<u8>) {
        self.write_by(ino, offset, bytes, false);
    }

    /// A direct write is durable at once if nothing of the file is pending.
    fn write_by(&mut self, ino: Ino, offset: usize, bytes: Vec<u8>, direct: bool) {
        let from = self.pending.current_mark();
        self.last = from;
        let file = &self.live.files[&ino];
        let size = file.len() as u64;
        let end = (offset + bytes.len()).min(file.len());
        let old = file.get(offset..end).unwrap_or_default();
        let old = if self.flaw == Some(Flaw::ForgetsOld) { Vec::new() } else { old.to_vec() };
        let (at, length) = (offset as u64, bytes.len() as u64);
        if self.flaw == Some(Flaw::SwapsWrites) && self.held_back.is_none() {
            self.held_back = Some((ino, at, length, size, old));
        } else {
            self.tell(|it| it.write(ino, at, length, size, Before::Bytes(&old)));
            self.tell_held_back();
        }
        let mut earlier = self.history.acts.iter().filter(|(act, _)| act.edits() == Some(ino));
        // What a failed sync lost may be mended in part.
        let is_known = self.flaw.is_none() && earlier.clone().all(|it| it.1 != Fate::Lost);
        let clean = earlier.all(|(_, fate)| *fate == Fate::Durable);
        let act = Act::Write { ino, offset, bytes };
        if direct && is_known {
            let to = self.pending.current_mark();
            let free = self.tell(|it| it.note_direct_write(ino, from, to));
            self.did(act, if clean { Fate::Durable } else { Fate::Pending });
            self.give_back(&free);
        } else {
            self.did(act, Fate::Pending);
        }
    }

    fn tell_held_back(&mut self) {
        if let Some((ino, offset, length, size, old)) = self.held_back.take() {
            self.tell(|it| it.write(ino, offset, length, size, Before::Bytes(&old)));
        }
    }

    pub fn punch(&mut self, ino: Ino, offset: usize, length: usize) {
        let file = &self.live.files[&ino];
        let end = (offset + length).min(file.len());
        if offset < end {
            self.last = self.pending.current_mark();
            let (before, size) = (file[offset..end].to_vec(), file.len() as u64);
            self.tell(|it| {
                it.punch_hole(ino, offset as u64, length as u64, size, Before::Bytes(&before));
            });
            self.did(Act::Write { ino, offset, bytes: vec![0; end - offset] }, Fate::Pending);
        }
    }

    pub fn truncate(&mut self, ino: Ino, new: usize, kept: bool) {
        let file = self.live.files[&ino].clone();
        let old = file.len();
        if old == new {
            return;
        }
        self.last = self.pending.current_mark();
        if kept && self.pending.needs_content(ino) {
            let copy = self.number();
            self.copies.push(copy);
            self.store.0.insert(copy, file);
            self.tell(|it| it.truncate(ino, old as u64, new as u64, Before::Kept(copy)));
        } else {
            let cut_off = file.get(new..).unwrap_or_default();
            self.tell(|it| it.truncate(ino, old as u64, new as u64, Before::Bytes(cut_off)));
        }
        self.did(Act::Truncate { ino, old, new }, Fate::Pending);
    }

    pub fn create(&mut self, dir: Ino, name: &str, kind: NodeKind) -> Option<Ino> {
        if self.lookup(dir, name).is_some() {
            return None;
        }
        self.last = self.pending.current_mark();
        let ino = self.number();
        let step = Step { dir, name: name.to_owned(), before: None, after: Some(ino) };
        self.tell(|it| it.create(place(&step), ino, kind.clone(), attributes(0o755)));
        self.did(Act::Names { steps: vec![step], made: Some(kind) }, Fate::Pending);
        Some(ino)
    }

    pub fn link(&mut self, ino: Ino, dir: Ino, name: &str) {
        let named = self.live.tree().values().any(|named| *named == ino);
        if named && self.lookup(dir, name).is_none() {
            self.last = self.pending.current_mark();
            let step = Step { dir, name: name.to_owned(), before: None, after: Some(ino) };
            self.tell(|it| it.link(place(&step), ino));
            self.did(Act::Names { steps: vec![step], made: None }, Fate::Pending);
        }
    }

    pub fn remove(&mut self, (dir, name, ino): Entry) {
        if self.live.dirs.get(&ino).is_none_or(BTreeMap::is_empty) {
            self.last = self.pending.current_mark();
            let step = Step { dir, name, before: Some(ino), after: None };
            self.tell(|it| it.remove(place(&step), ino));
            self.did(Act::Names { steps: vec![step], made: None }, Fate::Pending);
        }
    }

    pub fn rename(&mut self, (from, old_name, ino): Entry, dir: Ino, name: &str) {
        let replaced = self.lookup(dir, name);
        let is_dir = self.live.dirs.contains_key(&ino);
        let fits = replaced.is_none_or(|r| {
            self.live.dirs.contains_key(&r) == is_dir
                && self.live.dirs.get(&r).is_none_or(BTreeMap::is_empty)
        });
        if !fits || replaced == Some(ino) || self.lies_in(dir, ino) {
            return;
        }
        let steps = vec![
            Step { dir: from, name: old_name, before: Some(ino), after: None },
            Step { dir, name: name.to_owned(), before: replaced, after: Some(ino) },
        ];
        self.last = self.pending.current_mark();
        match self.flaw {
            Some(Flaw::MissesRenames) => {}
            Some(Flaw::RenamesInTwo) if replaced.is_none() => {
                self.pending.link(place(&steps[1]), ino);
                self.pending.remove(place(&steps[0]), ino);
            }
            _ => self.tell(|it| it.rename(place(&steps[0]), place(&steps[1]), ino, replaced)),
        }
        self.did(Act::Names { steps, made: None }, Fate::Pending);
    }

    pub fn exchange(&mut self, a: Entry, b: Entry) {
        if a.2 == b.2 || self.lies_in(a.0, b.2) || self.lies_in(b.0, a.2) {
            return;
        }
        let steps = vec![
            Step { dir: a.0, name: a.1, before: Some(a.2), after: Some(b.2) },
            Step { dir: b.0, name: b.1, before: Some(b.2), after: Some(a.2) },
        ];
        self.last = self.pending.current_mark();
        self.tell(|it| it.exchange(place(&steps[0]), place(&steps[1]), a.2, b.2));
        self.did(Act::Names { steps, made: None }, Fate::Pending);
    }

    pub fn chmod(&mut self, ino: Ino, mode: u32) {
        self.last = self.pending.current_mark();
        if self.flaw != Some(Flaw::MissesModes) {
            self.tell(|it| it.set_attributes(ino, attributes(mode)));
        }
        self.did(Act::Mode { ino, mode }, Fate::Pending);
    }

    /// From when a sync counts: for `Pending` and for the model.
    fn mark(&mut self, late: bool) -> (ChangeMark, usize) {
        let now = (self.pending.current_mark(), self.history.acts.len());
        let right = if late { self.begun } else { now };
        match self.flaw {
            Some(Flaw::SyncsTooMuch) => (now.0, right.1),
            Some(Flaw::SyncsTooLittle) if !late => (self.last, right.1),
            _ => right,
        }
    }

    pub fn sync_file(&mut self, ino: Ino, late: bool) {
        let (mark, before) = self.mark(late);
        let free = match self.flaw {
            Some(Flaw::ReordersNames) => self.pending.expire(ino, mark),
            _ => self.tell(|it| it.sync_file(ino, mark)),
        };
        self.history.sync_bytes(ino, before);
        if self.promises.0 == Metadata::Posix {
            self.history.sync_names(before, |act| act.is_of(ino));
        }
        self.give_back(&free);
    }

    pub fn fail_sync(&mut self, ino: Ino, late: bool) {
        let (mark, before) = self.mark(late);
        if self.flaw != Some(Flaw::ForgivesFailures) {
            self.tell(|it| it.fail_sync(ino, mark));
        }
        self.history.fail_sync(ino, before);
    }

    pub fn sync_dir(&mut self, dir: Ino, late: bool) {
        let (mark, before) = self.mark(late);
        let free = match self.flaw {
            Some(Flaw::ReordersNames) => Vec::new(),
            _ => self.tell(|it| it.sync_dir(dir, mark)),
        };
        if self.promises.0 == Metadata::Posix {
            self.history.sync_names(before, |act| {
                act.is_of(dir) || act.steps().iter().any(|step| step.dir == dir)
            });
        }
        self.give_back(&free);
    }

    /// Where somebody asked for it, it makes names durable on any file system.
    pub fn commit(&mut self, late: bool, asked: bool) {
        let (mark, before) = self.mark(late);
        let mut free = match self.flaw {
            Some(Flaw::MissesCommits) => Vec::new(),
            _ if asked => self.tell(|it| it.commit_names(mark)),
            _ => self.tell(|it| it.commit_journal(mark)),
        };
        if self.flaw == Some(Flaw::CommitsBytes) {
            for ino in self.live.files.keys() {
                free.extend(self.pending.expire(*ino, mark));
            }
        }
        if asked || self.promises.0 == Metadata::Ordered {
            self.history.sync_names(before, |_| true);
        }
        if !asked && self.promises.1 == DataMode::Journal {
            for ino in self.live.files.keys() {
                self.history.sync_bytes(*ino, before);
            }
        }
        self.give_back(&free);
    }

    pub fn expire(&mut self, ino: Ino, late: bool) {
        let (mark, before) = self.mark(late);
        let free = self.tell(|it| it.expire(ino, mark));
        self.history.sync_bytes(ino, before);
        self.give_back(&free);
    }

    /// What is no longer needed is no longer there.
    fn give_back(&mut self, free: &[Ino]) {
        self.free.extend(free);
        if self.twins.is_empty() {
            self.store.0.retain(|ino, _| !free.contains(ino));
        }
    }

    /// Makes everything durable but for what failed syncs lost.
    pub fn settle(&mut self) {
        self.tell_held_back();
        let free = self.tell(|pending| pending.settle(pending.current_mark()));
        self.history.settle();
        self.give_back(&free);
    }
}
