//! Tarantool's settings, with reasons.

use super::storage::{LoggedStorage, TarantoolStorage};
use crate::OpenTerms;
use crate::fair::{EngineCache, Least, MemoryShare, Setting};

const TUPLES_PERCENT: u64 = 75;
/// Bytes of memtx per entry of a table or an index, beside the rows' own: a tuple, with a place in
/// a tree. Redmine's rows at `small` have 5.7 MB in 102,361 entries and took 9.3 MB (Tarantool
/// 2.6.0).
const ENTRY_BYTES: u64 = 35;
const TUPLES: MemoryShare = MemoryShare::from_percent(
    TUPLES_PERCENT,
    "75 % of a memory limit: all data have to be in it; the rest is for Lua, the connections and the log",
);
const UNLIMITED_TUPLES: u64 = 4 << 30;
const CACHE: MemoryShare = MemoryShare::from_percent(
    25,
    "25 % of a memory limit: it reads through the system's page cache, which has the rest",
);
const LEVEL_0: u64 = 128 << 20;
/// Bytes of the longest tuple: a text of 16 MiB, and what is beside it.
const LONGEST: u64 = 32 << 20;

pub(super) fn vinyl_cache(terms: &OpenTerms) -> EngineCache {
    CACHE.to_cache("vinyl_cache", terms)
}

/// The least memory limit whose part for memtx holds these bytes of rows, in these entries of
/// tables and indexes.
pub(super) fn least_memory(rows: u64, entries: u64) -> Least {
    let taken = u128::from(rows) + u128::from(entries) * u128::from(ENTRY_BYTES);
    let mib = (100 * taken).div_ceil(u128::from(TUPLES_PERCENT) << 20);
    Least { engine_mib: u64::try_from(mib).unwrap_or(u64::MAX >> 20), client_kib: 0 }
}

pub(super) fn list_settings(logged: LoggedStorage, terms: &OpenTerms) -> Vec<Setting> {
    let mut settings = vec![
        Setting::for_level("wal_mode", logged.wal_mode(terms.durability)),
        Setting::new("net_msg_max", 2048, "1,024 clients ask at the same time"),
        Setting::new("log_level", 4, "a line for each connection is left out of its log"),
    ];
    settings.extend(match logged.storage {
        TarantoolStorage::Memtx => memtx_settings(terms),
        TarantoolStorage::Vinyl => vinyl_settings(terms),
    });
    settings
}

/// How transactions over several requests work. No setting of the server shows it, but reports list
/// it beside the settings.
pub(super) fn transactions_setting(storage: TarantoolStorage) -> Setting {
    let (how, why) = match storage {
        TarantoolStorage::Memtx => (
            "stored functions",
            "2.6 has none over several requests, and later versions are used alike: a commit is one call, which \
             looks for what was read among the last changes and reads nothing a second time",
        ),
        TarantoolStorage::Vinyl => (
            "stored functions in a fiber",
            "2.6 has none over several requests, and later versions are used alike: a fiber of the server has \
             vinyl's own transaction, which finds the conflicts and reads nothing a second time",
        ),
    };
    Setting::new("transactions", how, why)
}

fn memtx_settings(terms: &OpenTerms) -> Vec<Setting> {
    let (tuples, why) = match terms.memory_bytes {
        Some(_) => (TUPLES.cache_bytes(terms), TUPLES.reason),
        None => (UNLIMITED_TUPLES, "4 GiB where memory is not limited, taken as they are used"),
    };
    vec![
        Setting::new("memtx_memory", tuples, why),
        Setting::new("memtx_max_tuple_size", LONGEST, "a text of 16 MiB is in one tuple"),
    ]
}

fn vinyl_settings(terms: &OpenTerms) -> Vec<Setting> {
    let mut settings = vec![
        Setting::new("vinyl_cache", CACHE.cache_bytes(terms), CACHE.explain_size(terms)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Durability, Engine};

    #[test]
    fn a_report_tells_how_transactions_are_had_and_no_server_is_told() {
        for (engine, how) in [
            (&crate::tarantool::MEMTX, "stored functions"),
            (&crate::tarantool::VINYL, "stored functions in a fiber"),
        ] {
            let terms = OpenTerms::new(Durability::Strict);
            let told = engine.settings(&terms).into_iter().find(|it| it.name == "transactions");
            let told = told.expect("it is told");
            assert_eq!(told.value, how);
            assert!(told.reason.is_some_and(|why| why.contains("reads nothing a second time")));
            let given = list_settings(engine.logged, &terms);
            assert!(given.iter().all(|it| it.name != "transactions"), "{given:?}");
        }
    }

    #[test]
    fn the_least_limit_has_room_for_the_rows_as_they_were_measured_and_a_lower_one_has_not() {
        const MIB: u64 = 1 << 20;
        // Redmine at small and large, articles at large, and nothing.
        let measured: [(u64, u64, u64); 2] = [(0, 0, 0), (5_700_000, 102_361, 9_300_000)];
        let by_rule: [(u64, u64); 3] =
            [(57_000_000, 1_000_332), (244_000_000, 200_000), (1 << 40, 1 << 30)];
        let by_rule = by_rule.map(|(rows, entries)| (rows, entries, rows + ENTRY_BYTES * entries));
        for (rows, entries, taken) in measured.into_iter().chain(by_rule) {
            let least = least_memory(rows, entries).bytes_for_clients(4);
            let room = |limit: u64| {
                let terms =
                    OpenTerms { memory_bytes: Some(limit), ..OpenTerms::new(Durability::Strict) };
                let set = memtx_settings(&terms).into_iter().find(|it| it.name == "memtx_memory");
                set.expect("it is set").value.parse::<u64>().expect("bytes")
            };
            assert!(room(least) + 1 >= taken, "{rows}: {least}");
            assert!(least == 0 || room(least - MIB) <= taken, "{rows}: {least}");
        }
    }
}
