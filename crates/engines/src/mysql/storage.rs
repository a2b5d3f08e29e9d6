//! The storage engines of a MariaDB server: their names and promises.

use crate::{DEFAULT, Declared};
use mysql::Conn;
use mysql::prelude::Queryable;

use std::time::Duration;

use super::{error, promise};
use crate::options::{EngineOption, EngineOptions};
use crate::{Durability, Error, Least, Promise, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageEngine {
    InnoDb,
    RocksDb,
    Aria,
}

impl StorageEngine {
    pub const ALL: [Self; 3] = [Self::InnoDb, Self::RocksDb, Self::Aria];

    pub fn name(self) -> &'static str {
        match self {
            Self::InnoDb => "InnoDB",
            Self::RocksDb => "ROCKSDB",
            Self::Aria => "Aria",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|storage| storage.name().eq_ignore_ascii_case(name))
    }

    pub(super) fn summary(self) -> &'static str {
        match self {
            Self::InnoDb => "MariaDB with InnoDB, in a private server",
            Self::RocksDb => "MariaDB with MyRocks, in a private server",
            Self::Aria => {
                "MariaDB with Aria, in a private server: locks whole tables, can't roll back"
            }
        }
    }

    pub(super) fn rolls_back(self) -> bool {
        self != Self::Aria
    }

    /// Measured: `text-oltp` at scale `large`, `point_select90_update10`, 4 clients, MariaDB
    /// 10.11.19, Debian 12, cgroups v1. InnoDB served in 80 MiB, 5.5 of them page cache; with 70 %
    /// of the limit for its pool and nothing left for the server, the kernel killed it in 192.
    /// MyRocks served in 384 MiB, 114 of them page cache, in two trials of two; the kernel killed
    /// it in 256 and in 320 (two of two each), and in 186 and less it made no progress. At scale
    /// `huge`, with rows of dict-gcide, 399 MiB failed in one trial of three
    /// (docs/findings/text-oltp.md): so its least is an eighth above that. No trial has tried 448
    /// MiB.
    pub(super) fn least_memory(self) -> Option<Least> {
        match self {
            Self::InnoDb => Some(Least { engine_mib: 88, client_kib: 512 }),
            Self::RocksDb => Some(Least { engine_mib: 444, client_kib: 1024 }),
            Self::Aria => None,
        }
    }

    pub(super) fn options(self) -> &'static [EngineOption] {
        match self {
            Self::InnoDb => &[COMPRESSION],
            Self::RocksDb => &[ROCKSDB_COMPRESSION],
            Self::Aria => &[],
        }
    }

    pub(super) fn split_block_options(
        self,
        name: &str,
        options: &EngineOptions,
    ) -> std::result::Result<(BlockCompression, EngineOptions), String> {
        let mut others = options.clone();
        if self != Self::RocksDb {
            return Ok((BlockCompression::default(), others));
        }
        let given = others.remove(ROCKSDB_COMPRESSION.factor.name);
        let blocks = given.as_deref().and_then(BlockCompression::from_option);
        let same = "rocksdb_default_cf_options";
        if blocks.is_some() && others.contains_key(same) {
            return Err(format!("two options of `{name}` set `{same}`\nleave one out"));
        }
        Ok((blocks.unwrap_or_default(), others))
    }

    pub(super) fn packages(self) -> &'static [&'static str] {
        match self {
            Self::RocksDb => &["mariadb-server", "mariadb-plugin-rocksdb"],
            Self::InnoDb | Self::Aria => &["mariadb-server"],
        }
    }

    pub fn plugin(self) -> Option<&'static str> {
        match self {
            Self::RocksDb => Some("ha_rocksdb"),
            Self::InnoDb | Self::Aria => None,
        }
    }

    /// At every level a killed server must keep what it has acknowledged, so the settings that keep
    /// commits in the process (`0` for InnoDB and MyRocks) won't do.
    pub fn durability_settings(
        self,
        durability: Durability,
    ) -> &'static [(&'static str, &'static str)] {
        match (self, durability) {
            (Self::InnoDb, Durability::None) => {
                &[("innodb_flush_log_at_trx_commit", "2"), ("innodb_flush_method", "nosync")]
            }
            (Self::InnoDb, Durability::Relaxed) => &[("innodb_flush_log_at_trx_commit", "2")],
            (Self::InnoDb, Durability::Strict) => &[("innodb_flush_log_at_trx_commit", "1")],
            (Self::RocksDb, Durability::None | Durability::Relaxed) => {
                &[("rocksdb_flush_log_at_trx_commit", "2")]
            }
            (Self::RocksDb, Durability::Strict) => &[("rocksdb_flush_log_at_trx_commit", "1")],
            (Self::Aria, Durability::None) => {
                &[("aria_group_commit", "soft"), ("aria_group_commit_interval", "0")]
            }
            (Self::Aria, Durability::Relaxed) => {
                &[("aria_group_commit", "soft"), ("aria_group_commit_interval", "1000000")]
            }
            (Self::Aria, Durability::Strict) => &[("aria_group_commit", "none")],
        }
    }

    /// Commands after the start: a server that starts with `aria_group_commit=soft` syncs every
    /// commit all the same until the variable changes (counted on MariaDB 10.11.19).
    pub(super) fn startup_commands(self, durability: Durability) -> &'static [&'static str] {
        match (self, durability) {
            (Self::Aria, Durability::None | Durability::Relaxed) => {
                &["SET GLOBAL aria_group_commit = 'none'", "SET GLOBAL aria_group_commit = 'soft'"]
            }
            _ => &[],
        }
    }

    pub(super) fn promises(self) -> [Promise; 3] {
        let [none, relaxed, strict] = match self {
            Self::InnoDb => INNODB,
            Self::RocksDb => ROCKSDB,
            Self::Aria => ARIA,
        };
        let promise = |durability, (settings, source)| Promise::new(durability, settings, source);
        [
            promise(Durability::None, none),
            promise(Durability::Relaxed, relaxed).within(Duration::from_secs(1)),
            promise(Durability::Strict, strict),
        ]
    }
}

/// Compression of InnoDB's new tables. Other algorithms than zlib are plugins.
const COMPRESSION: EngineOption = EngineOption {
    factor: &Declared {
        name: "compression",
        summary: "whether the pages of tables are compressed: innodb_compression_default, and \
                  innodb_compression_algorithm",
        syntax: "none or zlib",
        default: "none",
        canonical: &|text| match text {
            "none" | "zlib" => Ok(text.to_owned()),
            _ => Err(format!("`{text}` is not a compression of InnoDB's pages\nvalid: none, zlib")),
        },
    },
    trust: None,
};

const ROCKSDB_COMPRESSION: EngineOption = EngineOption {
    factor: &Declared {
        name: "compression",
        summary: "how the blocks of all levels of MyRocks are compressed, in rocksdb_default_cf_options; \
                  LZ4, and ZSTD in the last level by itself",
        syntax: "none, lz4 or zstd",
        default: DEFAULT,
        canonical: &|text| match BlockCompression::from_option(text) {
            Some(_) => Ok(text.to_owned()),
            None => Err(format!(
                "`{text}` is not a compression of MyRocks's blocks\nvalid: none, lz4, zstd"
            )),
        },
    },
    trust: None,
};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum BlockCompression {
    /// LZ4, and ZSTD in the last level, as MyRocks recommends.
    #[default]
    Recommended,
    None,
    Lz4,
    Zstd,
}

impl BlockCompression {
    pub fn from_option(text: &str) -> Option<Self> {
        match text {
            "none" => Some(Self::None),
            "lz4" => Some(Self::Lz4),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    pub fn column_family_options(self) -> &'static str {
        match self {
            Self::Recommended => {
                "compression=kLZ4Compression;bottommost_compression=kZSTDNotFinalCompression"
            }
            Self::None => "compression=kNoCompression",
            Self::Lz4 => "compression=kLZ4Compression",
            Self::Zstd => "compression=kZSTDNotFinalCompression",
        }
    }
}

/// The settings that an option stands for; empty if it is a setting by its own name.
pub(super) fn stands_for(option: &str, value: &str) -> Vec<(String, String)> {
    let settings: &[(&str, &str)] = match (option, value) {
        ("compression", "none") => &[("innodb_compression_default", "OFF")],
        ("compression", algorithm) => {
            &[("innodb_compression_default", "ON"), ("innodb_compression_algorithm", algorithm)]
        }
        _ => &[],
    };
    settings.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

type DurabilitySettings = [(&'static str, &'static str); 3];

const INNODB: DurabilitySettings = [
    (
        "innodb_flush_log_at_trx_commit=2, innodb_flush_method=nosync",
        "never syncs: a power cut may lose commits or corrupt the files \
         (mariadb.com/kb/en/innodb-system-variables/#innodb_flush_method)",
    ),
    (
        "innodb_flush_log_at_trx_commit=2",
        "writes the log at each commit and syncs it once a second; a power cut may take the last \
         second, and the doublewrite buffer keeps pages whole \
         (mariadb.com/kb/en/innodb-system-variables/#innodb_flush_log_at_trx_commit)",
    ),
    (
        "innodb_flush_log_at_trx_commit=1",
        "syncs the log before it answers a commit \
         (mariadb.com/kb/en/innodb-system-variables/#innodb_flush_log_at_trx_commit)",
    ),
];

const ROCKSDB: DurabilitySettings = [
    (
        "rocksdb_flush_log_at_trx_commit=2",
        "as relaxed: it has no weaker level that a kill of the server alone would not take \
         commits from \
         (mariadb.com/kb/en/myrocks-system-variables/#rocksdb_flush_log_at_trx_commit)",
    ),
    (
        "rocksdb_flush_log_at_trx_commit=2",
        "writes the log at each commit and syncs it once a second: a power cut may take the last \
         second (mariadb.com/kb/en/myrocks-system-variables/#rocksdb_flush_log_at_trx_commit)",
    ),
    (
        "rocksdb_flush_log_at_trx_commit=1",
        "syncs the log before it answers a commit \
         (mariadb.com/kb/en/myrocks-system-variables/#rocksdb_flush_log_at_trx_commit)",
    ),
];

const ARIA: DurabilitySettings = [
    (
        "aria_group_commit=soft, aria_group_commit_interval=0",
        "writes the log at each commit and never syncs it (mariadb.com/kb/en/aria-group-commit)",
    ),
    (
        "aria_group_commit=soft, aria_group_commit_interval=1000000",
        "writes the log at each commit and syncs it once a second: a power cut may take the last \
         rows (mariadb.com/kb/en/aria-group-commit)",
    ),
    (
        "aria_group_commit=none",
        "syncs the log before it answers a statement, or the end of a lock on tables \
         (mariadb.com/kb/en/aria-group-commit)",
    ),
];

pub(super) fn confirm_durability(
    server: &mut Conn,
    storage: StorageEngine,
    wanted: Durability,
) -> Result<()> {
    let found: Vec<(String, String)> =
        server.query("SHOW GLOBAL VARIABLES").map_err(error::to_error)?;
    check_promise(&found, storage, wanted).map_err(Error::Usage)
}

pub(super) fn read_server_promise(
    server: &mut Conn,
    storage: StorageEngine,
) -> Result<Option<Durability>> {
    let found: Vec<(String, String)> =
        server.query("SHOW GLOBAL VARIABLES").map_err(error::to_error)?;
    Ok(read_promise(&found, storage))
}

/// Refuses a level of a server that somebody else runs, whose settings promise less.
pub(super) fn confirm_promise(
    server: &mut Conn,
    storage: StorageEngine,
    wanted: Durability,
) -> Result<()> {
    let found: Vec<(String, String)> =
        server.query("SHOW GLOBAL VARIABLES").map_err(error::to_error)?;
    check_promise(&found, storage, wanted)
        .and_then(|()| check_no_weaker(&found, storage, wanted))
        .map_err(Error::Usage)
}

fn check_no_weaker(
    found: &[(String, String)],
    storage: StorageEngine,
    wanted: Durability,
) -> std::result::Result<(), String> {
    match read_promise(found, storage) {
        Some(promised) if promised >= wanted => Ok(()),
        promised => Err(format!(
            "the server's settings promise {}, and durability {} was asked for: see \
             innodb_doublewrite, innodb_flush_log_at_timeout and their like",
            promised.map_or("no level", Durability::name),
            wanted.name()
        )),
    }
}

/// What the server's variables promise.
fn read_promise(found: &[(String, String)], storage: StorageEngine) -> Option<Durability> {
    let value = |name: &str| {
        let variable = found.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
        variable.map(|(_, value)| value.clone())
    };
    promise::find_promise(storage, &value)
}

/// What the settings of a level promise: MyRocks' weakest level gives more than its name.
fn own_promise(storage: StorageEngine, level: Durability) -> Option<Durability> {
    let set = storage.durability_settings(level).iter();
    let set: Vec<_> = set.map(|(name, value)| ((*name).into(), (*value).into())).collect();
    read_promise(&set, storage)
}

fn check_promise(
    found_all: &[(String, String)],
    storage: StorageEngine,
    wanted: Durability,
) -> std::result::Result<(), String> {
    let found = |name: &str| {
        let variable = found_all.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
        variable.map_or("nothing", |(_, value)| value)
    };
    let differs = |name: &str, value: &str| {
        let (found, level) = (found(name), wanted.name());
        Err(format!(
            "the server runs with {name}={found}, and durability {level} needs {name}={value}: \
             change the setting, or ask for another level"
        ))
    };
    let own = storage.durability_settings(wanted);
    let is_known = own.iter().all(|(name, _)| found(name) != "nothing");
    if is_known && read_promise(found_all, storage) == own_promise(storage, wanted) {
        return Ok(());
    }
    let is_on = |name: &str| found(name).eq_ignore_ascii_case("ON");
    for (name, value) in own {
        if !found(name).eq_ignore_ascii_case(value) {
            return differs(name, value);
        }
    }
    let syncs = wanted != Durability::None;
    let method = found("innodb_flush_method");
    if storage == StorageEngine::InnoDb && syncs && ["nosync", "littlesync"].contains(&method) {
        return differs("innodb_flush_method", "fsync or O_DIRECT");
    }
    let disabled = "rocksdb_write_disable_wal";
    if storage == StorageEngine::RocksDb && is_on(disabled) {
        return differs(disabled, "OFF");
    }
    // A commit that is synced is handed to the system first; that setting does it for no other
    // commit.
    let buffered = "rocksdb_manual_wal_flush";
    if storage == StorageEngine::RocksDb && wanted != Durability::Strict && is_on(buffered) {
        return differs(buffered, "OFF");
    }
    // With a binary log, recovery keeps the transactions that are in it.
    if is_on("log_bin") && wanted == Durability::Strict && found("sync_binlog") != "1" {
        return differs("sync_binlog", "1");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of these passes where a level's own settings are looked at alone.
    #[test]
    fn a_server_by_url_gives_no_level_that_its_settings_weaken() {
        for (weakens, at_commit, given) in [
            (("innodb_doublewrite", "ON"), "1", true),
            (("innodb_doublewrite", "OFF"), "1", false),
            (("innodb_flush_log_at_timeout", "1"), "2", true),
            (("innodb_flush_log_at_timeout", "30"), "2", false),
            (("innodb_flush_log_at_timeout", "1K"), "2", false),
        ] {
            let wanted = if at_commit == "1" { Durability::Strict } else { Durability::Relaxed };
            let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
            let found = [("innodb_flush_log_at_trx_commit", at_commit), weakens].map(own);
            let storage = StorageEngine::InnoDb;
            assert_eq!(check_promise(&found, storage, wanted), Ok(()), "{weakens:?}");
            let said = check_no_weaker(&found, storage, wanted);
            assert_eq!(said.is_ok(), given, "{weakens:?}: {said:?}");
        }
    }

    #[test]
    fn a_server_is_asked_for_all_that_a_level_needs() {
        const LEVELS: [Durability; 3] = Durability::ALL;
        const STRICT: [Durability; 1] = [Durability::Strict];
        let buffered = ("rocksdb_manual_wal_flush", "ON");
        let handed_on = ("rocksdb_manual_wal_flush", "OFF");
        let unlogged = ("rocksdb_write_disable_wal", "ON");
        let innodb = |value| ("innodb_flush_log_at_trx_commit", value);
        let rocksdb = |value| ("rocksdb_flush_log_at_trx_commit", value);
        for (storage, variables, given) in [
            (StorageEngine::RocksDb, vec![rocksdb("1")], &STRICT[..]),
            (StorageEngine::RocksDb, vec![rocksdb("2")], &LEVELS[..2]),
            (StorageEngine::RocksDb, vec![rocksdb("1"), buffered], &STRICT),
            (StorageEngine::RocksDb, vec![rocksdb("2"), buffered], &[]),
            (StorageEngine::RocksDb, vec![rocksdb("2"), handed_on], &LEVELS[..2]),
            (StorageEngine::RocksDb, vec![rocksdb("1"), unlogged], &[]),
            (StorageEngine::RocksDb, vec![rocksdb("2"), unlogged], &[]),
            (StorageEngine::RocksDb, vec![innodb("1")], &[]),
            (StorageEngine::InnoDb, vec![innodb("2"), buffered], &[Durability::Relaxed]),
            (
                StorageEngine::InnoDb,
                vec![innodb("1"), ("log_bin", "ON"), ("innodb_flush_method", "O_DIRECT")],
                &[Durability::Relaxed],
            ),
            (
                StorageEngine::InnoDb,
                vec![innodb("1"), ("log_bin", "ON"), ("sync_binlog", "1")],
                &STRICT,
            ),
            (
                StorageEngine::InnoDb,
                vec![innodb("1"), ("innodb_flush_method", "nosync")],
                &[Durability::None],
            ),
        ] {
            let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            let found: Vec<_> = variables.iter().map(own).collect();
            let gives = |level: &Durability| check_promise(&found, storage, *level).is_ok();
            let levels: Vec<_> = LEVELS.into_iter().filter(gives).collect();
            assert_eq!(levels, given, "{storage:?} with {variables:?}");
        }
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let found = [rocksdb("2"), buffered].map(own);
        let said = check_promise(&found, StorageEngine::RocksDb, Durability::Relaxed)
            .expect_err("buffered");
        assert!(said.contains("rocksdb_manual_wal_flush=ON"), "{said}");
        assert!(said.contains("relaxed needs rocksdb_manual_wal_flush=OFF"), "{said}");
    }
}
