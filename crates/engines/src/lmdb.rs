//! LMDB: a copy-on-write B+ tree in a memory map, one writer at a time, readers that never wait.
//!
//! LMDB's own lock for writers is an unfair mutex. Writers wait at a gate instead, as SQLite's do,
//! so that the two engines differ in what they are and not in who queues.

#![allow(missing_docs)]

use std::ops::{Bound, ControlFlow};
use std::path::Path;

use crate::{DEFAULT, Declared};
use heed::types::Bytes;
use heed::{
    CommitOrAbort, CommitToken, Env, EnvFlags, EnvOpenOptions, OnCommit, PutFlags, RoTxn, RwTxn,
    WithoutTls,
};
use self_cell::self_cell;

use crate::gate::{TicketGuard, TicketLock};
use crate::kv::{self, Visit};
use crate::options::{EngineOption, EngineOptions};
use crate::{
    Database, Debt, DebtUnit, DeferredWork, Durability, Engine, EngineDescription, EngineHome,
    Error, Least, OpenTerms, Promise, Result, Runs, Schema, Setting, Statement,
};

mod debt;

use debt::Growth;

pub struct Lmdb {
    name: &'static str,
    read_ahead: Option<bool>,
}

impl Lmdb {
    pub const USUAL: Self = Self { name: "lmdb", read_ahead: None };

    fn reads_ahead(&self, terms: &OpenTerms) -> bool {
        self.read_ahead.unwrap_or(terms.memory_bytes.is_none())
    }
}

const READ_AHEAD: EngineOption = EngineOption {
    factor: &Declared {
        name: "map_read_ahead",
        summary: "whether the kernel reads ahead in lmdb's map; by itself on where memory is unlimited, and off \
                  where it is limited, by MDB_NORDAHEAD",
        syntax: "on or off",
        default: DEFAULT,
        canonical: &|text| match parse_switch(text) {
            Some(_) => Ok(text.to_owned()),
            None => Err(format!("`{text}` is neither on nor off\nvalid: on, off")),
        },
    },
    trust: None,
};

fn parse_switch(word: &str) -> Option<bool> {
    match word {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// `text-oltp`, up to 4 clients: 8 MiB were enough; the kernel killed it in 6 with one client
/// (`secondary_random_limit100`), and in 4 in three tests of three with four (Debian 12, cgroups
/// v1).
const LEAST: Least = Least { engine_mib: 7, client_kib: 1024 };

/// Bytes of address space for the map, and so the largest database. The file takes only what is
/// written.
const MAP_BYTES: usize = 1 << 38;

/// The pages that a file begins with (lmdb.h: they say which tree is current).
const META_PAGES: u64 = 2;

/// Readers at the same time; each takes 64 bytes of the lock file.
const MOST_READERS: u32 = 16_384;

impl Engine for Lmdb {
    fn about(&self) -> EngineDescription {
        EngineDescription {
            name: self.name,
            summary: "LMDB: a memory-mapped copy-on-write B+ tree; caches in the page cache alone",
            promises: [
                Promise::new(
                    Durability::None,
                    "MDB_NOSYNC",
                    "commits are left to the system to write; a crash may lose or break \
                             anything, unless the file system keeps the order of writes \
                             (lmdb.h, MDB_NOSYNC)",
                ),
                Promise::new(
                    Durability::Relaxed,
                    "MDB_NOMETASYNC",
                    "one flush a commit instead of two: a crash may undo the last \
                             transaction and breaks nothing; LMDB has nothing cheaper that \
                             keeps the file whole (lmdb.h, MDB_NOMETASYNC)",
                )
                .losing_at_most(1),
                Promise::new(
                    Durability::Strict,
                    "default (data and meta page are flushed at every commit)",
                    "a commit is on the disk when it returns (lmdb.h, mdb_txn_commit \
                             without MDB_NOSYNC and MDB_NOMETASYNC)",
                ),
            ],
            home: EngineHome::Process,
            stores: true,
            rolls_back: true,
            packages: &[],
        }
    }

    fn version(&self) -> String {
        let version = heed::lmdb_version();
        format!("{}.{}.{}", version.major, version.minor, version.patch)
    }

    fn statement_check(&self) -> Option<Runs> {
        Some(kv::check_statement)
    }

    fn options(&self) -> Vec<EngineOption> {
        vec![READ_AHEAD]
    }

    fn least_memory(&self, _: u64, _: u64) -> Option<Least> {
        self.read_ahead.is_none().then_some(LEAST)
    }

    fn with(
        &self,
        name: &'static str,
        options: &EngineOptions,
    ) -> std::result::Result<Box<dyn Engine>, String> {
        let given = options.get(READ_AHEAD.factor.name);
        Ok(Box::new(Self { name, read_ahead: given.and_then(|word| parse_switch(word)) }))
    }

    fn settings(&self, terms: &OpenTerms) -> Vec<Setting> {
        let mut settings = list_settings(terms);
        if !self.reads_ahead(terms) {
            let why = match self.read_ahead {
                Some(_) => "the level says so",
                None => WHY_NOT_AHEAD,
            };
            settings.push(Setting::new("MDB_NORDAHEAD", "on", why));
        }
        settings
    }

    /// There is none: a commit writes its pages in place and defers nothing.
    fn is_log(&self, file: &Path) -> bool {
        file.extension().is_some_and(|extension| extension == "mdb")
    }

    fn open(
        &self,
        directory: &Path,
        terms: &OpenTerms,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Box<dyn Database>> {
        let names = kv::list_spaces(schema);
        let mut options = EnvOpenOptions::new().read_txn_without_tls();
        options.map_size(MAP_BYTES).max_readers(MOST_READERS).max_dbs(names.len() as u32);
        let mut flags = match terms.durability {
            Durability::None => EnvFlags::NO_SYNC,
            Durability::Relaxed => EnvFlags::NO_META_SYNC,
            Durability::Strict => EnvFlags::empty(),
        };
        flags.set(EnvFlags::NO_READ_AHEAD, !self.reads_ahead(terms));
        // SAFETY: NO_SYNC and NO_META_SYNC only leave out flushes, which matters after a crash of the
        // system alone; the level that asked for them allows what they risk. NO_READ_AHEAD is advice.
        unsafe { options.flags(flags) };
        // SAFETY: the directory is bakeoff's own, so nobody else changes the mapped file while it
        // is open, and LMDB's lock file keeps processes apart.
        let env = unsafe { options.open(directory) }.map_err(from_heed)?;
        env.clear_stale_readers().map_err(from_heed)?;
        let spaces = LmdbSpaces::try_new(env, |env| open_spaces(env, &names)).map_err(from_heed)?;
        let growth = Growth::from_info(&spaces.borrow_owner().info());
        let store = LmdbStore { spaces, gate: TicketLock::default(), growth };
        kv::open_tables(directory, store, schema, statements)
    }
}

const WHY_NOT_AHEAD: &str = "where memory is limited, the pages around each one that is read would take the place \
                             of others; lmdb.h says that it may help random reads where data are larger than memory";

fn list_settings(terms: &OpenTerms) -> Vec<Setting> {
    let mut settings = vec![
        Setting::new("mapsize", MAP_BYTES, "room for any data that a disk holds"),
        Setting::new("maxreaders", MOST_READERS, "1,024 clients, and bakeoff itself"),
    ];
    let mut flag = |name| settings.push(Setting::for_level(name, "on"));
    match terms.durability {
        Durability::None => flag("MDB_NOSYNC"),
        Durability::Relaxed => flag("MDB_NOMETASYNC"),
        Durability::Strict => {}
    }
    settings
}

type LmdbSpace<'e> = heed::Database<'e, Bytes, Bytes>;
type SpaceList<'e> = Vec<LmdbSpace<'e>>;

self_cell!(
    struct LmdbSpaces {
        owner: Env<WithoutTls>,

        #[covariant]
        dependent: SpaceList,
    }
);

struct Opening<'e>(SpaceList<'e>);

impl<'e> OnCommit for Opening<'e> {
    type Committed = SpaceList<'e>;

    fn on_commit(self, token: &CommitToken) -> SpaceList<'e> {
        self.0.into_iter().map(|space| space.on_commit(token)).collect()
    }
}

fn open_spaces<'e>(env: &'e Env<WithoutTls>, names: &[String]) -> heed::Result<SpaceList<'e>> {
    let opened = env.create_databases_and_commit(env.write_txn()?, |opener, transaction| {
        let spaces = names.iter().map(|name| opener.create_database(transaction, Some(name)));
        let spaces = spaces.collect::<heed::Result<_>>()?;
        heed::Result::Ok(CommitOrAbort::<_, ()>::Commit(Opening(spaces)))
    });
    Ok(opened?.unwrap_commit())
}

fn from_heed(error: heed::Error) -> Error {
    match error {
        heed::Error::Mdb(heed::MdbError::BadValSize) => {
            Error::Usage("LMDB can't hold a key of more than 1982 bytes".into())
        }
        error => Error::from_engine(error),
    }
}

struct LmdbStore {
    spaces: LmdbSpaces,
    gate: TicketLock,
    growth: Growth,
}

impl LmdbStore {
    fn open_env(&self) -> &Env<WithoutTls> {
        self.spaces.borrow_owner()
    }

    fn begin_write(&self) -> Result<LmdbTransaction<'_, RwTxn<'_>>> {
        let _pass = Some(self.gate.wait_in_line());
        let transaction = self.open_env().write_txn().map_err(from_heed)?;
        Ok(LmdbTransaction { transaction, _pass, spaces: self.spaces.borrow_dependent() })
    }

    fn pages_in_use(&self) -> Result<u64> {
        let snapshot = self.open_env().read_txn().map_err(from_heed)?;
        let stat = |space: &LmdbSpace<'_>| space.stat(&snapshot).map_err(from_heed);
        let mut stats: Vec<_> =
            self.spaces.borrow_dependent().iter().map(stat).collect::<Result<_>>()?;
        stats.push(self.open_env().unnamed_database_stat());
        let pages = stats.iter().map(|it| it.branch_pages + it.leaf_pages + it.overflow_pages);
        Ok(META_PAGES + pages.sum::<usize>() as u64)
    }
}

impl kv::KeyValueStore for LmdbStore {
    type Read<'s> = LmdbTransaction<'s, RoTxn<'s, WithoutTls>>;
    type Write<'s> = LmdbTransaction<'s, RwTxn<'s>>;
    type Bulk<'s> = LmdbTransaction<'s, RwTxn<'s>>;

    fn read(&self) -> Result<Self::Read<'_>> {
        let transaction = self.open_env().read_txn().map_err(from_heed)?;
        let spaces = self.spaces.borrow_dependent();
        Ok(LmdbTransaction { transaction, _pass: None, spaces })
    }

    fn write(&self) -> Result<Self::Write<'_>> {
        self.begin_write()
    }

    fn bulk_load(&self) -> Result<Self::Bulk<'_>> {
        self.begin_write()
    }

    fn drain(&self) -> Result<()> {
        self.open_env().force_sync().map_err(from_heed)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let info = self.open_env().info();
        vec![
            ("transactions", info.last_txn_id as u64),
            ("pages added", info.last_page_number as u64),
        ]
    }

    fn debt(&self) -> Result<Option<Debt>> {
        let info = self.open_env().info();
        let free = DeferredWork {
            name: "free pages",
            unit: DebtUnit::Pages,
            amount: debt::pages(&info).saturating_sub(self.pages_in_use()?),
            limit: None,
        };
        Ok(Some(Debt {
            owed: vec![free],
            turns: vec![self.growth.measure_turn(&info)],
            payments: vec![],
        }))
    }
}

struct LmdbTransaction<'s, T> {
    transaction: T,
    /// The pass of a writer. Given up after the transaction: fields are dropped in this order.
    _pass: Option<TicketGuard<'s>>,
    spaces: &'s [LmdbSpace<'s>],
}

trait LmdbSnapshot {
    fn as_reading(&self) -> &RoTxn<'_>;
}

impl LmdbSnapshot for RoTxn<'_, WithoutTls> {
    fn as_reading(&self) -> &RoTxn<'_> {
        self
    }
}

impl LmdbSnapshot for RwTxn<'_> {
    fn as_reading(&self) -> &RoTxn<'_> {
        self
    }
}

impl<T: LmdbSnapshot> kv::ReadTransaction for LmdbTransaction<'_, T> {
    type Bytes<'t>
        = &'t [u8]
    where
        Self: 't;

    fn get(&self, space: usize, key: &[u8]) -> Result<Option<&[u8]>> {
        self.spaces[space].get(self.transaction.as_reading(), key).map_err(from_heed)
    }

    fn scan(
        &self,
        space: usize,
        from: &[u8],
        to: &[u8],
        reverse: bool,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        scan_space(&self.spaces[space], self.transaction.as_reading(), from, to, reverse, visit)
    }
}

fn scan_space(
    space: &LmdbSpace<'_>,
    transaction: &RoTxn<'_>,
    from: &[u8],
    to: &[u8],
    reverse: bool,
    visit: &mut Visit<'_>,
) -> Result<()> {
    // LMDB has no empty keys, and refuses them as bounds.
    let from = if from.is_empty() { Bound::Unbounded } else { Bound::Included(from) };
    let to = if to.is_empty() { Bound::Unbounded } else { Bound::Excluded(to) };
    let range = (from, to);
    if reverse {
        visit_all(space.rev_range(transaction, &range).map_err(from_heed)?, visit)
    } else {
        visit_all(space.range(transaction, &range).map_err(from_heed)?, visit)
    }
}

fn visit_all<'t>(
    pairs: impl Iterator<Item = heed::Result<(&'t [u8], &'t [u8])>>,
    visit: &mut Visit<'_>,
) -> Result<()> {
    for pair in pairs {
        let (key, value) = pair.map_err(from_heed)?;
        if visit(key, value)? == ControlFlow::Break(()) {
            break;
        }
    }
    Ok(())
}

impl kv::WriteTransaction for LmdbTransaction<'_, RwTxn<'_>> {
    fn put(&mut self, space: usize, key: &[u8], value: &[u8]) -> Result<()> {
        self.spaces[space].put(&mut self.transaction, key, value).map_err(from_heed)
    }

    fn delete(&mut self, space: usize, key: &[u8]) -> Result<()> {
        self.spaces[space].delete(&mut self.transaction, key).map(drop).map_err(from_heed)
    }

    fn commit(self) -> Result<()> {
        self.transaction.commit().map_err(from_heed)
    }
}

impl kv::BulkWriter for LmdbTransaction<'_, RwTxn<'_>> {
    fn append(&mut self, space: usize, key: &[u8], value: &[u8]) -> Result<()> {
        let transaction = &mut self.transaction;
        self.spaces[space]
            .put_with_flags(transaction, PutFlags::APPEND, key, value)
            .map_err(from_heed)
    }

    fn finish(self) -> Result<()> {
        kv::WriteTransaction::commit(self)
    }
}
