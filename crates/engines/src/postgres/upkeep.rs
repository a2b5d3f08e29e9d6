//! Draining, checking and counting.

use std::ops::Range;

use postgres::Client;

use super::{SQL, to_error};
use crate::{Result, Schema};

type VersionedCounter = (&'static str, &'static str, Range<u32>);

const ANY: Range<u32> = 0..u32::MAX;

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

pub(super) fn read_counters(client: &mut Client, version: u32) -> Result<Vec<(&'static str, u64)>> {
    let there: Vec<_> =
        COUNTERS.iter().filter(|(.., versions)| versions.contains(&version)).collect();
    let expressions: Vec<_> = there.iter().map(|(_, expression, _)| *expression).collect();
    let text = format!(
        "SELECT {} FROM pg_stat_database AS d WHERE d.datname = current_database()",
        expressions.join(", ")
    );
    let row = client.query_one(&text, &[]).map_err(to_error)?;
    let value = |(number, counter): (usize, &&VersionedCounter)| {
        let value: Option<i64> = row.try_get(number).map_err(to_error)?;
        Ok((counter.0, u64::try_from(value.unwrap_or(0)).unwrap_or(0)))
    };
    there.iter().enumerate().map(value).collect()
}

/// A private server reads tables into its buffers. An external one reads them as its planner likes:
/// bakeoff installs no extension there.
pub(super) fn warm_tables(client: &mut Client, schema: &Schema, private: bool) -> Result<()> {
    if !private {
        let mut texts = schema.tables.iter().flat_map(|table| SQL.read_all(table));
        return texts.try_for_each(|text| client.batch_execute(&text)).map_err(to_error);
    }
    client.batch_execute("CREATE EXTENSION IF NOT EXISTS pg_prewarm").map_err(to_error)?;
    // The table, its long texts, and the indexes of both.
    let read = "WITH heaps AS (SELECT unnest(ARRAY[oid, nullif(reltoastrelid, 0)]) AS heap \
                FROM pg_class WHERE oid = $1::text::regclass), \
                all_of_it AS (SELECT heap AS relation FROM heaps WHERE heap IS NOT NULL \
                UNION ALL SELECT indexrelid FROM pg_index JOIN heaps ON indrelid = heap) \
                SELECT count(pg_prewarm(relation)) FROM all_of_it";
    for table in &schema.tables {
        client.execute(read, &[&SQL.quote(&table.name)]).map_err(to_error)?;
    }
    Ok(())
}

pub(super) fn drain_server(client: &mut Client, schema: &Schema) -> Result<()> {
    for table in &schema.tables {
        client.batch_execute(&format!("VACUUM {}", SQL.quote(&table.name))).map_err(to_error)?;
    }
    client.batch_execute("CHECKPOINT").map_err(to_error)
}
