//! Draining, checking and counting.

use std::thread;
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;

use super::storage::StorageEngine;
use super::{SQL, error};
use crate::{Error, Result, Schema, free_memory};

const DRAIN: Duration = Duration::from_secs(600);
const POLL: Duration = Duration::from_millis(20);

/// InnoDB: old versions are purged, changed pages written, the log synced. MyRocks: nothing is left
/// in memtables or level 0, and no compaction is due. Aria: every table is closed.
pub(super) fn drain_server(server: &mut Conn, storage: StorageEngine) -> Result<()> {
    match storage {
        StorageEngine::InnoDb => drain_innodb(server)?,
        StorageEngine::RocksDb => drain_rocksdb(server)?,
        StorageEngine::Aria => server.query_drop("FLUSH TABLES").map_err(error::to_error)?,
    }
    server.query_drop("FLUSH ENGINE LOGS").map_err(error::to_error)
}

fn drain_innodb(server: &mut Conn) -> Result<()> {
    purge_versions(server)?;
    match server.query_drop("SET GLOBAL innodb_log_checkpoint_now = ON") {
        Err(failure) if error::is_unknown_variable(&failure) => write_all(server),
        done => done.map_err(error::to_error),
    }
}

/// Makes an InnoDB without checkpoints on demand write all of its pages as fast as it can instead
/// of 200 a second. The capacity's maximum is raised first, and lowered last.
const WRITE_ALL: [(&str, u64); 3] = [
    ("innodb_io_capacity_max", CAPACITY),
    ("innodb_io_capacity", CAPACITY),
    ("innodb_max_dirty_pages_pct", 0),
];
const CAPACITY: u64 = 1_000_000;

pub(super) fn write_all(server: &mut Conn) -> Result<()> {
    let mut before: Vec<(&str, f64)> = Vec::new();
    for (name, value) in WRITE_ALL {
        let found: Option<f64> =
            server.query_first(format!("SELECT @@GLOBAL.{name}")).map_err(error::to_error)?;
        before.extend(found.map(|found| (name, found)));
        server.query_drop(format!("SET GLOBAL {name} = {value}")).map_err(error::to_error)?;
    }
    let dirty = "SELECT variable_value FROM information_schema.global_status \
                 WHERE variable_name = 'Innodb_buffer_pool_pages_dirty'";
    let written = wait_until_zero(server, dirty, "InnoDB still has pages to write");
    for (name, value) in before.into_iter().rev() {
        server.query_drop(format!("SET GLOBAL {name} = {value}")).map_err(error::to_error)?;
    }
    written
}

fn purge_versions(server: &mut Conn) -> Result<()> {
    server.query_drop("SET GLOBAL innodb_max_purge_lag_wait = 0").map_err(error::to_error)
}

fn drain_rocksdb(server: &mut Conn) -> Result<()> {
    let flush = "SET GLOBAL rocksdb_force_flush_memtable_and_lzero_now = 1";
    server.query_drop(flush).map_err(error::to_error)?;
    let due = "SELECT CAST(COALESCE(SUM(value), 0) AS SIGNED) \
               FROM information_schema.rocksdb_cfstats \
               WHERE stat_type IN ('COMPACTION_PENDING', 'MEM_TABLE_FLUSH_PENDING')";
    wait_until_zero(server, due, "MyRocks still has compactions to do")
}

fn wait_until_zero(server: &mut Conn, question: &str, otherwise: &str) -> Result<()> {
    let start = Instant::now();
    while server.query_first::<i64, _>(question).map_err(error::to_error)? != Some(0) {
        if start.elapsed() > DRAIN {
            return Err(Error::from_engine(format!("{otherwise} after {} s", DRAIN.as_secs())));
        }
        thread::sleep(POLL);
    }
    Ok(())
}

pub(super) fn warm_tables(server: &mut Conn, schema: &Schema) -> Result<()> {
    let mut texts = schema.tables.iter().flat_map(|table| SQL.read_all(table));
    texts.try_for_each(|text| server.query_drop(text)).map_err(error::to_error)
}

pub(super) fn check_integrity(
    server: &mut Conn,
    storage: StorageEngine,
    schema: &Schema,
) -> Result<Vec<String>> {
    if storage == StorageEngine::InnoDb {
        // Unpurged versions would count as faults of an index.
        purge_versions(server)?;
        widen_pool(server, schema);
    }
    check_tables(server, schema, "EXTENDED")
}

/// A size of InnoDB's cache that is no multiple of 1 MiB is refused (10.11.19).
const POOL_STEP: u64 = 1 << 20;

/// Widens InnoDB's cache for all of its tables, to half of the free memory at most: the check of an
/// index looks up the row of each entry, at random. A server that refuses is checked with what it
/// has.
fn widen_pool(server: &mut Conn, schema: &Schema) {
    let tables: Vec<_> = schema.tables.iter().map(|table| format!("'{}'", table.name)).collect();
    let tables = tables.join(", ");
    let text = format!(
        "SELECT CAST(COALESCE(SUM(data_length + index_length), 0) AS UNSIGNED), \
         @@GLOBAL.innodb_buffer_pool_size FROM information_schema.tables \
         WHERE table_schema = DATABASE() AND table_name IN ({tables})"
    );
    let Ok(Some((tables, cache))) = server.query_first::<(u64, u64), _>(text) else { return };
    // The statistics are as old as the load, and the cache needs some room for its own management.
    let wanted = (tables + tables / 4).min(free_memory::free_memory_bytes() / 2);
    let wanted = wanted.next_multiple_of(POOL_STEP);
    if wanted > cache {
        let _ = server.query_drop(format!("SET GLOBAL innodb_buffer_pool_size = {wanted}"));
    }
}

pub(super) fn check_tables(server: &mut Conn, schema: &Schema, how: &str) -> Result<Vec<String>> {
    let names = match schema.tables.is_empty() {
        false => join_names(schema),
        // Those of an application's own program.
        true => {
            let found: Vec<String> = server.query("SHOW TABLES").map_err(error::to_error)?;
            found.iter().map(|name| SQL.quote(name)).collect::<Vec<_>>().join(", ")
        }
    };
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let text = format!("CHECK TABLE {names} {how}");
    let lines: Vec<(String, String, String, String)> =
        server.query(text).map_err(error::to_error)?;
    let wrong = lines.into_iter().filter(|(_, _, kind, what)| match kind.as_str() {
        "status" => what != "OK" && what != "Table is already up to date",
        // Aria's mark of a crash, which is no fault (dev.mysql.com/doc, "Problems from Tables Not
        // Being Closed Properly"); the check goes on.
        "warning" => !what.ends_with("hasn't closed the table properly"),
        _ => true,
    });
    Ok(wrong.map(|(table, _, kind, what)| format!("{table}: {kind}: {what}")).collect())
}

fn join_names(schema: &Schema) -> String {
    let names: Vec<_> = schema.tables.iter().map(|table| SQL.quote(&table.name)).collect();
    names.join(", ")
}

fn counter_names(storage: StorageEngine) -> &'static [&'static str] {
    match storage {
        StorageEngine::InnoDb => &[
            "Innodb_buffer_pool_pages_flushed",
            "Innodb_buffer_pool_read_requests",
            "Innodb_buffer_pool_reads",
            "Innodb_buffer_pool_wait_free",
            "Innodb_data_fsyncs",
            "Innodb_data_reads",
            "Innodb_data_writes",
            "Innodb_data_written",
            "Innodb_dblwr_pages_written",
            "Innodb_dblwr_writes",
            "Innodb_deadlocks",
            "Innodb_log_waits",
            "Innodb_log_writes",
            "Innodb_os_log_written",
            "Innodb_row_lock_waits",
        ],
        StorageEngine::RocksDb => &[
            "Rocksdb_block_cache_hit",
            "Rocksdb_block_cache_miss",
            "Rocksdb_bytes_written",
            "Rocksdb_compact_read_bytes",
            "Rocksdb_compact_write_bytes",
            "Rocksdb_flush_write_bytes",
            "Rocksdb_row_lock_deadlocks",
            "Rocksdb_row_lock_wait_timeouts",
            "Rocksdb_snapshot_conflict_errors",
            "Rocksdb_stall_micros",
            "Rocksdb_wal_bytes",
            "Rocksdb_wal_group_syncs",
            "Rocksdb_wal_synced",
        ],
        StorageEngine::Aria => &[
            "Aria_pagecache_read_requests",
            "Aria_pagecache_reads",
            "Aria_pagecache_write_requests",
            "Aria_pagecache_writes",
            "Aria_transaction_log_syncs",
            "Table_locks_waited",
        ],
    }
}

pub(super) fn writes_back(storage: StorageEngine) -> &'static [&'static str] {
    match storage {
        StorageEngine::InnoDb => &["Innodb_buffer_pool_pages_flushed"],
        StorageEngine::RocksDb => &["Rocksdb_compact_write_bytes", "Rocksdb_flush_write_bytes"],
        StorageEngine::Aria => &["Aria_pagecache_writes"],
    }
}

/// Counters that grow with cache misses: of pages in the buffer pool, and of blocks in the block
/// cache or the page cache.
pub(super) fn cache_misses(storage: StorageEngine) -> &'static [&'static str] {
    match storage {
        StorageEngine::InnoDb => &["Innodb_buffer_pool_reads"],
        StorageEngine::RocksDb => &["Rocksdb_block_cache_miss"],
        StorageEngine::Aria => &["Aria_pagecache_reads"],
    }
}

pub(super) fn read_counters(
    server: &mut Conn,
    storage: StorageEngine,
) -> Result<Vec<(&'static str, u64)>> {
    read_status(server, counter_names(storage))
}

pub(super) fn read_status(
    server: &mut Conn,
    names: &[&'static str],
) -> Result<Vec<(&'static str, u64)>> {
    let list: Vec<_> = names.iter().map(|name| format!("'{name}'")).collect();
    let text = format!("SHOW GLOBAL STATUS WHERE Variable_name IN ({})", list.join(", "));
    let found: Vec<(String, String)> = server.query(text).map_err(error::to_error)?;
    let value = |name: &&'static str| {
        let (_, value) = found.iter().find(|(found, _)| found.eq_ignore_ascii_case(name))?;
        Some((*name, value.parse().ok()?))
    };
    Ok(names.iter().filter_map(value).collect())
}
