//! MyRocks: memtables to write as files of level 0, and those to merge into the levels below
//! (mariadb.com/kb/en/myrocks-information-schema-tables). It doesn't tell what RocksDB estimates to be
//! pending (`rocksdb.estimate-pending-compaction-bytes`): what is in level 0 stands for it.

use std::sync::atomic::{AtomicU64, Ordering};

use mysql::Conn;
use mysql::prelude::Queryable;

use super::{StorageDebt, error, one};
use crate::{Debt, DebtTurn, DebtUnit, Owed, Payment, Result};

/// Of the column families of tables, without the one that MyRocks keeps what it knows of them in.
const OF_TABLES: &str = "cf_name <> '__system__'";

pub(super) struct RocksDb {
    /// Column families, and the bytes that the active memtables of all may have.
    families: u64,
    memtables: u64,
    /// Files of level 0 at which the writes of a column family are slowed down.
    slowdown: u64,
    before: RocksDbLevels,
    /// The most compactions into a last level that were seen: another level may become the last.
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
        let (families, memtables, slowdown) = one(
            server,
            &format!(
                "SELECT {}, {}, {}",
                option("COUNT(*)", "WRITE_BUFFER_SIZE"),
                option("SUM(value)", "WRITE_BUFFER_SIZE"),
                option("MIN(CAST(value AS UNSIGNED))", "LEVEL0_SLOWDOWN_WRITES_TRIGGER"),
            ),
        )?;
        let before = RocksDbLevels::read(server)?;
        Ok(Self { families, memtables, slowdown, before, last: AtomicU64::new(0) })
    }
}

impl StorageDebt for RocksDb {
    fn debt(&self, server: &mut Conn) -> Result<Debt> {
        let memtables = one(
            server,
            &format!(
                "SELECT CAST(COALESCE(SUM(value), 0) AS UNSIGNED) \
                 FROM information_schema.rocksdb_cfstats \
                 WHERE stat_type = 'CUR_SIZE_ALL_MEM_TABLES' AND {OF_TABLES}"
            ),
        )?;
        let levels = RocksDbLevels::read(server)?;
        let last = levels.compactions_into_last(&self.before);
        let last = last.max(self.last.fetch_max(last, Ordering::Relaxed));
        let owed = |name, unit, amount, limit| Owed { name, unit, amount, limit };
        Ok(Debt {
            owed: vec![
                owed("memtables", DebtUnit::Bytes, memtables, Some(self.memtables)),
                owed("files in level 0", DebtUnit::Files, levels.most_files(), Some(self.slowdown)),
                owed("level 0", DebtUnit::Bytes, levels.bytes(), None),
            ],
            turns: vec![
                DebtTurn {
                    name: "column families flushed",
                    done: levels.flushed(&self.before),
                    whole: self.families,
                },
                DebtTurn { name: "compactions into the last level", done: last, whole: 1 },
            ],
            payments: vec![
                Payment { name: "memtable flush", count: levels.flushes(&self.before) },
                Payment { name: "compaction", count: levels.compactions(&self.before) },
            ],
        })
    }
}

/// The levels of all column families that have, or had, files.
struct RocksDbLevels(Vec<RocksDbLevel>);

struct RocksDbLevel {
    family: String,
    number: u32,
    files: u64,
    bytes: u64,
    /// Flushes or compactions into it, since the server was started.
    written: u64,
}

impl RocksDbLevels {
    fn read(server: &mut Conn) -> Result<Self> {
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
        server.query_map(text, level).map(Self).map_err(error::plain)
    }

    fn zero(&self) -> impl Iterator<Item = &RocksDbLevel> {
        self.0.iter().filter(|level| level.number == 0)
    }

    /// Files in level 0 of the column family that has the most.
    fn most_files(&self) -> u64 {
        self.zero().map(|level| level.files).max().unwrap_or(0)
    }

    /// Bytes in level 0.
    fn bytes(&self) -> u64 {
        self.zero().map(|level| level.bytes).sum()
    }

    /// How often a level was written into since `self` was read.
    fn grown(&self, now: &RocksDbLevel) -> u64 {
        let same = |it: &&RocksDbLevel| it.family == now.family && it.number == now.number;
        now.written.saturating_sub(self.0.iter().find(same).map_or(0, |before| before.written))
    }

    /// Memtables that were flushed: RocksDB counts them as what was written into level 0.
    fn flushes(&self, before: &Self) -> u64 {
        self.zero().map(|level| before.grown(level)).sum()
    }

    /// Column families of which a memtable was flushed.
    fn flushed(&self, before: &Self) -> u64 {
        self.zero().filter(|level| before.grown(level) > 0).count() as u64
    }

    /// Compactions into the levels below.
    fn compactions(&self, before: &Self) -> u64 {
        let below = self.0.iter().filter(|level| level.number > 0);
        below.map(|level| before.grown(level)).sum()
    }

    /// Those of them into the lowest level that has files, of all column families.
    fn compactions_into_last(&self, before: &Self) -> u64 {
        let last = |family: &str| {
            let of_it = self.0.iter().filter(|level| level.family == family && level.files > 0);
            of_it.map(|level| level.number).max()
        };
        let lowest =
            self.0.iter().filter(|it| it.number > 0 && last(&it.family) == Some(it.number));
        lowest.map(|level| before.grown(level)).sum()
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
        assert_eq!((now.flushes(&before), now.flushed(&before)), (4, 1));
        assert_eq!(
            (now.compactions(&before), now.compactions_into_last(&before)),
            (1, 0),
            "not the last"
        );
        assert_eq!((now.most_files(), now.bytes()), (3, 50));
        let later = levels(&[("a", 0, 0, 6), ("a", 6, 3, 3), ("b", 0, 3, 4), ("b", 1, 0, 0)]);
        assert_eq!((later.flushed(&before), later.compactions_into_last(&before)), (2, 1));
    }
}
