//! MyRocks' debt: memtables to flush to level 0, and level 0 to compact
//! (mariadb.com/kb/en/myrocks-information-schema-tables). It doesn't report RocksDB's estimate
//! (`rocksdb.estimate-pending-compaction-bytes`): the size of level 0 stands for it.

use std::sync::atomic::{AtomicU64, Ordering};

use mysql::Conn;
use mysql::prelude::Queryable;

use super::{StorageDebt, ask_one, error};
use crate::{Debt, DebtTurn, DebtUnit, DeferredWork, Payment, Result};

const OF_TABLES: &str = "cf_name <> '__system__'";

pub(super) struct RocksDb {
    /// Column families, and the bytes that all active memtables may have.
    families: u64,
    memtables: u64,
    /// Files of level 0 at which writes of a column family are slowed down.
    slowdown: u64,
    before: RocksDbLevels,
    last: AtomicU64,
}

impl RocksDb {
    pub fn since_now(server: &mut Conn) -> Result<Self> {
        let option = |function: &str, name: &str| {
            format!(
                "(SELECT CAST({function} AS UNSIGNED) FROM information_schema.rocksdb_cf_options \
                 WHERE option_type = '{name}' AND {OF_TABLES})"
            )
        };
        let (families, memtables, slowdown) = ask_one(
            server,
            &format!(
                "SELECT {}, {}, {}",
                option("COUNT(*)", "WRITE_BUFFER_SIZE"),
                option("SUM(value)", "WRITE_BUFFER_SIZE"),
                option("MIN(CAST(value AS UNSIGNED))", "LEVEL0_SLOWDOWN_WRITES_TRIGGER"),
            ),
        )?;
        let before = RocksDbLevels::read_levels(server)?;
        Ok(Self { families, memtables, slowdown, before, last: AtomicU64::new(0) })
    }
}

impl StorageDebt for RocksDb {
    fn measure_debt(&self, server: &mut Conn) -> Result<Debt> {
        let memtables = ask_one(
            server,
            &format!(
                "SELECT CAST(COALESCE(SUM(value), 0) AS UNSIGNED) \
                 FROM information_schema.rocksdb_cfstats \
                 WHERE stat_type = 'CUR_SIZE_ALL_MEM_TABLES' AND {OF_TABLES}"
            ),
        )?;
        let levels = RocksDbLevels::read_levels(server)?;
        let last = levels.compactions_into_last(&self.before);
        let last = last.max(self.last.fetch_max(last, Ordering::Relaxed));
        let owed = |name, unit, amount, limit| DeferredWork { name, unit, amount, limit };
        Ok(Debt {
            owed: vec![
                owed("memtables", DebtUnit::Bytes, memtables, Some(self.memtables)),
                owed("files in level 0", DebtUnit::Files, levels.most_files(), Some(self.slowdown)),
                owed("level 0", DebtUnit::Bytes, levels.level_zero_bytes(), None),
            ],
            turns: vec![
                DebtTurn {
                    name: "column families flushed",
                    done: levels.flushed_families(&self.before),
                    whole: self.families,
                },
                DebtTurn { name: "compactions into the last level", done: last, whole: 1 },
            ],
            payments: vec![
                Payment { name: "memtable flush", count: levels.flushes_since(&self.before) },
                Payment { name: "compaction", count: levels.compactions_since(&self.before) },
            ],
        })
    }
}

struct RocksDbLevels(Vec<RocksDbLevel>);

struct RocksDbLevel {
    family: String,
    number: u32,
    files: u64,
    bytes: u64,
    written: u64,
}

impl RocksDbLevels {
    fn read_levels(server: &mut Conn) -> Result<Self> {
        let value = |kind| format!("CAST(MAX(IF(type = '{kind}', value, 0)) AS UNSIGNED)");
        let text = format!(
            "SELECT cf_name, CAST(SUBSTR(level, 2) AS UNSIGNED), {}, {}, {} \
             FROM information_schema.rocksdb_compaction_stats \
             WHERE level RLIKE '^L[0-9]+$' AND {OF_TABLES} GROUP BY cf_name, level",
            value("NumFiles"),
            value("SizeBytes"),
            value("CompCount"),
        );
        let level = |(family, number, files, bytes, written)| RocksDbLevel {
            family,
            number,
            files,
            bytes,
            written,
        };
        server.query_map(text, level).map(Self).map_err(error::to_error)
    }

    fn level_zero(&self) -> impl Iterator<Item = &RocksDbLevel> {
        self.0.iter().filter(|level| level.number == 0)
    }

    fn most_files(&self) -> u64 {
        self.level_zero().map(|level| level.files).max().unwrap_or(0)
    }

    fn level_zero_bytes(&self) -> u64 {
        self.level_zero().map(|level| level.bytes).sum()
    }

    fn writes_since(&self, now: &RocksDbLevel) -> u64 {
        let same = |it: &&RocksDbLevel| it.family == now.family && it.number == now.number;
        now.written.saturating_sub(self.0.iter().find(same).map_or(0, |before| before.written))
    }

    /// RocksDB counts a flush as a write into level 0.
    fn flushes_since(&self, before: &Self) -> u64 {
        self.level_zero().map(|level| before.writes_since(level)).sum()
    }

    fn flushed_families(&self, before: &Self) -> u64 {
        self.level_zero().filter(|level| before.writes_since(level) > 0).count() as u64
    }

    fn compactions_since(&self, before: &Self) -> u64 {
        let below = self.0.iter().filter(|level| level.number > 0);
        below.map(|level| before.writes_since(level)).sum()
    }

    /// Compactions into the lowest level that has files, over all column families.
    fn compactions_into_last(&self, before: &Self) -> u64 {
        let last = |family: &str| {
            let of_it = self.0.iter().filter(|level| level.family == family && level.files > 0);
            of_it.map(|level| level.number).max()
        };
        let lowest =
            self.0.iter().filter(|it| it.number > 0 && last(&it.family) == Some(it.number));
        lowest.map(|level| before.writes_since(level)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(of: &[(&str, u32, u64, u64)]) -> RocksDbLevels {
        let level = |&(family, number, files, written): &(&str, _, _, _)| RocksDbLevel {
            family: family.into(),
            number,
            files,
            bytes: files * 10,
            written,
        };
        RocksDbLevels(of.iter().map(level).collect())
    }

    #[test]
    fn what_was_before_the_opening_does_not_count() {
        let before = levels(&[("a", 0, 1, 5), ("a", 6, 3, 2)]);
        let now = levels(&[("a", 0, 2, 5), ("a", 5, 1, 1), ("a", 6, 3, 2), ("b", 0, 3, 4)]);
        assert_eq!((now.flushes_since(&before), now.flushed_families(&before)), (4, 1));
        assert_eq!(
            (now.compactions_since(&before), now.compactions_into_last(&before)),
            (1, 0),
            "not the last"
        );
        assert_eq!((now.most_files(), now.level_zero_bytes()), (3, 50));
        let later = levels(&[("a", 0, 0, 6), ("a", 6, 3, 3), ("b", 0, 3, 4), ("b", 1, 0, 0)]);
        assert_eq!((later.flushed_families(&before), later.compactions_into_last(&before)), (2, 1));
    }
}
