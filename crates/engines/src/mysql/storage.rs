//! The storage engines of a MariaDB server: what each is called and promises.

use mysql::Conn;
use mysql::prelude::Queryable;

use super::error;
use std::time::Duration;

use crate::{Durability, Error, Promise, Result, Setting, Terms, fair};

/// A storage engine of a MariaDB server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// InnoDB.
    InnoDb,
    /// MyRocks, a plugin.
    RocksDb,
    /// Aria.
    Aria,
}

impl Storage {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::InnoDb, Self::RocksDb, Self::Aria];

    /// Its name, as the server writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::InnoDb => "InnoDB",
            Self::RocksDb => "ROCKSDB",
            Self::Aria => "Aria",
        }
    }

    /// The storage engine of that name.
    pub(super) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|storage| storage.name().eq_ignore_ascii_case(name))
    }

    /// The plugin that brings it, where it is not built in.
    pub fn plugin(self) -> Option<&'static str> {
        match self {
            Self::RocksDb => Some("ha_rocksdb"),
            Self::InnoDb | Self::Aria => None,
        }
    }

    /// The server's settings that give a durability level.
    ///
    /// A server that is killed must not lose what it has acknowledged, under any level: the
    /// settings that keep commits in the process (`0` for InnoDB and MyRocks) would.
    pub fn durable(self, durability: Durability) -> &'static [(&'static str, &'static str)] {
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

    /// What a private server gets with all tables in it.
    pub(super) fn settings(self, terms: &Terms) -> Vec<Setting> {
        let durable = self.durable(terms.durability);
        match self {
            Self::InnoDb => fair::innodb(durable, terms),
            Self::RocksDb => fair::rocksdb(durable, terms),
            Self::Aria => fair::aria(durable, terms),
        }
    }

    /// What the server is told when it has started, for a durability level: a server that starts
    /// with `aria_group_commit=soft` syncs every commit all the same until the variable changes
    /// (counted on MariaDB 10.11.19).
    pub(super) fn told(self, durability: Durability) -> &'static [&'static str] {
        match (self, durability) {
            (Self::Aria, Durability::None | Durability::Relaxed) => {
                &["SET GLOBAL aria_group_commit = 'none'", "SET GLOBAL aria_group_commit = 'soft'"]
            }
            _ => &[],
        }
    }

    /// How it gives each durability level.
    pub(super) fn promises(self) -> [Promise; 3] {
        let [none, relaxed, strict] = match self {
            Self::InnoDb => INNODB,
            Self::RocksDb => ROCKSDB,
            Self::Aria => ARIA,
        };
        let promise = |durability, (settings, source)| Promise {
            durability,
            settings: Some(settings),
            source,
            window: None,
            most_lost: None,
        };
        [
            promise(Durability::None, none),
            promise(Durability::Relaxed, relaxed).within(Duration::from_secs(1)),
            promise(Durability::Strict, strict),
        ]
    }
}

/// For each level its settings, and what they promise.
type Levels = [(&'static str, &'static str); 3];

const INNODB: Levels = [
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

const ROCKSDB: Levels = [
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

const ARIA: Levels = [
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

/// Reads back from the server that it promises what was asked for.
pub(super) fn confirm(server: &mut Conn, storage: Storage, wanted: Durability) -> Result<()> {
    let found: Vec<(String, String)> =
        server.query("SHOW GLOBAL VARIABLES").map_err(error::plain)?;
    let found = |name: &str| {
        let variable = found.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
        variable.map_or("nothing", |(_, value)| value)
    };
    let differs = |name: &str, value: &str| {
        let (found, level) = (found(name), wanted.name());
        Err(Error::Usage(format!(
            "the server runs with {name}={found}, and durability {level} is {name}={value}: \
             set it so, or ask for another level"
        )))
    };
    for (name, value) in storage.durable(wanted) {
        if !found(name).eq_ignore_ascii_case(value) {
            return differs(name, value);
        }
    }
    let syncs = wanted != Durability::None;
    let method = found("innodb_flush_method");
    if storage == Storage::InnoDb && syncs && ["nosync", "littlesync"].contains(&method) {
        return differs("innodb_flush_method", "fsync or O_DIRECT");
    }
    // With a binary log, recovery keeps the transactions that are in it.
    let logs = found("log_bin").eq_ignore_ascii_case("ON");
    if logs && wanted == Durability::Strict && found("sync_binlog") != "1" {
        return differs("sync_binlog", "1");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_not_undone_by_a_setting_of_the_users_own() {
        let mut terms = Terms::new(Durability::Strict);
        let kept = |terms: &Terms| fair::keep_level(&Storage::InnoDb.settings(terms), terms);
        terms.settings = vec![("innodb_doublewrite".into(), "OFF".into())];
        assert!(kept(&terms).is_ok());
        terms.settings.push(("innodb_flush_log_at_trx_commit".into(), "0".into()));
        for level in Durability::ALL {
            terms.durability = level;
            let answer = kept(&terms);
            let named = |what: &str| what.starts_with("innodb_flush_log_at_trx_commit=0 among");
            assert!(matches!(&answer, Err(Error::Usage(what)) if named(what)), "{answer:?}");
        }
    }
}
