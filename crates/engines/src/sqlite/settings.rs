//! The settings of SQLite, each with its reason.

use crate::fair::{Least, MemoryShare, Setting};
use crate::{Durability, OpenTerms};

/// SQLite's page cache, all connections together.
pub(super) const CACHE: MemoryShare = MemoryShare::percent(
    25,
    "25 % of a memory limit: it reads through the system's page cache, which has the rest",
);

/// The least memory of a trial's process with it, by `text-oltp` at scale `large` with 4 clients: it was served in
/// 10 MiB in each of three tests, and the kernel ended it in 8 in one of two and in 6 in three of three (Debian 12,
/// control groups of version 1). A client of `point` was served in 4.0 MB.
pub(super) const LEAST: Least = Least { engine_mib: 8, client_kib: 1024 };

/// What SQLite's connections get.
pub(super) fn settings(terms: &OpenTerms) -> Vec<Setting> {
    let shared = format!("{} KiB in all", CACHE.bytes(terms) / 1024);
    let mut settings = vec![
        Setting::new("journal_mode", "WAL", "readers and the writer do not wait for each other"),
        Setting::new("cache_size", shared, CACHE.why(terms)),
        Setting::new("SQLITE_DBCONFIG_ENABLE_QPSG", "on", "a statement is planned once"),
    ];
    let mut durable = |name, value| settings.push(Setting::durable(name, value));
    match terms.durability {
        Durability::None => durable("synchronous", "OFF"),
        Durability::Relaxed => {
            durable("synchronous", "NORMAL");
            durable("wal_checkpoint(PASSIVE)", "every second");
        }
        Durability::Strict => {}
    }
    settings
}
