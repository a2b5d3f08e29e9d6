//! The settings of Tarantool, each with its reason.

use super::storage::{LoggedStorage, TarantoolStorage};
use crate::OpenTerms;
use crate::fair::{EngineCache, Least, MemoryShare, Setting};

/// The part of a memory limit that is for tuples and indexes of memtx, in percent.
const TUPLES_PERCENT: u64 = 75;
/// What each entry of a table or an index takes there beside the bytes of the rows: it is a tuple, with a place in
/// a tree. Redmine's rows at `small` have 5.7 MB in 102,361 entries and took 9.3 MB (Tarantool 2.6.0).
const ENTRY_BYTES: u64 = 35;
/// The memory for tuples and indexes of memtx.
const TUPLES: MemoryShare = MemoryShare::percent(
    TUPLES_PERCENT,
    "75 % of a memory limit: all data have to be in it; the rest is for Lua, the connections and the log",
);
/// The same where memory is not limited, in bytes. It is taken as it is used.
const UNLIMITED_TUPLES: u64 = 4 << 30;
/// vinyl's cache of tuples.
const CACHE: MemoryShare = MemoryShare::percent(
    25,
    "25 % of a memory limit: it reads through the system's page cache, which has the rest",
);
/// vinyl's memory for what is not dumped yet, as it is by default, in bytes.
const LEVEL_0: u64 = 128 << 20;
/// The longest tuple, in bytes: a text of 16 MiB, and what is beside it.
const LONGEST: u64 = 32 << 20;

/// vinyl's cache.
pub(super) fn cache(terms: &OpenTerms) -> EngineCache {
    CACHE.cache("vinyl_cache", terms)
}

/// The least limit of memory whose part for tuples and indexes of memtx holds rows of so many bytes, in so many
/// entries of tables and indexes.
pub(super) fn least(rows: u64, entries: u64) -> Least {
    let taken = u128::from(rows) + u128::from(entries) * u128::from(ENTRY_BYTES);
    let mib = (100 * taken).div_ceil(u128::from(TUPLES_PERCENT) << 20);
    Least { engine_mib: u64::try_from(mib).unwrap_or(u64::MAX >> 20), client_kib: 0 }
}

/// What a private server gets with all tables in that storage engine.
pub(super) fn settings(logged: LoggedStorage, terms: &OpenTerms) -> Vec<Setting> {
    let mut settings = vec![
        Setting::durable("wal_mode", logged.wal_mode(terms.durability)),
        Setting::new("net_msg_max", 2048, "1,024 clients ask at the same time"),
        Setting::new("log_level", 4, "a line for each connection is left out of its log"),
    ];
    settings.extend(match logged.storage {
        TarantoolStorage::Memtx => memtx(terms),
        TarantoolStorage::Vinyl => vinyl(terms),
    });
    settings
}

/// How transactions of several requests are had, which no setting of a server says: reports tell it beside these.
pub(super) fn transactions(storage: TarantoolStorage) -> Setting {
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

fn memtx(terms: &OpenTerms) -> Vec<Setting> {
    let (tuples, why) = match terms.memory_bytes {
        Some(_) => (TUPLES.bytes(terms), TUPLES.reason),
        None => (UNLIMITED_TUPLES, "4 GiB where memory is not limited, taken as they are used"),
    };
    vec![
        Setting::new("memtx_memory", tuples, why),
        Setting::new("memtx_max_tuple_size", LONGEST, "a text of 16 MiB is in one tuple"),
    ]
}

fn vinyl(terms: &OpenTerms) -> Vec<Setting> {
    let mut settings = vec![
        Setting::new("vinyl_cache", CACHE.bytes(terms), CACHE.why(terms)),
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
            let given = settings(engine.logged, &terms);
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
            let least = least(rows, entries).bytes(4);
            let room = |limit: u64| {
                let terms =
                    OpenTerms { memory_bytes: Some(limit), ..OpenTerms::new(Durability::Strict) };
                let set = memtx(&terms).into_iter().find(|it| it.name == "memtx_memory");
                set.expect("it is set").value.parse::<u64>().expect("bytes")
            };
            assert!(room(least) + 1 >= taken, "{rows}: {least}");
            assert!(least == 0 || room(least - MIB) <= taken, "{rows}: {least}");
        }
    }
}
