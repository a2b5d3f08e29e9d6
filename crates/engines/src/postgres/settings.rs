//! The settings of PostgreSQL, each with its reason.

use crate::{DEFAULT, Declared};

use crate::fair::{EngineCache, Least, MemoryShare, Setting, UserSettings};
use crate::options::EngineOption;
use crate::{Durability, OpenTerms, fair};

const BUFFERS: MemoryShare = MemoryShare::from_percent(
    25,
    "25 % of a memory limit, its documentation's advice: it reads through the system's page cache, \
     which has the rest",
);

/// Compression of texts in rows over 2 kB (postgresql.org/docs/current/storage-toast.html).
pub(super) const COMPRESSION: EngineOption = EngineOption {
    factor: &Declared {
        name: "compression",
        summary: "how texts of rows over 2 kB are compressed: default_toast_compression, pglz by itself",
        syntax: "pglz or lz4",
        default: DEFAULT,
        canonical: &|text| match text {
            "pglz" | "lz4" => Ok(text.to_owned()),
            _ => Err(format!("`{text}` is not a compression of PostgreSQL's\nvalid: pglz, lz4")),
        },
    },
    trust: None,
};

/// The settings that an option stands for; empty if it is a setting by its own name.
pub(super) fn stands_for(option: &str, value: &str) -> Vec<(String, String)> {
    let is_compression = option == COMPRESSION.factor.name;
    let setting = is_compression.then(|| ("default_toast_compression".into(), value.into()));
    setting.into_iter().collect()
}

/// `text-oltp` at scale `large`, `point_select90_update10`, 4 clients, PostgreSQL 15.18, cgroups
/// v1: 48 MiB were enough, 8 of them page cache; in 32 the kernel killed it while the tables were
/// read. Each client is a process.
pub(super) const LEAST: Least = Least { engine_mib: 36, client_kib: 4 * 1024 };

pub(super) fn buffer_cache(terms: &OpenTerms) -> EngineCache {
    BUFFERS.to_cache("shared_buffers", terms)
}

pub(super) fn of_session(terms: &OpenTerms) -> Vec<Setting> {
    let synchronous = match terms.durability {
        Durability::None | Durability::Relaxed => "off",
        Durability::Strict => "on",
    };
    let isolation = Setting::new(
        "default_transaction_isolation",
        "repeatable read",
        "of two that would overwrite each other's work one has to end in a conflict, as with MyRocks",
    );
    let durable = Setting::for_level("synchronous_commit", synchronous);
    let durable = (!terms.as_is).then_some(durable);
    durable.into_iter().chain([isolation]).collect()
}

/// What [`find_promise`] asks for.
pub(super) const OF_PROMISE: [&str; 4] =
    ["fsync", "full_page_writes", "synchronous_commit", "wal_writer_delay"];

/// The level that these settings give; a setting without a value has its default. Without page
/// images in the log, a page that is half written at a power cut stays broken. With
/// `synchronous_commit=off` a cut takes what was committed in three delays of the log's writer
/// (postgresql.org/docs/current/wal-async-commit.html).
pub(super) fn find_promise<'v>(value: impl Fn(&str) -> Option<&'v str>) -> Durability {
    let [fsync, images, synchronous, delay] = OF_PROMISE.map(value);
    let is_lost = |value: Option<&str>| value.is_some_and(|value| !is_on(value));
    if is_lost(fsync) || is_lost(images) {
        return Durability::None;
    }
    if !synchronous.is_some_and(is_off) {
        return Durability::Strict;
    }
    // A value that can't be read here promises nothing: the server may read it otherwise.
    let is_short = |delay| parse_delay_ms(delay).is_some_and(|delay_ms| delay_ms <= 1000.0 / 3.0);
    match delay.is_none_or(is_short) {
        true => Durability::Relaxed,
        false => Durability::None,
    }
}

/// A number without a unit is in milliseconds.
fn parse_delay_ms(value: &str) -> Option<f64> {
    let end = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
    let (number, unit) = value.split_at(end);
    let factor = match unit.trim() {
        "us" => 0.001,
        "" | "ms" => 1.0,
        "s" => 1e3,
        "min" => 60e3,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

/// Refuses settings of the user that undo a durability level in ways that bakeoff's own settings
/// don't cover: only the page images in the log mend a page that is half written at a power cut.
pub(super) fn keep_level(durability: Durability, own: &UserSettings<'_>) -> Result<(), String> {
    match own.find_settings("full_page_writes").find(|(_, value)| !is_on(value)) {
        None => Ok(()),
        Some((_, value)) => {
            Err(fair::explain_undone_level(durability, "full_page_writes", value, "on"))
        }
    }
}

/// `synchronous_commit` has words besides, each of which waits for the log of this server.
fn is_off(value: &str) -> bool {
    let value = value.trim().to_ascii_lowercase();
    let begins = |word: &str, least: usize| value.len() >= least && word.starts_with(&value);
    value == "0" || begins("off", 2) || begins("false", 1) || begins("no", 1)
}

/// Whether PostgreSQL reads a value as true: it takes the beginning of a word for the word
/// (postgresql.org/docs/current/config-setting.html).
fn is_on(value: &str) -> bool {
    let value = value.trim().to_ascii_lowercase();
    let begins = |word: &str| !value.is_empty() && word.starts_with(&value);
    value == "on" || value == "1" || begins("true") || begins("yes")
}

/// For a private server. Autovacuum, checkpoints and `full_page_writes` are defaults; so is the
/// log's size, at most 1 GB between two checkpoints.
pub(super) fn of_server(terms: &OpenTerms) -> Vec<Setting> {
    let kib = |bytes: u64| format!("{}kB", bytes / 1024);
    let mut settings = of_session(terms);
    let fsync = if terms.durability == Durability::None { "off" } else { "on" };
    settings.push(Setting::for_level("fsync", fsync));
    let mut set = |name, value: &str, reason| settings.push(Setting::new(name, value, reason));
    set("shared_buffers", &kib(BUFFERS.cache_bytes(terms)), BUFFERS.explain_size(terms));
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
