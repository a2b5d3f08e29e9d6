//! A small store, and the same with one fault each.
//!
//! `base` holds everything as it was at some commit, `log` what came after; every few commits a new
//! base takes the old one's place. Both are made of records: a length, and packed a generation and changes.
//! A log's records count while they are whole and of their base's generation.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::ops::{Bound, ControlFlow, Range};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use bakeoff_engines::kv::{self, Visit};
use bakeoff_engines::null::NullEngine;
use bakeoff_engines::{
    Database, Debt, DebtTurn, Durability, Engine, EngineDescription, Error, OpenTerms,
    PaymentSignature, Promise, Result, Runs, Schema, Statement,
};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::Serialize;

/// A base is written every so many commits.
const EVERY: u64 = 3;
/// The same where that is a checkpoint that few cuts meet by chance.
const SELDOM: u64 = 150;
/// The syncs of a checkpoint.
static SIGNATURES: [PaymentSignature; 1] = [PaymentSignature::syncs("checkpoint", &["base*"])];
/// How long nothing holds what a hasty recovery has read.
const HASTE: Duration = Duration::from_millis(20);
/// After which bases a rare gap is open.
const RARE: Range<u64> = 10..13;
/// Bytes before a record: its length.
const HEAD: usize = 4;

/// What is wrong with a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// Nothing is ever synced.
    NoSync,
    /// The log is synced before it is written, not after.
    SyncBeforeWrite,
    /// The folder is not synced after a new base has taken its name.
    NoFolderSync,
    /// A commit is answered before it is written, which the next one does.
    AnsweredEarly,
    /// Indexes have a log of their own, which is written and synced before that of the rows.
    IndexFirst,
    /// The log has rows alone: entries of indexes are written with the next base.
    IndexSkipped,
    /// A transaction is written and synced as two, one after the other.
    InHalves,
    /// The log is thrown away before what was recovered from it is durable.
    HastyRecovery,
    /// What a power cut has left is never opened.
    NeverReady,
    /// What a power cut has left is not opened the first time, and is when the same is tried again.
    ReadyAtLast,
    /// Three times, the log is thrown away before the new base has its name for good: inside that sync
    /// of the folder, and then only, a cut may leave the old base without its log.
    RareGap,
    /// A new base, which is written seldom, takes its name before it is synced.
    LateSync,
}

/// A store, sound or with one fault.
pub struct Store {
    pub name: &'static str,
    pub fault: Fault,
}

/// Each of them.
pub static ALL: [Store; 13] = [
    Store { name: "sound", fault: Fault::None },
    Store { name: "no-sync", fault: Fault::NoSync },
    Store { name: "sync-before-write", fault: Fault::SyncBeforeWrite },
    Store { name: "no-folder-sync", fault: Fault::NoFolderSync },
    Store { name: "answered-early", fault: Fault::AnsweredEarly },
    Store { name: "index-first", fault: Fault::IndexFirst },
    Store { name: "index-skipped", fault: Fault::IndexSkipped },
    Store { name: "in-halves", fault: Fault::InHalves },
    Store { name: "hasty-recovery", fault: Fault::HastyRecovery },
    Store { name: "never-ready", fault: Fault::NeverReady },
    Store { name: "ready-at-last", fault: Fault::ReadyAtLast },
    Store { name: "rare-gap", fault: Fault::RareGap },
    Store { name: "late-sync", fault: Fault::LateSync },
];

/// The store with a fault.
pub fn with(fault: Fault) -> &'static Store {
    ALL.iter().find(|store| store.fault == fault).expect("there is one of each")
}

impl Engine for Store {
    fn signatures(&self) -> &'static [PaymentSignature] {
        if self.fault == Fault::LateSync { &SIGNATURES } else { &[] }
    }

    fn about(&self) -> EngineDescription {
        let promise = |durability| Promise::new(durability, "none: it has one way", "this file");
        let promises = Durability::ALL.map(promise);
        EngineDescription { name: self.name, promises, stores: true, ..NullEngine.about() }
    }

    fn version(&self) -> String {
        "1".into()
    }

    fn statement_check(&self) -> Option<Runs> {
        Some(kv::check_statement)
    }

    fn open(
        &self,
        directory: &Path,
        _: &OpenTerms,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Box<dyn Database>> {
        let folder = directory.parent().map(|it| it.to_string_lossy()).unwrap_or_default();
        let is_image = folder.contains("bakeoff-images-") || folder.ends_with("every/images");
        if self.fault == Fault::NeverReady && (directory.ends_with("recovered") || is_image) {
            std::thread::sleep(Duration::from_secs(3600));
        }
        if self.fault == Fault::ReadyAtLast
            && directory.ends_with("recovered")
            && File::create_new(directory.with_file_name("tried")).is_ok()
        {
            return Err(damaged("the machine"));
        }
        let names = kv::list_spaces(schema);
        let is_index = names.iter().map(|name| name.starts_with("index.")).collect();
        let mut files = Files::open(directory, self.fault, is_index)?;
        let state = RwLock::new(Arc::new(files.read()?));
        kv::open_tables(directory, Open { files: Mutex::new(files), state }, schema, statements)
    }
}

type Key = (usize, Vec<u8>);
type State = BTreeMap<Key, Vec<u8>>;
/// Changes in their order; `None` removes.
type Changes = Vec<(Key, Option<Vec<u8>>)>;

/// What a store has on disk.
struct Files {
    folder: PathBuf,
    fault: Fault,
    /// Whether a space is an index's.
    is_index: Vec<bool>,
    /// The logs of rows and, with [`Fault::IndexFirst`], of indexes, each with its end.
    logs: [(File, u64); 2],
    generation: u64,
    /// Bases since it was opened.
    written: u64,
    /// Commits since the base was written.
    since: u64,
    /// Answered and not written: [`Fault::AnsweredEarly`].
    owed: Changes,
}

impl Files {
    fn open(folder: &Path, fault: Fault, is_index: Vec<bool>) -> Result<Self> {
        let log = |name| {
            let path = folder.join(name);
            File::options().read(true).write(true).create(true).truncate(false).open(path)
        };
        let logs = [(log("log")?, 0), (log("index")?, 0)];
        let (folder, owed) = (folder.into(), Changes::new());
        let (generation, written, since) = (0, 0, 0);
        let mut files = Self { folder, fault, is_index, logs, generation, written, since, owed };
        if !files.folder.join("base").exists() {
            files.write_base(&State::new())?;
        }
        Ok(files)
    }

    /// Everything, as the base and the logs have it. Commits go on where the logs end.
    fn read(&mut self) -> Result<State> {
        let base = fs::read(self.folder.join("base"))?;
        let (generation, changes, _) = decode(&base).ok_or_else(|| damaged("the base"))?;
        self.generation = generation;
        let mut state = State::new();
        apply(&mut state, changes);
        for (log, end) in &mut self.logs {
            let mut bytes = vec![0; log.metadata()?.len() as usize];
            log.read_exact_at(&mut bytes, 0)?;
            while let Some((_, changes, length)) =
                decode(&bytes[*end as usize..]).filter(|(of, ..)| *of == generation)
            {
                apply(&mut state, changes);
                *end += length as u64;
            }
        }
        if self.fault == Fault::HastyRecovery && self.logs[0].1 > 0 {
            self.logs[0].0.set_len(0)?;
            self.sync(&self.logs[0].0)?;
            std::thread::sleep(HASTE);
            self.write_base(&state)?;
        }
        Ok(state)
    }

    fn sync(&self, file: &File) -> Result<()> {
        if self.fault != Fault::NoSync {
            file.sync_all()?;
        }
        Ok(())
    }

    /// Makes a commit durable; `state` is what it leads to.
    fn commit(&mut self, changes: Changes, state: &State) -> Result<()> {
        let due = match self.fault {
            Fault::AnsweredEarly => std::mem::replace(&mut self.owed, changes),
            _ => changes,
        };
        self.since += 1;
        // The next sync of any file makes the new name durable, too. A base at every commit leaves
        // this fault open most of the time.
        let every = match self.fault {
            Fault::NoFolderSync => 1,
            Fault::LateSync => SELDOM,
            _ => EVERY,
        };
        // What is owed must not reach a base either.
        if self.since >= every && self.fault != Fault::AnsweredEarly {
            return self.write_base(state);
        }
        for (log, changes) in self.part_changes(due) {
            if !changes.is_empty() {
                self.append(log, &changes)?;
            }
        }
        Ok(())
    }

    /// What goes to which log, in this order.
    fn part_changes(&self, mut due: Changes) -> [(usize, Changes); 2] {
        let is_entry = |change: &(Key, Option<Vec<u8>>)| self.is_index[change.0.0];
        match self.fault {
            Fault::IndexFirst | Fault::IndexSkipped => {
                let (mut entries, rows): (Changes, Changes) = due.into_iter().partition(is_entry);
                if self.fault == Fault::IndexSkipped {
                    entries.clear();
                }
                [(1, entries), (0, rows)]
            }
            Fault::InHalves => {
                // A row and its entries, which come before it, stay together: no index is broken.
                let is_whole = |end: &usize| *end == 0 || !is_entry(&due[end - 1]);
                let half = (0..=due.len() / 2).rfind(is_whole).unwrap_or(0);
                let second = due.split_off(half);
                [(0, due), (0, second)]
            }
            _ => [(0, due), (0, Changes::new())],
        }
    }

    fn append(&mut self, log: usize, changes: &Changes) -> Result<()> {
        let bytes = encode(self.generation, changes);
        let (file, end) = &self.logs[log];
        let at_first = self.fault == Fault::SyncBeforeWrite;
        if at_first {
            self.sync(file)?;
        }
        file.write_all_at(&bytes, *end)?;
        if !at_first {
            self.sync(file)?;
        }
        self.logs[log].1 += bytes.len() as u64;
        Ok(())
    }

    fn write_base(&mut self, state: &State) -> Result<()> {
        let (new, base) = (self.folder.join("base.new"), self.folder.join("base"));
        let file = File::create(&new)?;
        let all: Vec<(&Key, Option<&Vec<u8>>)> =
            state.iter().map(|(key, it)| (key, Some(it))).collect();
        file.write_all_at(&encode(self.generation + 1, all), 0)?;
        if self.fault != Fault::LateSync {
            self.sync(&file)?;
        }
        fs::rename(new, base)?;
        if self.fault == Fault::RareGap && RARE.contains(&self.generation) {
            self.logs[0].0.set_len(0)?;
        }
        if self.fault == Fault::LateSync {
            self.sync(&file)?;
        }
        if self.fault != Fault::NoFolderSync {
            self.sync(&File::open(&self.folder)?)?;
        }
        self.generation += 1;
        self.written += 1;
        self.since = 0;
        for (log, end) in &mut self.logs {
            log.set_len(0)?;
            *end = 0;
        }
        Ok(())
    }
}

fn damaged(what: &str) -> Error {
    Error::from_engine(format!("{what} is damaged"))
}

/// A record, packed so that one that is not whole can't be unpacked.
fn encode(generation: u64, changes: impl Serialize) -> Vec<u8> {
    let mut packer = ZlibEncoder::new(vec![0; HEAD], Compression::fast());
    serde_json::to_writer(&mut packer, &(generation, changes)).expect("plain data");
    let mut record = packer.finish().expect("memory takes it");
    let length = (record.len() - HEAD) as u32;
    record[..HEAD].copy_from_slice(&length.to_le_bytes());
    record
}

/// The first record, if it is whole: generation, changes, its length.
fn decode(bytes: &[u8]) -> Option<(u64, Changes, usize)> {
    let length = u32::from_le_bytes(bytes.get(..HEAD)?.try_into().ok()?) as usize;
    let (packed, mut body) = (bytes.get(HEAD..HEAD + length)?, Vec::new());
    ZlibDecoder::new(packed).read_to_end(&mut body).ok()?;
    let (generation, changes) = serde_json::from_slice(&body).ok()?;
    Some((generation, changes, HEAD + length))
}

fn apply(state: &mut State, changes: Changes) {
    for (key, value) in changes {
        match value {
            Some(value) => drop(state.insert(key, value)),
            None => drop(state.remove(&key)),
        }
    }
}

struct Open {
    files: Mutex<Files>,
    /// What is committed. A transaction that began sees what was, then.
    state: RwLock<Arc<State>>,
}

impl Open {
    fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin<'s>(&'s self, files: Option<MutexGuard<'s, Files>>) -> Transaction<'s> {
        let state = Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner));
        Transaction { store: self, files, state, changes: Changes::new() }
    }
}

impl kv::KeyValueStore for Open {
    type Read<'s> = Transaction<'s>;
    type Write<'s> = Transaction<'s>;
    type Bulk<'s> = Transaction<'s>;

    fn read(&self) -> Result<Transaction<'_>> {
        Ok(self.begin(None))
    }

    fn write(&self) -> Result<Transaction<'_>> {
        Ok(self.begin(Some(self.files())))
    }

    fn bulk_load(&self) -> Result<Transaction<'_>> {
        self.write()
    }

    fn drain(&self) -> Result<()> {
        let mut files = self.files();
        let state = self.begin(None).state;
        files.write_base(&state)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    fn debt(&self) -> Result<Option<Debt>> {
        let turn = DebtTurn { name: "bases written", done: self.files().written, whole: 1 };
        Ok(Some(Debt { turns: vec![turn], ..Debt::default() }))
    }
}

/// One that writes holds the files, so that these follow one another.
struct Transaction<'s> {
    store: &'s Open,
    files: Option<MutexGuard<'s, Files>>,
    /// What was, and from the first change on what will be.
    state: Arc<State>,
    changes: Changes,
}

impl Transaction<'_> {
    fn change(&mut self, space: usize, key: &[u8], value: Option<&[u8]>) {
        let change = ((space, key.to_vec()), value.map(<[u8]>::to_vec));
        apply(Arc::make_mut(&mut self.state), vec![change.clone()]);
        self.changes.push(change);
    }
}

impl kv::ReadTransaction for Transaction<'_> {
    type Bytes<'t>
        = &'t [u8]
    where
        Self: 't;

    fn get(&self, space: usize, key: &[u8]) -> Result<Option<&[u8]>> {
        Ok(self.state.get(&(space, key.to_vec())).map(Vec::as_slice))
    }

    fn scan(
        &self,
        space: usize,
        from: &[u8],
        to: &[u8],
        reverse: bool,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let from = Bound::Included((space, from.to_vec()));
        let to = Bound::Excluded(match to {
            [] => (space + 1, Vec::new()),
            to => (space, to.to_vec()),
        });
        let mut found = self.state.range((from, to));
        let mut next = || if reverse { found.next_back() } else { found.next() };
        while let Some(((_, key), value)) = next() {
            if visit(key, value)? == ControlFlow::Break(()) {
                break;
            }
        }
        Ok(())
    }
}

impl kv::WriteTransaction for Transaction<'_> {
    fn put(&mut self, space: usize, key: &[u8], value: &[u8]) -> Result<()> {
        self.change(space, key, Some(value));
        Ok(())
    }

    fn delete(&mut self, space: usize, key: &[u8]) -> Result<()> {
        self.change(space, key, None);
        Ok(())
    }

    fn commit(mut self) -> Result<()> {
        self.files.as_mut().expect("it writes").commit(self.changes, &self.state)?;
        *self.store.state.write().unwrap_or_else(PoisonError::into_inner) = self.state;
        Ok(())
    }
}

impl kv::BulkWriter for Transaction<'_> {
    fn append(&mut self, space: usize, key: &[u8], value: &[u8]) -> Result<()> {
        self.change(space, key, Some(value));
        Ok(())
    }

    fn finish(self) -> Result<()> {
        kv::WriteTransaction::commit(self)
    }
}
