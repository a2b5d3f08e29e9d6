//! The engine `logstore`: a small log-structured store. Every commit is one record at the end of a
//! log; live data are also in memory. Draining writes the log anew.
//!
//! Replace it by your engine. Tables, indexes and statements are bakeoff's layer over an ordered
//! key-value store ([`bakeoff::engines::kv`]); this file has the store and its promises.

mod log;
mod memory;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use bakeoff::engines::kv::{self, Visit};
use bakeoff::engines::{
    Database, Durability, Engine, EngineDescription, EngineHome, EngineOption, EngineOptions,
    OpenTerms, Promise, Result, Runs, Schema, Statement,
};
use bakeoff::factor::Declared;

use log::{KeyChange, RecordLog};
use memory::{MemorySnapshot, VersionedMemory};

pub struct LogStore {
    /// A level: the name, perhaps with options.
    name: &'static str,
    /// Keys that a scan copies at once.
    batch: usize,
}

pub static LOG_STORE: LogStore = LogStore { name: "logstore", batch: 64 };

/// An option: `logstore/batch=1`, or the factor `batch` of an experiment.
static BATCH: Declared = Declared {
    name: "batch",
    summary: "keys that a scan takes out of memory at once",
    syntax: "1 to 4096",
    default: "64",
    canonical: &|text| match text.parse::<usize>() {
        Ok(keys @ 1..=4096) => Ok(keys.to_string()),
        _ => Err(format!("`{text}` is no size of a batch\nvalid: 1 to 4096 keys")),
    },
};

/// How often `relaxed` syncs the log.
const SYNC_EVERY: Duration = Duration::from_secs(1);

impl Engine for LogStore {
    fn about(&self) -> EngineDescription {
        EngineDescription {
            name: self.name,
            summary: "a small log-structured store, as an example",
            promises: [
                Promise::new(Durability::None, "no sync", "commits are in the system's buffers"),
                Promise::new(
                    Durability::Relaxed,
                    "fdatasync every second",
                    "a power cut costs what was committed since the last sync; records have \
                     checksums and are recovered in order",
                )
                .within(SYNC_EVERY),
                Promise::new(
                    Durability::Strict,
                    "fdatasync at every commit",
                    "the log is synced before a commit returns",
                ),
            ],
            home: EngineHome::Process,
            stores: true,
            rolls_back: true,
            packages: &[],
        }
    }

    fn version(&self) -> String {
        env!("CARGO_PKG_VERSION").into()
    }

    fn statement_check(&self) -> Option<Runs> {
        Some(kv::check_statement)
    }

    fn options(&self) -> Vec<EngineOption> {
        vec![EngineOption { factor: &BATCH, trust: None }]
    }

    fn with(
        &self,
        name: &'static str,
        options: &EngineOptions,
    ) -> std::result::Result<Box<dyn Engine>, String> {
        let batch = options.get(BATCH.name).map_or(Ok(self.batch), |text| text.parse());
        Ok(Box::new(Self { name, batch: batch.expect("a canonical value") }))
    }

    fn open(
        &self,
        directory: &Path,
        terms: &OpenTerms,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Box<dyn Database>> {
        let memory = VersionedMemory::new(kv::list_spaces(schema).len());
        let log = RecordLog::open(directory, |changes| memory.apply_commit(changes))?;
        let log = Arc::new(Mutex::new(log));
        let relaxed = terms.durability == Durability::Relaxed;
        let syncer = relaxed.then(|| LogSyncer::start(Arc::clone(&log))).transpose()?;
        let strict = terms.durability == Durability::Strict;
        let store = OpenLogStore { memory, log, strict, batch: self.batch, _syncer: syncer };
        kv::open_tables(directory, store, schema, statements)
    }
}

struct OpenLogStore {
    memory: VersionedMemory,
    /// The holder of the lock may write: one writing transaction at a time.
    log: Arc<Mutex<RecordLog>>,
    strict: bool,
    batch: usize,
    _syncer: Option<LogSyncer>,
}

impl OpenLogStore {
    fn lock_log(&self) -> MutexGuard<'_, RecordLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl kv::KeyValueStore for OpenLogStore {
    type Read<'s> = LogStoreRead<'s>;
    type Write<'s> = LogStoreWrite<'s>;
    type Bulk<'s> = LogStoreBulk<'s>;

    fn read(&self) -> Result<LogStoreRead<'_>> {
        Ok(LogStoreRead { snapshot: self.memory.take_snapshot(), batch: self.batch })
    }

    fn write(&self) -> Result<LogStoreWrite<'_>> {
        let log = self.lock_log();
        Ok(LogStoreWrite {
            log,
            snapshot: self.memory.take_snapshot(),
            store: self,
            changes: Vec::new(),
        })
    }

    fn bulk_load(&self) -> Result<LogStoreBulk<'_>> {
        Ok(LogStoreBulk { log: self.lock_log(), store: self, changes: Vec::new() })
    }

    fn drain(&self) -> Result<()> {
        let mut log = self.lock_log();
        let live = self.memory.take_snapshot();
        Ok(log.rewrite(live.list_all())?)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("rewrites", self.lock_log().rewrites)]
    }

    fn writes_back(&self) -> &'static [&'static str] {
        &["rewrites"]
    }
}

struct LogStoreRead<'s> {
    snapshot: MemorySnapshot<'s>,
    batch: usize,
}

impl kv::ReadTransaction for LogStoreRead<'_> {
    type Bytes<'t>
        = Arc<[u8]>
    where
        Self: 't;

    fn get(&self, space: usize, key: &[u8]) -> Result<Option<Arc<[u8]>>> {
        Ok(self.snapshot.get(space, key))
    }

    fn scan(
        &self,
        space: usize,
        from: &[u8],
        to: &[u8],
        reverse: bool,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        scan_batches((&self.snapshot, self.batch), space, (from, to), reverse, visit)
    }
}

/// Its changes are in memory for it alone, without a commit number yet.
struct LogStoreWrite<'s> {
    log: MutexGuard<'s, RecordLog>,
    snapshot: MemorySnapshot<'s>,
    store: &'s OpenLogStore,
    changes: Vec<KeyChange>,
}

impl kv::ReadTransaction for LogStoreWrite<'_> {
    type Bytes<'t>
        = Arc<[u8]>
    where
        Self: 't;

    fn get(&self, space: usize, key: &[u8]) -> Result<Option<Arc<[u8]>>> {
        Ok(self.snapshot.get(space, key))
    }

    fn scan(
        &self,
        space: usize,
        from: &[u8],
        to: &[u8],
        reverse: bool,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        scan_batches((&self.snapshot, self.store.batch), space, (from, to), reverse, visit)
    }
}

impl LogStoreWrite<'_> {
    fn change_key(&mut self, space: usize, key: &[u8], value: Option<&[u8]>) {
        let change = KeyChange { space, key: key.into(), value: value.map(Into::into) };
        self.snapshot.overlay_change(&change);
        self.changes.push(change);
    }
}

impl kv::WriteTransaction for LogStoreWrite<'_> {
    fn put(&mut self, space: usize, key: &[u8], value: &[u8]) -> Result<()> {
        self.change_key(space, key, Some(value));
        Ok(())
    }

    fn delete(&mut self, space: usize, key: &[u8]) -> Result<()> {
        self.change_key(space, key, None);
        Ok(())
    }

    fn commit(mut self) -> Result<()> {
        self.log.append_record(&self.changes, self.store.strict)?;
        self.store.memory.apply_commit(self.changes);
        Ok(())
    }
}

struct LogStoreBulk<'s> {
    log: MutexGuard<'s, RecordLog>,
    store: &'s OpenLogStore,
    changes: Vec<KeyChange>,
}

const RECORD: usize = 1000;

impl LogStoreBulk<'_> {
    fn flush(&mut self) -> Result<()> {
        let changes = std::mem::take(&mut self.changes);
        self.log.append_record(&changes, false)?;
        self.store.memory.apply_commit(changes);
        Ok(())
    }
}

impl kv::BulkWriter for LogStoreBulk<'_> {
    fn append(&mut self, space: usize, key: &[u8], value: &[u8]) -> Result<()> {
        self.changes.push(KeyChange { space, key: key.into(), value: Some(value.into()) });
        if self.changes.len() < RECORD { Ok(()) } else { self.flush() }
    }

    fn finish(mut self) -> Result<()> {
        self.flush()?;
        if self.store.strict {
            self.log.sync()?;
        }
        Ok(())
    }
}

/// Copies batch by batch, so that nothing is locked while the visitor looks.
fn scan_batches(
    (snapshot, keys): (&MemorySnapshot<'_>, usize),
    space: usize,
    (from, to): (&[u8], &[u8]),
    reverse: bool,
    visit: &mut Visit<'_>,
) -> Result<()> {
    let (mut from, mut to) = (from.to_vec(), to.to_vec());
    loop {
        let batch = snapshot.read_range(space, &from, &to, reverse, keys);
        for (key, value) in &batch {
            if visit(key, value)? == ControlFlow::Break(()) {
                return Ok(());
            }
        }
        match batch.last() {
            Some((last, _)) if batch.len() == keys => match reverse {
                true => to = last.to_vec(),
                // The first key behind the last.
                false => from = [last, &[0][..]].concat(),
            },
            _ => return Ok(()),
        }
    }
}

/// Syncs the log every second until it is dropped.
struct LogSyncer {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl LogSyncer {
    fn start(log: Arc<Mutex<RecordLog>>) -> Result<Self> {
        let (stop, stopped) = channel();
        let run = move || {
            while stopped
                .recv_timeout(SYNC_EVERY)
                .is_err_and(|error| error == std::sync::mpsc::RecvTimeoutError::Timeout)
            {
                let file = log.lock().unwrap_or_else(PoisonError::into_inner).clone_file();
                // Outside the lock, so that no commit waits. The next commit reports a failure.
                if file.and_then(|file| file.sync_data()).is_err() {
                    log.lock().unwrap_or_else(PoisonError::into_inner).broken = true;
                }
            }
        };
        let thread = std::thread::Builder::new().name("log-sync".into()).spawn(run)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for LogSyncer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
