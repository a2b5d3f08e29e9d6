//! The settings of Tarantool, each with its reason.

use super::storage::{Logged, Storage};
use crate::Terms;
use crate::fair::{Cache, Setting, Share};

/// The memory for tuples and indexes of memtx.
const TUPLES: Share = Share::percent(
    75,
    "75 % of a memory limit: all data have to be in it; the rest is for Lua, the connections and the log",
);
/// The same where memory is not limited, in bytes. It is taken as it is used.
const UNLIMITED_TUPLES: u64 = 4 << 30;
/// vinyl's cache of tuples.
const CACHE: Share = Share::percent(
    25,
    "25 % of a memory limit: it reads through the system's page cache, which has the rest",
);
/// vinyl's memory for what is not dumped yet, as it is by default, in bytes.
const LEVEL_0: u64 = 128 << 20;
/// The longest tuple, in bytes: a text of 16 MiB, and what is beside it.
const LONGEST: u64 = 32 << 20;

/// vinyl's cache.
pub(super) fn cache(terms: &Terms) -> Cache {
    CACHE.cache("vinyl_cache", terms)
}

/// What a private server gets with all tables in that storage engine.
pub(super) fn settings(logged: Logged, terms: &Terms) -> Vec<Setting> {
    let mut settings = vec![
        Setting::durable("wal_mode", logged.wal_mode(terms.durability)),
        Setting::new("net_msg_max", 2048, "1,024 clients ask at the same time"),
        Setting::new("log_level", 4, "a line for each connection is left out of its log"),
    ];
    settings.extend(match logged.storage {
        Storage::Memtx => memtx(terms),
        Storage::Vinyl => vinyl(terms),
    });
    settings
}

fn memtx(terms: &Terms) -> Vec<Setting> {
    let tuples = terms.memory_bytes.map_or(UNLIMITED_TUPLES, |_| TUPLES.bytes(terms));
    vec![
        Setting::new("memtx_memory", tuples, TUPLES.reason),
        Setting::new("memtx_max_tuple_size", LONGEST, "a text of 16 MiB is in one tuple"),
    ]
}

fn vinyl(terms: &Terms) -> Vec<Setting> {
    let mut settings = vec![
        Setting::new("vinyl_cache", CACHE.bytes(terms), CACHE.reason),
        Setting::new("vinyl_max_tuple_size", LONGEST, "a text of 16 MiB is in one tuple"),
        Setting::new("memtx_memory", 64 << 20, "no table of the experiment is in memtx"),
    ];
    let eighth = terms.memory_bytes.map_or(u64::MAX, |limit| limit / 8);
    if eighth < LEVEL_0 {
        let why = "an eighth of the limit: 128 MiB of changes that are not dumped do not fit";
        settings.push(Setting::new("vinyl_memory", eighth, why));
    }
    settings
}
