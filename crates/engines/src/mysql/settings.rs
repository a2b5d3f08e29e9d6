//! The settings of a private MariaDB server, each with its reason.

use bakeoff_servers::spelling;

use super::StorageEngine;
use super::review::REVIEW;
use super::storage::BlockCompression;
use crate::fair::{EngineCache, MemoryShare, Setting, UserSettings};
use crate::{Durability, OpenTerms, fair};

/// What a private server gets with all tables in that storage engine; `blocks` are of MyRocks alone.
pub(super) fn settings(
    storage: StorageEngine,
    blocks: BlockCompression,
    terms: &OpenTerms,
) -> Vec<Setting> {
    let durable = storage.durable(terms.durability);
    match storage {
        StorageEngine::InnoDb => innodb(durable, terms),
        StorageEngine::RocksDb => rocksdb(durable, blocks, terms),
        StorageEngine::Aria => aria(durable, terms),
    }
}

/// The cache of the storage engine that has the tables.
pub(super) fn cache(storage: StorageEngine, terms: &OpenTerms) -> EngineCache {
    let (share, setting) = match storage {
        StorageEngine::InnoDb => (INNODB, "innodb_buffer_pool_size"),
        StorageEngine::RocksDb => (ROCKSDB, "rocksdb_block_cache_size"),
        StorageEngine::Aria => (ARIA, "aria_pagecache_buffer_size"),
    };
    share.cache(setting, terms)
}

/// InnoDB's buffer pool. A server of 10.11.19 without clients holds 54 MB besides, and the pages of its
/// program; each page of the pool has a descriptor.
const INNODB: MemoryShare = MemoryShare {
    percent: 70,
    leaves: 96 << 20,
    direct: true,
    reason: "70 % of a memory limit, as the MyRocks and TerarkDB comparisons of 2017 gave it: it reads \
             past the system's page cache; below 320 MiB, what 96 MiB for the rest of the server leave, and \
             an eighth of the limit at least",
};
/// RocksDB's block cache.
const ROCKSDB: MemoryShare = MemoryShare::percent(
    33,
    "33 % of a memory limit, the third that RocksDB's tuning guide advises: it reads through the \
     system's page cache, which has the rest",
);
/// Aria's page cache, of rows and indexes.
const ARIA: MemoryShare = MemoryShare::percent(
    50,
    "50 % of a memory limit: it reads through the system's page cache, which has the rest",
);

/// How MyRocks is told to store its tables, but for their compression.
const ROCKSDB_TABLES: &str = "compaction_pri=kMinOverlappingRatio;\
    level_compaction_dynamic_level_bytes=true;\
    block_based_table_factory={filter_policy=bloomfilter:10:false;whole_key_filtering=1}";

/// Makes sure that settings of the user's own leave a level of durability whole that bakeoff leaves alone:
/// how InnoDB syncs its files, MyRocks' log and when it is handed to the system, and the binary log, which
/// recovery goes by.
pub(super) fn kept(
    storage: StorageEngine,
    durability: Durability,
    own: &UserSettings<'_>,
) -> Result<(), String> {
    let promises = durability != Durability::None;
    let values =
        |name: &'static str| own.find_settings(name).map(|(written, value)| taken(written, value));
    let method = "innodb_flush_method";
    if storage == StorageEngine::InnoDb
        && promises
        && let Some(value) = values(method).find(|value| never_syncs(value))
    {
        return Err(fair::undone(durability, method, value, "fsync or O_DIRECT"));
    }
    let disabled = "rocksdb_write_disable_wal";
    if storage == StorageEngine::RocksDb
        && let Some(value) = values(disabled).find(|value| is_on(value))
    {
        return Err(fair::undone(durability, disabled, value, "OFF"));
    }
    // A commit that is synced is handed to the system first.
    let buffered = "rocksdb_manual_wal_flush";
    if storage == StorageEngine::RocksDb
        && durability != Durability::Strict
        && let Some(value) = values(buffered).find(|value| is_on(value))
    {
        return Err(fair::undone(durability, buffered, value, "OFF"));
    }
    // Its value is the name of a file: it is on, whatever that is.
    let logs =
        own.find_settings("log_bin").any(|(name, value)| switched(name, value) != Some(false));
    // The server takes the last of a name; MariaDB's own default is 0.
    let synced = values("sync_binlog").last().unwrap_or("0");
    if logs && durability == Durability::Strict && synced != "1" {
        return Err(fair::undone(durability, "sync_binlog", synced, "1"));
    }
    Ok(())
}

/// Whether InnoDB syncs nothing, or not its log, by that method: a word's beginning stands for the word, and
/// a number for its place (mariadb.com/kb/en/innodb-system-variables/#innodb_flush_method).
fn never_syncs(method: &str) -> bool {
    let method = method.to_ascii_lowercase();
    let begins = |word: &str| !method.is_empty() && word.starts_with(&method);
    begins("nosync") || begins("littlesync") || method == "2" || method == "3"
}

/// Whether the server takes this value for true.
fn is_on(value: &str) -> bool {
    ["on", "true", "1"].iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// The value that the server takes from a setting that is written so.
fn taken<'a>(name: &str, value: &'a str) -> &'a str {
    match switched(name, value) {
        Some(true) => "1",
        Some(false) => "0",
        None => value.trim(),
    }
}

/// Whether a name switches its setting on or off; `None` where its value says what it is. The last of the
/// prefixes before the setting's own name decides, and of the value alone whether it is `0`, which turns it
/// round: `skip_X=0` is on, `skip_X=OFF` is off, and `enable_X=OFF` is on (`handle_options` in MariaDB's
/// mysys/my_getopt.c).
fn switched(name: &str, value: &str) -> Option<bool> {
    let name = spelling(name);
    let mut rest = name.as_str();
    let mut last = "";
    while let Some(prefix) = REVIEW.prefixes.iter().find(|prefix| rest.starts_with(**prefix)) {
        last = *prefix;
        rest = &rest[prefix.len()..];
    }
    match last {
        "skip_" | "disable_" => Some(value == "0"),
        "enable_" => Some(value != "0"),
        _ => None,
    }
}

/// The size of a memory table, as it is by default.
const MEMORY_TABLE: u64 = 64 << 20;

/// How MyRocks is told to store its tables under these terms. Beside the memory tables that are not
/// written yet, RocksDB keeps written ones to find conflicts in: by default as many as make 128 MiB, and
/// up to one more. Conflicts with what it does not keep are found by reading the files.
fn rocksdb_tables(blocks: BlockCompression, terms: &OpenTerms) -> String {
    let tables = format!("{};{ROCKSDB_TABLES}", blocks.options());
    let kept = terms.memory_bytes.map_or(u64::MAX, |limit| limit / 8);
    match kept < 2 * MEMORY_TABLE {
        true => format!("{tables};max_write_buffer_size_to_maintain={kept}"),
        false => tables,
    }
}

/// Bytes of InnoDB's log buffer as it comes, and the fewest that it takes.
const LOG_BUFFER: u64 = 16 << 20;
const LOG_BUFFER_LEAST: u64 = 2 << 20;

/// What a private MariaDB server gets whose tables are in InnoDB. `durable` gives the level of
/// durability. The binary log is off, doublewrite on, InnoDB's pages are not compressed; all of
/// these are its defaults.
fn innodb(durable: &[(&str, &str)], terms: &OpenTerms) -> Vec<Setting> {
    let mut settings = mariadb(durable);
    let mut set = |name, value: &str, reason| settings.push(Setting::new(name, value, reason));
    set("innodb_buffer_pool_size", &INNODB.bytes(terms).to_string(), INNODB.why(terms));
    if let Some(limit) = terms.memory_bytes.filter(|limit| *limit < LOG_BUFFER * 32) {
        let bytes = (limit / 32).max(LOG_BUFFER_LEAST);
        let why = "a thirty-second of the limit: below 512 MiB, 16 MiB are missed elsewhere";
        set("innodb_log_buffer_size", &bytes.to_string(), why);
    }
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
fn rocksdb(durable: &[(&str, &str)], blocks: BlockCompression, terms: &OpenTerms) -> Vec<Setting> {
    let mut settings = mariadb(durable);
    settings.extend(little_innodb());
    settings.push(little_aria());
    settings.extend(myrocks(blocks, terms));
    settings
}

/// What a private MariaDB server gets whose tables are in Aria.
fn aria(durable: &[(&str, &str)], terms: &OpenTerms) -> Vec<Setting> {
    let mut settings = mariadb(durable);
    settings.extend(little_innodb());
    let cache = ARIA.bytes(terms);
    settings.push(Setting::new("aria_pagecache_buffer_size", cache, ARIA.why(terms)));
    if let Some(limit) = terms.memory_bytes {
        let (sorting, why) = ((limit / 16).min(256 << 20), "a sort must fit beside the cache");
        settings.push(Setting::new("aria_sort_buffer_size", sorting, why));
    }
    settings
}

/// What a private MariaDB server gets, wherever its tables are.
fn mariadb(durable: &[(&str, &str)]) -> Vec<Setting> {
    let durable = durable.iter().map(|(name, value)| Setting::durable(name, value));
    let mut settings: Vec<_> = durable.collect();
    let mut set = |name, value, reason| settings.push(Setting::new(name, value, reason));
    set("max_connections", "1040", "1,024 clients, and bakeoff itself");
    set("max_prepared_stmt_count", "1048576", "each client prepares all of its statements");
    set("max_allowed_packet", "32M", "a text of 16 MiB comes in one piece");
    settings
}

/// InnoDB's memory in a server whose tables are elsewhere.
fn little_innodb() -> [Setting; 2] {
    let little =
        |name, bytes: &str| Setting::new(name, bytes, "no table of the experiment is in InnoDB");
    [little("innodb_buffer_pool_size", "8M"), little("innodb_log_buffer_size", "2M")]
}

/// Aria's cache in a server whose tables are elsewhere.
fn little_aria() -> Setting {
    Setting::new("aria_pagecache_buffer_size", "8M", "Aria has the server's own tables only")
}

/// What MyRocks gets beside its durability.
fn myrocks(blocks: BlockCompression, terms: &OpenTerms) -> Vec<Setting> {
    let mut settings = vec![
        Setting::new("plugin_load_add", "ha_rocksdb", "MyRocks is a plugin"),
        Setting::new("rocksdb", "FORCE", "without it the server is not to start"),
        Setting::new("rocksdb_block_cache_size", ROCKSDB.bytes(terms), ROCKSDB.why(terms)),
        Setting::new(
            "rocksdb_default_cf_options",
            rocksdb_tables(blocks, terms),
            "compressed as MyRocks recommends, LZ4, and ZSTD in the last level, or as the level says; and what its \
             maintainer advises to set (smalldatum.blogspot.com/2018/09): a bloom filter, dynamic \
             levels, compactions where they overlap least. Below 1 GiB, an eighth of the limit for \
             memory tables that are kept after they were written: 192 MiB of them do not fit",
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
    let eighth = terms.memory_bytes.map_or(u64::MAX, |limit| limit / 8);
    if eighth < MEMORY_TABLE {
        settings.push(Setting::new(
            "rocksdb_db_write_buffer_size",
            eighth,
            "an eighth of the limit: memory tables of 64 MiB do not fit",
        ));
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_of_a_name_switches_it_as_the_server_does() {
        for (name, value, expected) in [
            ("log_bin", "0", None),
            ("loose_log_bin", "OFF", None),
            ("maximum_log_bin", "1", None),
            ("skip_log_bin", "1", Some(false)),
            ("skip_log_bin", "OFF", Some(false)),
            ("skip_log_bin", "00", Some(false)),
            ("skip_log_bin", "0", Some(true)),
            ("Disable-Log-Bin", "0", Some(true)),
            ("loose_skip_log_bin", "0", Some(true)),
            ("skip-loose-log-bin", "1", None),
            ("enable_log_bin", "1", Some(true)),
            ("enable_log_bin", "OFF", Some(true)),
            ("enable_log_bin", "0", Some(false)),
            ("enable_skip_log_bin", "1", Some(false)),
            ("skip_enable_log_bin", "1", Some(true)),
        ] {
            assert_eq!(switched(name, value), expected, "{name}={value}");
        }
        assert_eq!(taken("skip_sync_binlog", "1"), "0");
        assert_eq!(taken("loose_sync_binlog", " 1"), "1");
    }

    #[test]
    fn a_level_is_not_undone_by_a_setting_of_the_users_own() {
        let mut own = vec![("innodb_doublewrite".into(), "OFF".into())];
        let kept = |own: &[_], level| {
            let fair = settings(
                StorageEngine::InnoDb,
                BlockCompression::default(),
                &OpenTerms::new(level),
            );
            fair::keep_level(&fair, &UserSettings::new(own, &REVIEW))
        };
        assert!(kept(&own, Durability::Strict).is_ok());
        own.push(("innodb_flush_log_at_trx_commit".into(), "0".into()));
        for level in Durability::ALL {
            let answer = kept(&own, level);
            let named = |what: &String| {
                what.starts_with("your settings have innodb_flush_log_at_trx_commit=0")
            };
            assert!(answer.as_ref().is_err_and(named), "{answer:?}");
        }
    }
}
