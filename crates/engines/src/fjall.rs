//! fjall: log-structured merge trees in Rust, with optimistic transactions.
//!
//! Clients prepare their writes in parallel. At commit, one at a time, a transaction fails with a
//! conflict if another has changed what it read. Every read of a writing transaction counts, since
//! no read of the interface sees the transaction's own writes without counting: transactions are
//! serialisable without exception.
//!
//! fjall syncs its journal inside the lock that orders commits: at `strict`, commits are synced one
//! by one. Memtables (up to 64 MiB a key space) come on top of the cache; under a memory limit they
//! are sealed sooner (`fjall/memtables.rs`).

#![allow(missing_docs)]

use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::{DEFAULT, Declared};
use fjall::config::CompressionPolicy;
use fjall::{
    CompressionType, Iter, Keyspace, KeyspaceCreateOptions, OptimisticTxDatabase,
    OptimisticWriteTx, PersistMode, Readable, Slice, Snapshot,
};

use crate::fair::MemoryShare;
use crate::kv::{self, Visit};
use crate::options::{EngineOption, EngineOptions};
use crate::{
    Database, Debt, Durability, Engine, EngineCache, EngineDescription, EngineHome, Error, Least,
    OpenTerms, PaymentSignature, Promise, Result, Runs, Schema, Setting, Statement,
};

mod debt;
mod memtables;

use memtables::Memtables;

pub struct Fjall {
    name: &'static str,
    compression: Option<CompressionType>,
}

impl Fjall {
    pub const USUAL: Self = Self { name: "fjall", compression: None };
}

const COMPRESSION: EngineOption = EngineOption {
    factor: &Declared {
        name: "compression",
        summary: "how the blocks of all levels of fjall are compressed: data_block_compression_policy; \
                  none in the levels 0 and 1 and LZ4 below by itself",
        syntax: "none or lz4",
        default: DEFAULT,
        canonical: &|text| match parse_compression(text) {
            Some(_) => Ok(text.to_owned()),
            None => {
                Err(format!("`{text}` is not a compression of fjall's blocks\nvalid: none, lz4"))
            }
        },
    },
    trust: None,
};

fn parse_compression(name: &str) -> Option<CompressionType> {
    match name {
        "none" => Some(CompressionType::None),
        "lz4" => Some(CompressionType::Lz4),
        _ => None,
    }
}

/// fjall doesn't tell its version; a test compares this with the lock file.
const VERSION: &str = "3.1.13";

/// `text-oltp` at scale `large`, 4 clients, updates: 32 MiB were enough; the kernel killed it in
/// 24, 20, 16 and 12 (Debian 12, cgroups v1). 16 were enough to read.
const LEAST: Least = Least { engine_mib: 32, client_kib: 1024 };

const SYNC_EVERY: Duration = Duration::from_secs(1);

/// Only flushes and compactions write tables; each journal is written once from its start.
static SIGNATURES: [PaymentSignature; 2] = [
    PaymentSignature::writes("flush or compaction", &["*/tables/*"]),
    PaymentSignature::headers("turn of the log", 1, &["*.jnl"]),
];

impl Engine for Fjall {
    fn signatures(&self) -> &'static [PaymentSignature] {
        &SIGNATURES
    }

    fn about(&self) -> EngineDescription {
        EngineDescription {
            name: self.name,
            summary: "fjall: log-structured merge trees in Rust, optimistic transactions",
            promises: [
                Promise::new(
                    Durability::None,
                    "PersistMode::Buffer at every commit",
                    "commits go to the system's buffers, and to the disk when a memtable \
                             is flushed; nothing is promised after a power cut (docs.rs/fjall, \
                             PersistMode)",
                ),
                Promise::new(
                    Durability::Relaxed,
                    "PersistMode::Buffer at every commit, SyncData every second",
                    "as none, and a thread syncs the journal every second, so a power cut \
                             costs what was committed since; the journal's batches are \
                             checksummed and recovered in order (docs.rs/fjall, PersistMode and \
                             Database::persist)",
                )
                .within(Duration::from_secs(1)),
                Promise::new(
                    Durability::Strict,
                    "PersistMode::SyncData at every commit",
                    "the journal is synced with fdatasync before a commit returns \
                             (docs.rs/fjall, PersistMode); fdatasync writes all that is needed \
                             to read the data again (fdatasync(2))",
                ),
            ],
            home: EngineHome::Process,
            stores: true,
            rolls_back: true,
            packages: &[],
        }
    }

    fn version(&self) -> String {
        VERSION.into()
    }

    fn statement_check(&self) -> Option<Runs> {
        Some(kv::check_statement)
    }

    fn options(&self) -> Vec<EngineOption> {
        vec![COMPRESSION]
    }

    fn with(
        &self,
        name: &'static str,
        options: &EngineOptions,
    ) -> std::result::Result<Box<dyn Engine>, String> {
        let given = options.get(COMPRESSION.factor.name);
        Ok(Box::new(Self { name, compression: given.and_then(|name| parse_compression(name)) }))
    }

    fn settings(&self, terms: &OpenTerms) -> Vec<Setting> {
        let mut settings = list_settings(terms);
        settings.extend(self.compression.map(|all| {
            let policy = format!("{all:?} in all levels");
            Setting::new("data_block_compression_policy", policy, "the level says so")
        }));
        settings
    }

    fn cache(&self, terms: &OpenTerms) -> Option<EngineCache> {
        Some(CACHE.to_cache("cache_size", terms))
    }

    fn least_memory(&self, _: u64, _: u64) -> Option<Least> {
        self.compression.is_none().then_some(LEAST)
    }

    fn is_log(&self, file: &Path) -> bool {
        file.extension().is_some_and(|extension| extension == "jnl")
    }

    fn open(
        &self,
        directory: &Path,
        terms: &OpenTerms,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Box<dyn Database>> {
        let database = OptimisticTxDatabase::builder(directory)
            .cache_size(CACHE.cache_bytes(terms))
            .open()
            .map_err(Error::from_engine)?;
        let open_space = |name: &String| {
            let options = || {
                let options =
                    KeyspaceCreateOptions::default().max_memtable_size(memtables::AS_IT_COMES);
                match self.compression {
                    None => options,
                    Some(all) => options.data_block_compression_policy(CompressionPolicy::all(all)),
                }
            };
            let space = database.keyspace(name, options);
            space.map(|space| space.inner().clone()).map_err(Error::from_engine)
        };
        let spaces = kv::list_spaces(schema).iter().map(open_space).collect::<Result<Vec<_>>>()?;
        let relaxed = terms.durability == Durability::Relaxed;
        let syncer = relaxed.then(|| JournalSyncer::start_syncing(database.clone())).transpose()?;
        let commit = match terms.durability {
            Durability::None | Durability::Relaxed => PersistMode::Buffer,
            Durability::Strict => PersistMode::SyncData,
        };
        let memtables = Memtables::from_terms(terms);
        let since = debt::FjallDebtState::from_spaces(&spaces, memtables.seal_at);
        let store = FjallStore { _syncer: syncer, spaces, database, commit, memtables, since };
        kv::open_tables(directory, store, schema, statements)
    }
}

const CACHE: MemoryShare = MemoryShare::from_percent(
    25,
    "25 % of a memory limit, within the 20 to 25 % that its documentation advises: it reads through \
     the system's page cache, which has the rest",
);

fn list_settings(terms: &OpenTerms) -> Vec<Setting> {
    let mut settings =
        vec![Setting::new("cache_size", CACHE.cache_bytes(terms), CACHE.explain_size(terms))];
    settings.extend(Memtables::from_terms(terms).setting());
    let mut durable = |name, value| settings.push(Setting::for_level(name, value));
    match terms.durability {
        Durability::None => {}
        Durability::Relaxed => durable("persist(SyncData)", "every second"),
        Durability::Strict => durable("durability of a transaction", "SyncData"),
    }
    settings
}

struct JournalSyncer {
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl JournalSyncer {
    fn start_syncing(database: OptimisticTxDatabase) -> Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let run = move || {
            while stopped.recv_timeout(SYNC_EVERY) == Err(RecvTimeoutError::Timeout) {
                // After a failed sync fjall refuses every commit, so the clients will hear of it.
                if database.persist(PersistMode::SyncData).is_err() {
                    break;
                }
            }
        };
        let thread = thread::Builder::new().name("fjall-sync".into()).spawn(run)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for JournalSyncer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // The thread can't panic, and there is no caller to report to.
            let _ = thread.join();
        }
    }
}

struct FjallStore {
    /// Dropped first: it holds the database.
    _syncer: Option<JournalSyncer>,
    spaces: Vec<Keyspace>,
    database: OptimisticTxDatabase,
    commit: PersistMode,
    memtables: Memtables,
    since: debt::FjallDebtState,
}

impl FjallStore {
    fn wrap<T>(&self, transaction: T) -> FjallTransaction<'_, T> {
        let (spaces, memtables) = (&self.spaces, &self.memtables);
        FjallTransaction { transaction, spaces, memtables, written: Vec::new() }
    }
}

impl kv::KeyValueStore for FjallStore {
    type Read<'s> = FjallTransaction<'s, Snapshot>;
    type Write<'s> = FjallTransaction<'s, OptimisticWriteTx>;
    type Bulk<'s> = FjallBulkWriter<'s>;

    fn read(&self) -> Result<Self::Read<'_>> {
        Ok(self.wrap(self.database.read_tx()))
    }

    fn write(&self) -> Result<Self::Write<'_>> {
        let transaction = self.database.write_tx().map_err(Error::from_engine)?;
        Ok(self.wrap(transaction.durability(Some(self.commit))))
    }

    fn bulk_load(&self) -> Result<FjallBulkWriter<'_>> {
        Ok(FjallBulkWriter { spaces: &self.spaces, current: None })
    }

    fn drain(&self) -> Result<()> {
        self.database.persist(PersistMode::SyncAll).map_err(Error::from_engine)?;
        for space in &self.spaces {
            space.rotate_memtable_and_wait().map_err(Error::from_engine)?;
        }
        // A worker takes a moment to begin, and its queue can't be seen: wait until nothing has run
        // or ended for a while.
        let database = self.database.inner();
        let state = || (database.active_compactions(), database.compactions_completed());
        let (mut calm, mut before) = (0, state());
        while calm < 5 {
            thread::sleep(Duration::from_millis(10));
            let now = state();
            let still = now == before && now.0 == 0 && database.outstanding_flushes() == 0;
            calm = if still { calm + 1 } else { 0 };
            before = now;
        }
        Ok(())
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let database = self.database.inner();
        vec![
            ("compactions", database.compactions_completed() as u64),
            ("compaction microseconds", database.time_compacting().as_micros() as u64),
            ("tables", self.spaces.iter().map(|space| space.as_ref().table_count() as u64).sum()),
        ]
    }

    fn debt(&self) -> Result<Option<Debt>> {
        Ok(Some(self.since.measure_debt(&self.database, &self.spaces)))
    }

    fn writes_back(&self) -> &'static [&'static str] {
        &["compactions", "tables"]
    }
}

struct FjallTransaction<'s, T> {
    transaction: T,
    spaces: &'s [Keyspace],
    memtables: &'s Memtables,
    /// The key spaces written to, once per write, if memtables are limited.
    written: Vec<usize>,
}

impl FjallTransaction<'_, OptimisticWriteTx> {
    fn note_write(&mut self, space: usize) {
        if self.memtables.are_limited() {
            self.written.push(space);
        }
    }
}

impl<T: Readable> kv::ReadTransaction for FjallTransaction<'_, T> {
    type Bytes<'t>
        = Slice
    where
        Self: 't;

    fn get(&self, space: usize, key: &[u8]) -> Result<Option<Slice>> {
        self.transaction.get(&self.spaces[space], key).map_err(Error::from_engine)
    }

    fn scan(
        &self,
        space: usize,
        from: &[u8],
        to: &[u8],
        reverse: bool,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        visit_all(
            self.transaction.range::<&[u8], _>(&self.spaces[space], key_bounds(from, to)),
            reverse,
            visit,
        )
    }
}

fn key_bounds<'b>(from: &'b [u8], to: &'b [u8]) -> (Bound<&'b [u8]>, Bound<&'b [u8]>) {
    (Bound::Included(from), if to.is_empty() { Bound::Unbounded } else { Bound::Excluded(to) })
}

fn visit_all(mut pairs: Iter, reverse: bool, visit: &mut Visit<'_>) -> Result<()> {
    while let Some(pair) = if reverse { pairs.next_back() } else { pairs.next() } {
        let (key, value) = pair.into_inner().map_err(Error::from_engine)?;
        if visit(&key, &value)? == ControlFlow::Break(()) {
            break;
        }
    }
    Ok(())
}

impl kv::WriteTransaction for FjallTransaction<'_, OptimisticWriteTx> {
    fn put(&mut self, space: usize, key: &[u8], value: &[u8]) -> Result<()> {
        self.transaction.insert(&self.spaces[space], key, value);
        self.note_write(space);
        Ok(())
    }

    fn delete(&mut self, space: usize, key: &[u8]) -> Result<()> {
        self.transaction.remove(&self.spaces[space], key);
        self.note_write(space);
        Ok(())
    }

    fn commit(mut self) -> Result<()> {
        match self.transaction.commit().map_err(Error::from_engine)? {
            Ok(()) => {
                self.written.sort_unstable();
                self.written.dedup();
                self.memtables.seal_large(self.written.iter().map(|space| &self.spaces[*space]));
                Ok(())
            }
            Err(conflict) => Err(Error::Conflict(conflict.to_string())),
        }
    }
}

struct FjallBulkWriter<'s> {
    spaces: &'s [Keyspace],
    current: Option<(usize, Ingest<'s>)>,
}

/// Takes a key and a value, or ends. A closure, because fjall's type for an ingestion has no public
/// name.
type Ingest<'s> = Box<dyn FnMut(Option<(&[u8], &[u8])>) -> Result<()> + 's>;

fn start_ingestion(space: &Keyspace) -> Result<Ingest<'_>> {
    let mut ingestion = Some(space.start_ingestion().map_err(Error::from_engine)?);
    Ok(Box::new(move |pair| match (pair, &mut ingestion) {
        (Some((key, value)), Some(running)) => {
            running.write(key, value).map_err(Error::from_engine)
        }
        (None, _) => match ingestion.take() {
            Some(running) => running.finish().map_err(Error::from_engine),
            None => Ok(()),
        },
        (Some(_), None) => Err(Error::Usage("the load has ended".into())),
    }))
}

impl FjallBulkWriter<'_> {
    fn end_space(&mut self) -> Result<()> {
        match self.current.take() {
            Some((_, mut ingest)) => ingest(None),
            None => Ok(()),
        }
    }
}

impl kv::BulkWriter for FjallBulkWriter<'_> {
    fn append(&mut self, space: usize, key: &[u8], value: &[u8]) -> Result<()> {
        if self.current.as_ref().is_none_or(|(current, _)| *current != space) {
            self.end_space()?;
            self.current = Some((space, start_ingestion(&self.spaces[space])?));
        }
        let (_, ingest) = self.current.as_mut().expect("was set above");
        ingest(Some((key, value)))
    }

    fn finish(mut self) -> Result<()> {
        self.end_space()
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_testkit::wait_until;

    use super::*;
    use crate::schema::{Table, Type};
    use crate::{Action, Rows, Value};

    #[test]
    fn within_a_limit_of_memory_memtables_are_sealed_sooner() {
        let things =
            Table::new("things").key_column("id", Type::Int).column("text", Type::MediumText);
        let schema = Schema { tables: vec![things] };
        let put = [Statement { name: "put".into(), action: Action::Upsert { table: 0 } }];
        let text = "x".repeat(100_000);
        for (memory_bytes, seals_at) in [(None, None), (Some(32 << 20), Some(2 << 20))] {
            let terms = OpenTerms { memory_bytes, ..OpenTerms::new(Durability::None) };
            let folder = tempfile::tempdir().expect("a folder");
            // It keeps the size that its key spaces were made with.
            let unlimited = OpenTerms::new(Durability::None);
            drop(Fjall::USUAL.open(folder.path(), &unlimited, &schema, &put).expect("it is made"));
            let database =
                Fjall::USUAL.open(folder.path(), &terms, &schema, &put).expect("it opens");
            let (mut session, mut rows) = (database.session().expect("a session"), Rows::new());
            for id in 0..60 {
                session.run(0, &[Value::Int(id), text.as_str().into()], &mut rows).expect("a row");
            }
            let debt = || database.debt().expect("what it owes").expect("it is known");
            let flushed = || debt().turns[0].done;
            match seals_at {
                Some(_) => wait_until("a memtable that is flushed", || flushed() > 0),
                None => assert_eq!(flushed(), 0),
            }
            let each = seals_at.unwrap_or(memtables::AS_IT_COMES);
            let spaces = kv::list_spaces(&schema).len() as u64;
            assert_eq!(debt().owed[0].limit, Some(each * spaces));
            let settings = Fjall::USUAL.settings(&terms);
            let set = settings.iter().find(|it| it.name == "memtables sealed at");
            assert_eq!(set.map(|it| it.value.clone()), seals_at.map(|bytes| bytes.to_string()));
        }
    }

    #[test]
    fn the_version_is_the_one_that_is_built_in() {
        let lock = include_str!("../../../Cargo.lock");
        let wanted = format!("name = \"fjall\"\nversion = \"{}\"", super::VERSION);
        assert!(lock.contains(&wanted), "the lock file has another version of fjall");
    }
}
