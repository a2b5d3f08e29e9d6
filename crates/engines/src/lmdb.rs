//! LMDB: a copy-on-write B+ tree in a memory map, one writer at a time, readers that never wait.
//!
//! Writing transactions would queue for LMDB's own lock, a mutex that is not fair: whoever comes by
//! when it is released may be let in before those that wait. They wait at a gate instead, as
//! SQLite's do, so that the two differ in what they are and not in who queues for them.

use std::ops::{Bound, ControlFlow};
use std::path::Path;

use bakeoff_factor::{DEFAULT, Declared};
use heed::types::Bytes;
use heed::{
    CommitOrAbort, CommitToken, Env, EnvFlags, EnvOpenOptions, OnCommit, PutFlags, RoTxn, RwTxn,
    WithoutTls,
};
use self_cell::self_cell;

use crate::gate::{Pass, TicketLock};
use crate::kv::{self, Visit};
use crate::options::{EngineOption, EngineOptions};
use crate::{
    Database, Debt, DebtUnit, Durability, Engine, EngineDescription, EngineHome, Error, Least,
    OpenTerms, Owed, Promise, Result, Schema, Setting, Statement,
};

mod debt;

use debt::Growth;

/// The engine `lmdb`.
pub struct Lmdb {
    /// The level's name.
    name: &'static str,
    /// Whether the kernel reads ahead in the map; `None` as bakeoff's rule has it.
    read_ahead: Option<bool>,
}

impl Lmdb {
    /// As bakeoff sets it up.
    pub const USUAL: Self = Self { name: "lmdb", read_ahead: None };

    /// Whether the kernel reads ahead under these terms.
    fn reads_ahead(&self, terms: &OpenTerms) -> bool {
        self.read_ahead.unwrap_or(terms.memory_bytes.is_none())
    }
}

/// Whether the kernel reads ahead in the map.
const READ_AHEAD: EngineOption = EngineOption {
    factor: &Declared {
        name: "map_read_ahead",
        summary: "whether the kernel reads ahead in lmdb's map; by itself on where memory is unlimited, and off \
                  where it is limited, by MDB_NORDAHEAD",
        syntax: "on or off",
        default: DEFAULT,
        canonical: |text| match switch(text) {
            Some(_) => Ok(text.to_owned()),
            None => Err(format!("`{text}` is neither on nor off\nvalid: on, off")),
        },
    },
    trust: None,
};

/// What that word says.
fn switch(word: &str) -> Option<bool> {
    match word {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// The least memory of a trial's process with it, by `text-oltp` with up to 4 clients: it was served in 8 MiB, and the
/// kernel ended it in 6 by `secondary_random_limit100` with one client, and in 4 by three tests of three with four
/// (Debian 12, control groups of version 1).
const LEAST: Least = Least { engine_mib: 7, client_kib: 1024 };

/// The address space that is set aside for the map, in bytes, and so the largest database. The
/// file takes only what is written to it.
const MAP_BYTES: usize = 1 << 38;

/// The pages that a file begins with (lmdb.h: they say which tree is current).
const META_PAGES: u64 = 2;

/// The most transactions that may read at the same time; each takes 64 bytes of the lock file.
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
        Ok(Box::new(Self { name, read_ahead: given.and_then(|word| switch(word)) }))
    }

    fn settings(&self, terms: &OpenTerms) -> Vec<Setting> {
        let mut settings = settings(terms);
        if !self.reads_ahead(terms) {
            let why = match self.read_ahead {
                Some(_) => "the level says so",
                None => WHY_NOT_AHEAD,
            };
            settings.push(Setting::new("MDB_NORDAHEAD", "on", why));
        }
        settings
    }

    /// It has no other: a commit writes its pages in place, and puts nothing off.
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
        let names = kv::spaces(schema);
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
        let growth = Growth::since(&spaces.borrow_owner().info());
        let store = LmdbStore { spaces, gate: TicketLock::default(), growth };
        kv::open(directory, store, schema, statements)
    }
}

/// Why it doesn't read ahead.
const WHY_NOT_AHEAD: &str = "where memory is limited, the pages around each one that is read would take the place \
                             of others; lmdb.h says that it may help random reads where data are larger than memory";

/// What its environment gets for its durability, and whatever the terms, each with its reason.
fn settings(terms: &OpenTerms) -> Vec<Setting> {
    let mut settings = vec![
        Setting::new("mapsize", MAP_BYTES, "room for any data that a disk holds"),
        Setting::new("maxreaders", MOST_READERS, "1,024 clients, and bakeoff itself"),
    ];
    let mut flag = |name| settings.push(Setting::durable(name, "on"));
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

/// Key spaces that can be used once the transaction that opens them is committed.
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
        error => Error::engine(error),
    }
}

struct LmdbStore {
    spaces: LmdbSpaces,
    gate: TicketLock,
    growth: Growth,
}

impl LmdbStore {
    fn env(&self) -> &Env<WithoutTls> {
        self.spaces.borrow_owner()
    }

    fn write(&self) -> Result<LmdbWriteTransaction<'_>> {
        let pass = self.gate.enter();
        let transaction = self.env().write_txn().map_err(from_heed)?;
        Ok(LmdbWriteTransaction {
            transaction,
            _pass: pass,
            spaces: self.spaces.borrow_dependent(),
        })
    }

    /// Pages that hold something, the free list's own left out.
    fn pages_in_use(&self) -> Result<u64> {
        let snapshot = self.env().read_txn().map_err(from_heed)?;
        let stat = |space: &LmdbSpace<'_>| space.stat(&snapshot).map_err(from_heed);
        let mut stats: Vec<_> =
            self.spaces.borrow_dependent().iter().map(stat).collect::<Result<_>>()?;
        stats.push(self.env().unnamed_database_stat());
        let pages = stats.iter().map(|it| it.branch_pages + it.leaf_pages + it.overflow_pages);
        Ok(META_PAGES + pages.sum::<usize>() as u64)
    }
}

impl kv::KeyValueStore for LmdbStore {
    type Read<'s> = LmdbReadTransaction<'s>;
    type Write<'s> = LmdbWriteTransaction<'s>;
    type Bulk<'s> = LmdbWriteTransaction<'s>;

    fn read(&self) -> Result<LmdbReadTransaction<'_>> {
        let transaction = self.env().read_txn().map_err(from_heed)?;
        Ok(LmdbReadTransaction { transaction, spaces: self.spaces.borrow_dependent() })
    }

    fn write(&self) -> Result<LmdbWriteTransaction<'_>> {
        self.write()
    }

    /// One transaction for the whole load.
    fn bulk(&self) -> Result<LmdbWriteTransaction<'_>> {
        self.write()
    }

    fn drain(&self) -> Result<()> {
        self.env().force_sync().map_err(from_heed)
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let info = self.env().info();
        vec![
            ("transactions", info.last_txn_id as u64),
            ("pages added", info.last_page_number as u64),
        ]
    }

    fn debt(&self) -> Result<Option<Debt>> {
        let info = self.env().info();
        let free = Owed {
            name: "free pages",
            unit: DebtUnit::Pages,
            amount: debt::pages(&info).saturating_sub(self.pages_in_use()?),
            limit: None,
        };
        Ok(Some(Debt { owed: vec![free], turns: vec![self.growth.turn(&info)], payments: vec![] }))
    }
}

struct LmdbReadTransaction<'s> {
    transaction: RoTxn<'s, WithoutTls>,
    spaces: &'s [LmdbSpace<'s>],
}

struct LmdbWriteTransaction<'s> {
    transaction: RwTxn<'s>,
    /// Given up after the transaction: fields are dropped in this order.
    _pass: Pass<'s>,
    spaces: &'s [LmdbSpace<'s>],
}

impl kv::ReadTransaction for LmdbReadTransaction<'_> {
    type Bytes<'t>
        = &'t [u8]
    where
        Self: 't;

    fn get(&self, space: usize, key: &[u8]) -> Result<Option<&[u8]>> {
        self.spaces[space].get(&self.transaction, key).map_err(from_heed)
    }

    fn scan(
        &self,
        space: usize,
        from: &[u8],
        to: &[u8],
        reverse: bool,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        scan(&self.spaces[space], &self.transaction, from, to, reverse, visit)
    }
}

impl kv::ReadTransaction for LmdbWriteTransaction<'_> {
    type Bytes<'t>
        = &'t [u8]
    where
        Self: 't;

    fn get(&self, space: usize, key: &[u8]) -> Result<Option<&[u8]>> {
        self.spaces[space].get(&self.transaction, key).map_err(from_heed)
    }

    fn scan(
        &self,
        space: usize,
        from: &[u8],
        to: &[u8],
        reverse: bool,
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        scan(&self.spaces[space], &self.transaction, from, to, reverse, visit)
    }
}

fn scan(
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

impl kv::WriteTransaction for LmdbWriteTransaction<'_> {
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

impl kv::BulkWriter for LmdbWriteTransaction<'_> {
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
