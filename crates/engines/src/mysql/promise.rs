//! What the settings of a MariaDB or MySQL server promise.

use super::StorageEngine;
use super::settings::{is_on, never_syncs};
use crate::Durability;

/// The level that these settings give; a setting without a value has its default, which the
/// documentation of each server tells (mariadb.com/kb/en/innodb-system-variables). `None` if a kill
/// of the server alone takes commits, or nobody knows how many a power cut takes.
pub(super) fn find_promise(
    storage: StorageEngine,
    value: &dyn Fn(&str) -> Option<String>,
) -> Option<Durability> {
    let of_storage = match storage {
        StorageEngine::InnoDb => find_innodb_promise(value)?,
        StorageEngine::RocksDb => find_rocksdb_promise(value)?,
        StorageEngine::Aria => find_aria_promise(value)?,
    };
    // With a binary log, recovery keeps the transactions that are in it.
    let logs = value("log_bin").is_some_and(|value| is_on(&value));
    let synced = value("sync_binlog").is_some_and(|value| value == "1");
    let most = if logs && !synced { Durability::Relaxed } else { Durability::Strict };
    Some(of_storage.min(most))
}

/// A value that can't be read here promises nothing: the server may read it otherwise.
fn find_innodb_promise(value: &dyn Fn(&str) -> Option<String>) -> Option<Durability> {
    let at_commit = value("innodb_flush_log_at_trx_commit");
    // Else the server itself holds commits back: a kill takes them.
    if at_commit.as_ref().is_some_and(|value| !["1", "2", "3"].contains(&&**value)) {
        return None;
    }
    let torn = value("innodb_doublewrite")
        .is_some_and(|value| !is_on(&value) && !value.eq_ignore_ascii_case("detect_and_recover"));
    if torn || value("innodb_flush_method").is_some_and(|value| never_syncs(&value)) {
        return Some(Durability::None);
    }
    // 3 syncs as 1 does, and at the preparation too.
    if at_commit.is_none_or(|value| value != "2") {
        return Some(Durability::Strict);
    }
    let seconds = value("innodb_flush_log_at_timeout").map(|value| value.parse::<u64>());
    Some(match seconds {
        None | Some(Ok(0 | 1)) => Durability::Relaxed,
        _ => Durability::None,
    })
}

fn find_rocksdb_promise(value: &dyn Fn(&str) -> Option<String>) -> Option<Durability> {
    let is_set = |name| value(name).is_some_and(|value| is_on(&value));
    let synced = match value("rocksdb_flush_log_at_trx_commit").as_deref() {
        None | Some("1") => true,
        Some("2") => false,
        Some(_) => return None,
    };
    // A commit that is synced is handed to the system first.
    if is_set("rocksdb_write_disable_wal") || is_set("rocksdb_manual_wal_flush") && !synced {
        return None;
    }
    Some(if synced { Durability::Strict } else { Durability::Relaxed })
}

/// Of a soft group commit, an interval of 0 never syncs; it is in microseconds.
fn find_aria_promise(value: &dyn Fn(&str) -> Option<String>) -> Option<Durability> {
    if value("aria_group_commit").is_none_or(|value| !value.eq_ignore_ascii_case("soft")) {
        return Some(Durability::Strict);
    }
    match value("aria_group_commit_interval").map_or(Ok(0), |value| value.parse::<u64>()) {
        Ok(0) => Some(Durability::None),
        Ok(1..=1_000_000) => Some(Durability::Relaxed),
        _ => None,
    }
}
