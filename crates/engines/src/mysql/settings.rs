//! The settings of a private MariaDB server, each with its reason.

use crate::servers::to_spelling;

use super::StorageEngine;
use super::review::REVIEW;
use super::storage::BlockCompression;
use crate::fair::{EngineCache, MemoryShare, Setting, UserSettings};
use crate::{Durability, OpenTerms, fair};

pub(super) fn list_settings(
    storage: StorageEngine,
    blocks: BlockCompression,
    terms: &OpenTerms,
) -> Vec<Setting> {
    let durable = storage.durability_settings(terms.durability);
    match storage {
        StorageEngine::InnoDb => innodb_settings(durable, terms),
        StorageEngine::RocksDb => rocksdb_settings(durable, blocks, terms),
        StorageEngine::Aria => aria_settings(durable, terms),
    }
}

pub(super) fn storage_cache(storage: StorageEngine, terms: &OpenTerms) -> EngineCache {
    let (share, setting) = match storage {
        StorageEngine::InnoDb => (INNODB, "innodb_buffer_pool_size"),
        StorageEngine::RocksDb => (ROCKSDB, "rocksdb_block_cache_size"),
        StorageEngine::Aria => (ARIA, "aria_pagecache_buffer_size"),
    };
    share.to_cache(setting, terms)
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
const ROCKSDB: MemoryShare = MemoryShare::from_percent(
    33,
    "33 % of a memory limit, the third that RocksDB's tuning guide advises: it reads through the \
     system's page cache, which has the rest",
);
const ARIA: MemoryShare = MemoryShare::from_percent(
    50,
    "50 % of a memory limit: it reads through the system's page cache, which has the rest",
);

const ROCKSDB_TABLES: &str = "compaction_pri=kMinOverlappingRatio;\
    level_compaction_dynamic_level_bytes=true;\
    block_based_table_factory={filter_policy=bloomfilter:10:false;whole_key_filtering=1}";

/// Refuses settings of the user that undo a durability level in ways that bakeoff's own settings
/// don't cover: how InnoDB syncs its files, when MyRocks hands its log to the system, and the
/// binary log, which recovery goes by.
pub(super) fn keep_level(
    storage: StorageEngine,
    durability: Durability,
    own: &UserSettings<'_>,
) -> Result<(), String> {
    let promises = durability != Durability::None;
    let values = |name: &'static str| {
        own.find_settings(name).map(|(written, value)| effective_value(written, value))
    };
    let method = "innodb_flush_method";
    if storage == StorageEngine::InnoDb
        && promises
        && let Some(value) = values(method).find(|value| never_syncs(value))
    {
        return Err(fair::explain_undone_level(durability, method, value, "fsync or O_DIRECT"));
    }
    let disabled = "rocksdb_write_disable_wal";
    if storage == StorageEngine::RocksDb
        && let Some(value) = values(disabled).find(|value| is_on(value))
    {
        return Err(fair::explain_undone_level(durability, disabled, value, "OFF"));
    }
    // A commit that is synced is handed to the system first.
    let buffered = "rocksdb_manual_wal_flush";
    if storage == StorageEngine::RocksDb
        && durability != Durability::Strict
        && let Some(value) = values(buffered).find(|value| is_on(value))
    {
        return Err(fair::explain_undone_level(durability, buffered, value, "OFF"));
    }
    let synced = user_value(own, "sync_binlog").unwrap_or_else(|| "0".into());
    if user_value(own, "log_bin").is_some_and(|it| it == "1")
        && durability == Durability::Strict
        && synced != "1"
    {
        return Err(fair::explain_undone_level(durability, "sync_binlog", &synced, "1"));
    }
    Ok(())
}

/// The value that the server takes of the user's settings; `1` and `0` for what a name switches.
/// `log_bin` is the name of a file: the log is on, whatever the name.
pub(super) fn user_value(own: &UserSettings<'_>, setting: &str) -> Option<String> {
    let (name, value) = own.find_settings(setting).last()?;
    if setting == "log_bin" {
        return Some(if parse_switch(name, value) == Some(false) { "0" } else { "1" }.into());
    }
    Some(effective_value(name, value).to_owned())
}

/// Whether InnoDB syncs nothing, or not its log, by that method: a word's beginning stands for the word, and
/// a number for its place (mariadb.com/kb/en/innodb-system-variables/#innodb_flush_method).
pub(super) fn never_syncs(method: &str) -> bool {
    let method = method.to_ascii_lowercase();
    let begins = |word: &str| !method.is_empty() && word.starts_with(&method);
    begins("nosync") || begins("littlesync") || method == "2" || method == "3"
}

pub(super) fn is_on(value: &str) -> bool {
    ["on", "true", "1"].iter().any(|word| value.eq_ignore_ascii_case(word))
}

fn effective_value<'a>(name: &str, value: &'a str) -> &'a str {
    match parse_switch(name, value) {
        Some(true) => "1",
        Some(false) => "0",
        None => value.trim(),
    }
}

/// Whether a name switches its setting on or off; `None` if the value decides. The last prefix
/// before the setting's own name decides; a value of `0` inverts it: `skip_X=0` is on, `skip_X=OFF`
/// is off, `enable_X=OFF` is on (`handle_options` in MariaDB's mysys/my_getopt.c).
fn parse_switch(name: &str, value: &str) -> Option<bool> {
    let name = to_spelling(name);
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

const MEMORY_TABLE: u64 = 64 << 20;

/// Beside memtables to write, RocksDB keeps written ones to find conflicts in: by default up to 128
/// MiB and one more. For other conflicts it reads the files.
fn rocksdb_tables(blocks: BlockCompression, terms: &OpenTerms) -> String {
    let tables = format!("{};{ROCKSDB_TABLES}", blocks.column_family_options());
    let kept = terms.memory_bytes.map_or(u64::MAX, |limit| limit / 8);
    match kept < 2 * MEMORY_TABLE {
        true => format!("{tables};max_write_buffer_size_to_maintain={kept}"),
        false => tables,
    }
}

/// Bytes of InnoDB's log buffer as it comes, and the fewest that it takes.
const LOG_BUFFER: u64 = 16 << 20;
const LOG_BUFFER_LEAST: u64 = 2 << 20;

/// The binary log is off, doublewrite is on, pages are not compressed: all defaults.
fn innodb_settings(durable: &[(&str, &str)], terms: &OpenTerms) -> Vec<Setting> {
    let mut settings = server_settings(durable);
    let mut set = |name, value: &str, reason| settings.push(Setting::new(name, value, reason));
    set(
        "innodb_buffer_pool_size",
        &INNODB.cache_bytes(terms).to_string(),
        INNODB.explain_size(terms),
    );
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

fn rocksdb_settings(
    durable: &[(&str, &str)],
    blocks: BlockCompression,
    terms: &OpenTerms,
) -> Vec<Setting> {
    let mut settings = server_settings(durable);
    settings.extend(little_innodb());
    settings.push(little_aria());
    settings.extend(myrocks_settings(blocks, terms));
    settings
}

fn aria_settings(durable: &[(&str, &str)], terms: &OpenTerms) -> Vec<Setting> {
    let mut settings = server_settings(durable);
    settings.extend(little_innodb());
    let cache = ARIA.cache_bytes(terms);
    settings.push(Setting::new("aria_pagecache_buffer_size", cache, ARIA.explain_size(terms)));
    if let Some(limit) = terms.memory_bytes {
        let (sorting, why) = ((limit / 16).min(256 << 20), "a sort must fit beside the cache");
        settings.push(Setting::new("aria_sort_buffer_size", sorting, why));
    }
    settings
}

fn server_settings(durable: &[(&str, &str)]) -> Vec<Setting> {
    let durable = durable.iter().map(|(name, value)| Setting::for_level(name, value));
    let mut settings: Vec<_> = durable.collect();
    let mut set = |name, value, reason| settings.push(Setting::new(name, value, reason));
    set("max_connections", "1040", "1,024 clients, and bakeoff itself");
    set("max_prepared_stmt_count", "1048576", "each client prepares all of its statements");
    set("max_allowed_packet", "32M", "a text of 16 MiB comes in one piece");
    settings
}

fn little_innodb() -> [Setting; 2] {
    let little =
        |name, bytes: &str| Setting::new(name, bytes, "no table of the experiment is in InnoDB");
    [little("innodb_buffer_pool_size", "8M"), little("innodb_log_buffer_size", "2M")]
}

fn little_aria() -> Setting {
    Setting::new("aria_pagecache_buffer_size", "8M", "Aria has the server's own tables only")
}

fn myrocks_settings(blocks: BlockCompression, terms: &OpenTerms) -> Vec<Setting> {
    let mut settings = vec![
        Setting::new("plugin_load_add", "ha_rocksdb", "MyRocks is a plugin"),
        Setting::new("rocksdb", "FORCE", "without it the server is not to start"),
        Setting::new(
            "rocksdb_block_cache_size",
            ROCKSDB.cache_bytes(terms),
            ROCKSDB.explain_size(terms),
        ),
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
            assert_eq!(parse_switch(name, value), expected, "{name}={value}");
        }
        assert_eq!(effective_value("skip_sync_binlog", "1"), "0");
        assert_eq!(effective_value("loose_sync_binlog", " 1"), "1");
    }
}
