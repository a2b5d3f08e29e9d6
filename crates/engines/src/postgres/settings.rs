//! The settings of PostgreSQL, each with its reason.

use bakeoff_factor::{DEFAULT, Declared};

use crate::fair::{EngineCache, Least, MemoryShare, Setting, UserSettings};
use crate::options::EngineOption;
use crate::{Durability, OpenTerms, fair};

/// Its shared buffers.
const BUFFERS: MemoryShare = MemoryShare::percent(
    25,
    "25 % of a memory limit, its documentation's advice: it reads through the system's page cache, \
     which has the rest",
);

/// How PostgreSQL compresses the long texts of rows that are over 2 kB
/// (postgresql.org/docs/current/storage-toast.html).
pub(super) const COMPRESSION: EngineOption = EngineOption {
    factor: &Declared {
        name: "compression",
        summary: "how texts of rows over 2 kB are compressed: default_toast_compression, pglz by itself",
        syntax: "pglz or lz4",
        default: DEFAULT,
        canonical: |text| match text {
            "pglz" | "lz4" => Ok(text.to_owned()),
            _ => Err(format!("`{text}` is not a compression of PostgreSQL's\nvalid: pglz, lz4")),
        },
    },
    trust: None,
};

/// The settings that an option stands for; none where it is a setting by its own name.
pub(super) fn stands_for(option: &str, value: &str) -> Vec<(String, String)> {
    let is_compression = option == COMPRESSION.factor.name;
    let setting = is_compression.then(|| ("default_toast_compression".into(), value.into()));
    setting.into_iter().collect()
}

/// The least memory of a private server: `text-oltp` at scale `large`, `point_select90_update10`, 4 clients,
/// PostgreSQL 15.18, control groups of version 1. It served in 48 MiB, 8 of them page cache; in 32 the
/// kernel ended it while the tables were read. Each client is a process.
pub(super) const LEAST: Least = Least { engine_mib: 36, client_kib: 4 * 1024 };

/// Its shared buffers, as a cache.
pub(super) fn cache(terms: &OpenTerms) -> EngineCache {
    BUFFERS.cache("shared_buffers", terms)
}

/// What a PostgreSQL session gets, on any server.
pub(super) fn of_session(terms: &OpenTerms) -> Vec<Setting> {
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

/// Makes sure that settings of the user's own leave a level of durability whole that bakeoff leaves alone:
/// a page that is half written when the power goes is mended by the image of it in the log alone.
pub(super) fn kept(durability: Durability, own: &UserSettings<'_>) -> Result<(), String> {
    match own.find_settings("full_page_writes").find(|(_, value)| !is_on(value)) {
        None => Ok(()),
        Some((_, value)) => Err(fair::undone(durability, "full_page_writes", value, "on")),
    }
}

/// Whether PostgreSQL reads a value as true: it takes the beginning of a word for the word
/// (postgresql.org/docs/current/config-setting.html).
fn is_on(value: &str) -> bool {
    let value = value.trim().to_ascii_lowercase();
    let begins = |word: &str| !value.is_empty() && word.starts_with(&value);
    value == "on" || value == "1" || begins("true") || begins("yes")
}

/// What a private PostgreSQL server gets. Autovacuum, checkpoints and `full_page_writes` are as
/// they come; so is the log's size, at most 1 GB between two checkpoints.
pub(super) fn of_server(terms: &OpenTerms) -> Vec<Setting> {
    let kib = |bytes: u64| format!("{}kB", bytes / 1024);
    let mut settings = of_session(terms);
    let fsync = if terms.durability == Durability::None { "off" } else { "on" };
    settings.push(Setting::durable("fsync", fsync));
    let mut set = |name, value: &str, reason| settings.push(Setting::new(name, value, reason));
    set("shared_buffers", &kib(BUFFERS.bytes(terms)), BUFFERS.why(terms));
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
