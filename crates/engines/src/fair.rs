//! What is fair between engines, in one readable place: the share of a memory limit that each
//! engine takes for caches of its own, and every other setting that differs from its default.

use crate::{Durability, Error, Result, Terms};

/// Bytes of cache that every engine gets where memory is not limited.
pub const UNLIMITED_CACHE: u64 = 256 << 20;

/// A setting that an engine gets and that differs from its own default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name, as the engine's users write it.
    pub name: String,
    /// Its value, as they write it.
    pub value: String,
    /// Why it is not left at its default.
    pub reason: &'static str,
}

impl Setting {
    /// A setting, with its reason.
    pub fn new(name: &str, value: impl ToString, reason: &'static str) -> Self {
        Self { name: name.into(), value: value.to_string(), reason }
    }
}

/// How much of a memory limit an engine takes for caches of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Percent of the limit.
    pub percent: u64,
    /// Why so much.
    pub reason: &'static str,
}

/// SQLite's page cache, all connections together.
pub const SQLITE: Share =
    Share { percent: 25, reason: "it reads through the system's page cache, which has the rest" };
/// fjall's block cache.
pub const FJALL: Share =
    Share { percent: 25, reason: "it reads through the system's page cache, which has the rest" };

impl Share {
    /// Bytes of cache under these terms.
    pub fn bytes(self, terms: &Terms) -> u64 {
        terms.memory_bytes.map_or(UNLIMITED_CACHE, |limit| limit.saturating_mul(self.percent) / 100)
    }
}

/// What SQLite's connections get.
pub fn sqlite(terms: &Terms) -> Vec<Setting> {
    let shared = format!("{} KiB in all", SQLITE.bytes(terms) / 1024);
    let mut settings = vec![
        Setting::new("journal_mode", "WAL", "readers and the writer do not wait for each other"),
        Setting::new("cache_size", shared, SQLITE.reason),
        Setting::new("SQLITE_DBCONFIG_ENABLE_QPSG", "on", "a statement is planned once"),
    ];
    let mut durable = |name, value| settings.push(Setting::new(name, value, DURABILITY));
    match terms.durability {
        Durability::None => durable("synchronous", "OFF"),
        Durability::Relaxed => {
            durable("synchronous", "NORMAL");
            durable("wal_checkpoint(PASSIVE)", "every second");
        }
        Durability::Strict => {}
    }
    settings
}

/// What LMDB's environment gets, whose map takes so many bytes and that has so many readers.
pub fn lmdb(terms: &Terms, map_bytes: usize, most_readers: u32) -> Vec<Setting> {
    let mut settings = vec![
        Setting::new("mapsize", map_bytes, "room for any data that a disk holds"),
        Setting::new("maxreaders", most_readers, "1,024 clients, and bakeoff itself"),
    ];
    let mut flag = |name| settings.push(Setting::new(name, "on", DURABILITY));
    match terms.durability {
        Durability::None => flag("MDB_NOSYNC"),
        Durability::Relaxed => flag("MDB_NOMETASYNC"),
        Durability::Strict => {}
    }
    settings
}

/// What fjall's database gets.
pub fn fjall(terms: &Terms) -> Vec<Setting> {
    let mut settings = vec![Setting::new("cache_size", FJALL.bytes(terms), FJALL.reason)];
    let mut durable = |name, value| settings.push(Setting::new(name, value, DURABILITY));
    match terms.durability {
        Durability::None => {}
        Durability::Relaxed => durable("persist(SyncData)", "every second"),
        Durability::Strict => durable("durability of a transaction", "SyncData"),
    }
    settings
}

/// PostgreSQL's shared buffers.
pub const POSTGRES: Share = Share {
    percent: 25,
    reason: "its documentation's advice: it reads through the system's page cache, which has the \
             rest",
};

/// Why a setting is there that gives the level of durability.
const DURABILITY: &str = "the durability";

/// Makes sure that no setting of the user's own takes the place of one that gives the level of
/// durability.
///
/// # Errors
/// [`Error::Usage`], with what to do.
pub fn keep_level(fair: &[Setting], terms: &Terms) -> Result<()> {
    let level = |own: &str| fair.iter().any(|it| it.reason == DURABILITY && it.name == own);
    match terms.settings.iter().find(|(name, _)| level(name)) {
        None => Ok(()),
        Some((name, value)) => Err(Error::Usage(format!(
            "{name}={value} among the settings of your own: the level of durability sets it; leave \
             it out, and choose the level by `durability`"
        ))),
    }
}

/// The settings under these terms: the fair ones, and the user's own in their place.
pub fn with_overrides(mut settings: Vec<Setting>, terms: &Terms) -> Vec<Setting> {
    for (name, value) in &terms.settings {
        settings.retain(|setting| setting.name != *name);
        settings.push(Setting::new(name, value, "the user's own"));
    }
    settings
}

/// What a PostgreSQL session gets, on any server.
pub fn postgres_session(terms: &Terms) -> Vec<Setting> {
    let synchronous = match terms.durability {
        Durability::None | Durability::Relaxed => "off",
        Durability::Strict => "on",
    };
    vec![
        Setting::new("synchronous_commit", synchronous, DURABILITY),
        Setting::new(
            "default_transaction_isolation",
            "repeatable read",
            "of two that would overwrite each other's work one has to end in a conflict, as with \
             MyRocks",
        ),
    ]
}

/// What a private PostgreSQL server gets. Autovacuum, checkpoints and `full_page_writes` are as
/// they come; so is the log's size, at most 1 GB between two checkpoints.
pub fn postgres(terms: &Terms) -> Vec<Setting> {
    let kib = |bytes: u64| format!("{}kB", bytes / 1024);
    let mut settings = postgres_session(terms);
    let mut set = |name, value: &str, reason| settings.push(Setting::new(name, value, reason));
    let fsync = if terms.durability == Durability::None { "off" } else { "on" };
    set("fsync", fsync, DURABILITY);
    set("shared_buffers", &kib(POSTGRES.bytes(terms)), POSTGRES.reason);
    set("wal_level", "minimal", "nobody replicates it; a load need not be logged");
    set("max_wal_senders", "0", "wal_level=minimal needs it");
    set("max_connections", "1040", "1,024 clients, and bakeoff itself");
    let few = "each connection reserves memory for so many, and no transaction needs as many";
    set("max_locks_per_transaction", "16", few);
    set("max_pred_locks_per_transaction", "10", few);
    set("huge_pages", "off", "a memory limit does not count them");
    if let Some(limit) = terms.memory_bytes {
        let planner = "what the planner may count on to be in memory: its own and the system's";
        set("effective_cache_size", &kib(limit / 4 * 3), planner);
        let (sorting, upkeep) = ((limit / 256).min(4 << 20), (limit / 16).min(64 << 20));
        set("work_mem", &kib(sorting), "a sort must fit beside the cache under the limit");
        set("maintenance_work_mem", &kib(upkeep), "a vacuum must fit beside the cache too");
    }
    settings
}

/// InnoDB's buffer pool.
pub const INNODB: Share = Share {
    percent: 70,
    reason: "as much as the MyRocks and TerarkDB comparisons of 2017 gave it: it reads past the \
             system's page cache",
};
/// RocksDB's block cache.
pub const ROCKSDB: Share = Share {
    percent: 33,
    reason: "RocksDB's tuning guide advises a third: it reads through the system's page cache, \
             which has the rest",
};
/// Aria's page cache, of rows and indexes.
pub const ARIA: Share =
    Share { percent: 50, reason: "it reads through the system's page cache, which has the rest" };

/// How MyRocks is told to store its tables.
const ROCKSDB_TABLES: &str = "compression=kLZ4Compression;\
    bottommost_compression=kZSTDNotFinalCompression;\
    compaction_pri=kMinOverlappingRatio;\
    level_compaction_dynamic_level_bytes=true;\
    block_based_table_factory={filter_policy=bloomfilter:10:false;whole_key_filtering=1}";

/// What a private MariaDB server gets whose tables are in InnoDB. `durable` gives the level of
/// durability. The binary log is off, doublewrite on, InnoDB's pages are not compressed; all of
/// these are its defaults.
pub fn innodb(durable: &[(&str, &str)], terms: &Terms) -> Vec<Setting> {
    let mut settings = mariadb(durable);
    let mut set = |name, value: &str, reason| settings.push(Setting::new(name, value, reason));
    set("innodb_buffer_pool_size", &INNODB.bytes(terms).to_string(), INNODB.reason);
    set(
        "innodb_buffer_pool_load_at_startup",
        "OFF",
        "what is in its cache when the clients start is decided by the same reads for all",
    );
    if terms.durability != Durability::Strict {
        set(
            "loose_innodb_log_file_buffering",
            "ON",
            "a commit that need not be synced need not wait for the disk either: MyRocks and \
             PostgreSQL write their logs through the page cache too",
        );
    }
    settings.push(little_aria());
    settings
}

/// What a private MariaDB server gets whose tables are in MyRocks.
pub fn rocksdb(durable: &[(&str, &str)], terms: &Terms) -> Vec<Setting> {
    let mut settings = mariadb(durable);
    settings.extend([little_innodb(), little_aria()]);
    settings.extend(myrocks(terms));
    settings
}

/// What a private MariaDB server gets whose tables are in Aria.
pub fn aria(durable: &[(&str, &str)], terms: &Terms) -> Vec<Setting> {
    let mut settings = mariadb(durable);
    settings.push(little_innodb());
    let cache = ARIA.bytes(terms);
    settings.push(Setting::new("aria_pagecache_buffer_size", cache, ARIA.reason));
    if let Some(limit) = terms.memory_bytes {
        let (sorting, why) = ((limit / 16).min(256 << 20), "a sort must fit beside the cache");
        settings.push(Setting::new("aria_sort_buffer_size", sorting, why));
    }
    settings
}

/// What a private MariaDB server gets, wherever its tables are.
fn mariadb(durable: &[(&str, &str)]) -> Vec<Setting> {
    let durable = durable.iter().map(|(name, value)| Setting::new(name, value, DURABILITY));
    let mut settings: Vec<_> = durable.collect();
    let mut set = |name, value, reason| settings.push(Setting::new(name, value, reason));
    set("max_connections", "1040", "1,024 clients, and bakeoff itself");
    set("max_prepared_stmt_count", "1048576", "each client prepares all of its statements");
    settings
}

/// InnoDB's cache in a server whose tables are elsewhere.
fn little_innodb() -> Setting {
    Setting::new("innodb_buffer_pool_size", "8M", "no table of the experiment is in InnoDB")
}

/// Aria's cache in a server whose tables are elsewhere.
fn little_aria() -> Setting {
    Setting::new("aria_pagecache_buffer_size", "8M", "Aria has the server's own tables only")
}

/// What MyRocks gets beside its durability.
fn myrocks(terms: &Terms) -> Vec<Setting> {
    let mut settings = vec![
        Setting::new("plugin_load_add", "ha_rocksdb", "MyRocks is a plugin"),
        Setting::new("rocksdb", "FORCE", "without it the server is not to start"),
        Setting::new("rocksdb_block_cache_size", ROCKSDB.bytes(terms), ROCKSDB.reason),
        Setting::new(
            "rocksdb_default_cf_options",
            ROCKSDB_TABLES,
            "compressed as MyRocks recommends: LZ4, and ZSTD in the last level; and what its \
             maintainer advises to set (smalldatum.blogspot.com/2018/09): a bloom filter, dynamic \
             levels, compactions where they overlap least",
        ),
        Setting::new(
            "rocksdb_deadlock_detect",
            "ON",
            "InnoDB and PostgreSQL find deadlocks too; it would wait a second for each",
        ),
        Setting::new(
            "rocksdb_manual_wal_flush",
            "OFF",
            "without a binary log nobody would hand the log to the system at a commit, and \
             rocksdb_flush_log_at_trx_commit=2 would mean 0",
        ),
        Setting::new("rocksdb_large_prefix", "ON", "an index on a text of 255 characters"),
    ];
    settings.push(Setting::new(
        "rocksdb_wal_recovery_mode",
        2,
        "the default, 1, refuses to start on a log that ends within a record, as one does whose \
         power went while it was written: no promise survives that, and RocksDB's maintainers call \
         2 the one that is safe after a crash (github.com/facebook/rocksdb/issues/1351)",
    ));
    // A memory table of 64 MiB is filled while another one is written.
    let memory_tables = terms.memory_bytes.map_or(u64::MAX, |limit| limit / 4);
    if memory_tables < 128 << 20 {
        settings.push(Setting::new(
            "rocksdb_db_write_buffer_size",
            memory_tables,
            "a quarter of the limit: two memory tables of 64 MiB do not fit",
        ));
    }
    settings
}
