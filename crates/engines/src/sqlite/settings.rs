//! SQLite's settings, with reasons.

use crate::fair::{Least, MemoryShare, Setting};
use crate::{Durability, OpenTerms};

pub(super) const CACHE: MemoryShare = MemoryShare::from_percent(
    25,
    "25 % of a memory limit: it reads through the system's page cache, which has the rest",
);

/// `text-oltp` at scale `large`, 4 clients: 10 MiB were enough in three tests of three; the kernel
/// killed it in 8 in one of two, in 6 in three of three (Debian 12, cgroups v1). A client of
/// `point` needed 4.0 MB.
pub(super) const LEAST: Least = Least { engine_mib: 8, client_kib: 1024 };

pub(super) fn list_settings(terms: &OpenTerms) -> Vec<Setting> {
    let shared = format!("{} KiB in all", CACHE.cache_bytes(terms) / 1024);
    let mut settings = vec![
        Setting::new("journal_mode", "WAL", "readers and the writer do not wait for each other"),
        Setting::new("cache_size", shared, CACHE.explain_size(terms)),
        Setting::new("SQLITE_DBCONFIG_ENABLE_QPSG", "on", "a statement is planned once"),
    ];
    let mut durable = |name, value| settings.push(Setting::for_level(name, value));
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
