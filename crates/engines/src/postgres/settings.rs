//! The settings of PostgreSQL, each with its reason.

use crate::fair::{Cache, Least, Setting, Share};
use crate::{Durability, Terms};

/// Its shared buffers.
const BUFFERS: Share = Share::percent(
    25,
    "25 % of a memory limit, its documentation's advice: it reads through the system's page cache, \
     which has the rest",
);

/// The least memory of a private server.
pub(super) const LEAST: Least = Least { engine_mib: 40, client_kib: 6 * 1024 };

/// Its shared buffers, as a cache.
pub(super) fn cache(terms: &Terms) -> Cache {
    BUFFERS.cache("shared_buffers", terms)
}

/// What a PostgreSQL session gets, on any server.
pub(super) fn of_session(terms: &Terms) -> Vec<Setting> {
    let synchronous = match terms.durability {
        Durability::None | Durability::Relaxed => "off",
        Durability::Strict => "on",
    };
    vec![
        Setting::durable("synchronous_commit", synchronous),
        Setting::new(
            "default_transaction_isolation",
            "repeatable read",
            "of two that would overwrite each other's work one has to end in a conflict, as with \
             MyRocks",
        ),
    ]
}

/// What a private PostgreSQL server gets. Autovacuum, checkpoints and `full_page_writes` are as
/// they come; so is the log's size, at most 1 GB between two checkpoints.
pub(super) fn of_server(terms: &Terms) -> Vec<Setting> {
    let kib = |bytes: u64| format!("{}kB", bytes / 1024);
    let mut settings = of_session(terms);
    let fsync = if terms.durability == Durability::None { "off" } else { "on" };
    settings.push(Setting::durable("fsync", fsync));
    let mut set = |name, value: &str, reason| settings.push(Setting::new(name, value, reason));
    set("shared_buffers", &kib(BUFFERS.bytes(terms)), BUFFERS.reason);
    set("wal_level", "minimal", "nobody replicates it; a load need not be logged");
    set("max_wal_senders", "0", "wal_level=minimal needs it");
    set("max_connections", "1040", "1,024 clients, and bakeoff itself");
    let few = "each connection reserves memory for so many, and no transaction needs as many";
    set("max_locks_per_transaction", "16", few);
    set("max_pred_locks_per_transaction", "10", few);
    set("huge_pages", "off", "a memory limit does not count them");
    if let Some(limit) = terms.memory_bytes {
        let planner = "what the planner may count on to be in memory: its own and the system's";
        set("effective_cache_size", &kib(limit / 4 * 3), planner);
        let (sorting, upkeep) = ((limit / 256).min(4 << 20), (limit / 16).min(64 << 20));
        set("work_mem", &kib(sorting), "a sort must fit beside the cache under the limit");
        set("maintenance_work_mem", &kib(upkeep), "a vacuum must fit beside the cache too");
    }
    settings
}
