//! What a server does beside its clients: put-off work, checks of its integrity, counters.

use std::ops::Range;

use postgres::Client;
use postgres::error::SqlState;

use super::{SQL, error};
use crate::{Result, Schema};

/// A counter: its name, where it is found, and the major versions that have it there.
type VersionedCounter = (&'static str, &'static str, Range<u32>);

const ANY: Range<u32> = 0..u32::MAX;

/// What explains how a server fared; see the documentation of its cumulative statistics.
const COUNTERS: &[VersionedCounter] = &[
    ("transactions committed", "d.xact_commit", ANY),
    ("transactions rolled back", "d.xact_rollback", ANY),
    ("deadlocks", "d.deadlocks", ANY),
    ("blocks found in shared buffers", "d.blks_hit", ANY),
    ("blocks read into shared buffers", "d.blks_read", ANY),
    ("bytes of temporary files", "d.temp_bytes", ANY),
    ("log records", "(SELECT wal_records FROM pg_stat_wal)", 14..u32::MAX),
    ("log images of full pages", "(SELECT wal_fpi FROM pg_stat_wal)", 14..u32::MAX),
    ("log bytes", "(SELECT wal_bytes::bigint FROM pg_stat_wal)", 14..u32::MAX),
    ("log writes", "(SELECT wal_write FROM pg_stat_wal)", 14..18),
    (
        "log writes",
        "(SELECT sum(writes)::bigint FROM pg_stat_io WHERE object = 'wal')",
        18..u32::MAX,
    ),
    ("log syncs", "(SELECT wal_sync FROM pg_stat_wal)", 14..18),
    (
        "log syncs",
        "(SELECT sum(fsyncs)::bigint FROM pg_stat_io WHERE object = 'wal')",
        18..u32::MAX,
    ),
    ("checkpoints by time", "(SELECT checkpoints_timed FROM pg_stat_bgwriter)", 0..17),
    ("checkpoints by time", "(SELECT num_timed FROM pg_stat_checkpointer)", 17..u32::MAX),
    ("checkpoints by demand", "(SELECT checkpoints_req FROM pg_stat_bgwriter)", 0..17),
    ("checkpoints by demand", "(SELECT num_requested FROM pg_stat_checkpointer)", 17..u32::MAX),
    ("blocks written by checkpoints", "(SELECT buffers_checkpoint FROM pg_stat_bgwriter)", 0..17),
    (
        "blocks written by checkpoints",
        "(SELECT buffers_written FROM pg_stat_checkpointer)",
        17..u32::MAX,
    ),
    ("blocks written in the background", "(SELECT buffers_clean FROM pg_stat_bgwriter)", ANY),
    ("blocks written by clients", "(SELECT buffers_backend FROM pg_stat_bgwriter)", 0..17),
    (
        "vacuums",
        "(SELECT sum(autovacuum_count + vacuum_count)::bigint FROM pg_stat_user_tables)",
        ANY,
    ),
];

/// The counters that a server of that major version has, as they stand.
pub(super) fn counters(client: &mut Client, version: u32) -> Result<Vec<(&'static str, u64)>> {
    let there: Vec<_> =
        COUNTERS.iter().filter(|(.., versions)| versions.contains(&version)).collect();
    let expressions: Vec<_> = there.iter().map(|(_, expression, _)| *expression).collect();
    let text = format!(
        "SELECT {} FROM pg_stat_database AS d WHERE d.datname = current_database()",
        expressions.join(", ")
    );
    let row = client.query_one(&text, &[]).map_err(error)?;
    let value = |(number, counter): (usize, &&VersionedCounter)| {
        let value: Option<i64> = row.try_get(number).map_err(error)?;
        Ok((counter.0, u64::try_from(value.unwrap_or(0)).unwrap_or(0)))
    };
    there.iter().enumerate().map(value).collect()
}

/// Reads every table and index: of a private server into its buffers, of another one's tables as
/// its planner likes, because an extension is not bakeoff's to install there.
pub(super) fn warm(client: &mut Client, schema: &Schema, private: bool) -> Result<()> {
    if !private {
        let mut texts = schema.tables.iter().flat_map(|table| SQL.read_all(table));
        return texts.try_for_each(|text| client.batch_execute(&text)).map_err(error);
    }
    client.batch_execute("CREATE EXTENSION IF NOT EXISTS pg_prewarm").map_err(error)?;
    // The table, where its long texts are, and the indexes of both.
    let read = "WITH heaps AS (SELECT unnest(ARRAY[oid, nullif(reltoastrelid, 0)]) AS heap \
                FROM pg_class WHERE oid = $1::text::regclass), \
                all_of_it AS (SELECT heap AS relation FROM heaps WHERE heap IS NOT NULL \
                UNION ALL SELECT indexrelid FROM pg_index JOIN heaps ON indrelid = heap) \
                SELECT count(pg_prewarm(relation)) FROM all_of_it";
    for table in &schema.tables {
        client.execute(read, &[&SQL.quote(&table.name)]).map_err(error)?;
    }
    Ok(())
}

/// Removes dead rows, as autovacuum would in time, and writes all that is in the server's memory.
pub(super) fn drain(client: &mut Client, schema: &Schema) -> Result<()> {
    for table in &schema.tables {
        client.batch_execute(&format!("VACUUM {}", SQL.quote(&table.name))).map_err(error)?;
    }
    client.batch_execute("CHECKPOINT").map_err(error)
}

/// Has `amcheck` look at each table, and at each index with every row that should be in it.
pub(super) fn check(client: &mut Client, schema: &Schema) -> Result<Vec<String>> {
    client.batch_execute("CREATE EXTENSION IF NOT EXISTS amcheck").map_err(error)?;
    let mut found = Vec::new();
    for table in &schema.tables {
        let name = SQL.quote(&table.name);
        let heap = "SELECT $2 || ', block ' || blkno || ', row ' || COALESCE(offnum, 0) || ': ' || msg \
                    FROM verify_heapam($1::text::regclass)";
        match client.query(heap, &[&name, &table.name]) {
            Ok(rows) => found.extend(rows.iter().map(|row| row.get::<_, String>(0))),
            // Before version 14 there is no such function.
            Err(failure) if failure.code() == Some(&SqlState::UNDEFINED_FUNCTION) => {}
            Err(failure) => found.push(damage(failure)?),
        }
        let indexes = "SELECT indexrelid::regclass::text FROM pg_index \
                       WHERE indrelid = $1::text::regclass";
        for index in client.query(indexes, &[&name]).map_err(error)? {
            let check = "SELECT bt_index_check($1::text::regclass, true)";
            if let Err(failure) = client.execute(check, &[&index.get::<_, String>(0)]) {
                found.push(damage(failure)?);
            }
        }
    }
    Ok(found)
}

/// What a failed check says is wrong with the data; its error, when the check itself failed.
fn damage(failure: postgres::Error) -> Result<String> {
    match failure.code() {
        Some(&SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED) => Ok(super::words(&failure)),
        _ => Err(error(failure)),
    }
}
