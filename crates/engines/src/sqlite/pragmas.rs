//! Settings of the user: pragmas, which a level or a table of settings has.
//!
//! SQLite says nothing of a pragma that it does not know, and takes another value for one that it
//! can't have. So each is set on a database in memory first, and asked for again.

use rusqlite::{Connection, types::Value as SqlValue};

use crate::servers::TrustReason;
use crate::{Durability, Result, SettingStanding, fair};

const JOURNAL: &str = "journal_mode";
const SYNCHRONOUS: &str = "synchronous";
const CACHE: &str = "cache_size";

/// Of the file: set before its first table is made, in this order.
const OF_FILE: [&str; 2] = ["page_size", "auto_vacuum"];
/// Of each connection.
const OF_CONNECTION: [&str; 10] = [
    CACHE,
    "mmap_size",
    "temp_store",
    "wal_autocheckpoint",
    "journal_size_limit",
    "cache_spill",
    "secure_delete",
    "automatic_index",
    "threads",
    "analysis_limit",
];
/// SQLite takes a word for 0, and 0 for what it had.
const NUMBERS: [&str; 7] = [
    "page_size",
    CACHE,
    "mmap_size",
    "wal_autocheckpoint",
    "journal_size_limit",
    "threads",
    "analysis_limit",
];
const SYNCHRONOUS_LEVELS: [&str; 4] = ["OFF", "NORMAL", "FULL", "EXTRA"];

/// Canonical by their names, which are in small letters.
#[derive(Clone)]
pub(super) struct SqlitePragmas(Vec<(String, String)>);

pub(super) fn find_standing(name: &str) -> SettingStanding {
    let name = name.to_ascii_lowercase();
    let known = [&OF_FILE[..], &OF_CONNECTION, &[JOURNAL, SYNCHRONOUS]].concat();
    match known.contains(&&*name) {
        true => SettingStanding::Free,
        // Whether SQLite knows it is found by trying.
        false => SettingStanding::Trusted(TrustReason::Unknown),
    }
}

impl SqlitePragmas {
    /// Of several settings of one name, the last counts.
    pub fn from_settings<'a>(settings: impl Iterator<Item = &'a (String, String)>) -> Self {
        let mut all: Vec<(String, String)> = Vec::new();
        for (name, value) in settings {
            let name = name.to_ascii_lowercase();
            all.retain(|(other, _)| *other != name);
            all.push((name, value.trim().to_owned()));
        }
        Self(all)
    }

    pub fn as_pairs(&self) -> &[(String, String)] {
        &self.0
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(own, _)| own == name).map(|(_, value)| &**value)
    }

    fn journal_mode(&self) -> String {
        self.value(JOURNAL).unwrap_or("wal").to_ascii_lowercase()
    }

    pub fn has_log(&self) -> bool {
        self.journal_mode() == "wal"
    }

    pub fn has_cache(&self) -> bool {
        self.value(CACHE).is_some()
    }

    pub fn synchronous_at(&self, durability: Durability) -> &str {
        let own = self.value(SYNCHRONOUS);
        own.unwrap_or(match (durability, &*self.journal_mode()) {
            (Durability::None, _) => "OFF",
            (Durability::Relaxed, "wal") => "NORMAL",
            (Durability::Strict, "delete") => "EXTRA",
            (Durability::Relaxed | Durability::Strict, _) => "FULL",
        })
    }

    /// What the file is, for a rollback journal too, by sqlite.org/pragma.html#pragma_synchronous. After
    /// a commit that deletes its journal, FULL does not sync the folder: the last commit may be undone.
    fn find_promise(&self, durability: Durability) -> Durability {
        let synchronous = self.synchronous_at(durability).to_ascii_uppercase();
        let place = SYNCHRONOUS_LEVELS.iter().position(|level| *level == synchronous);
        let level = place.or_else(|| synchronous.parse().ok()).unwrap_or(0);
        match (&*self.journal_mode(), level) {
            ("wal", 1) => Durability::Relaxed,
            ("wal" | "truncate" | "persist", 2..) | ("delete", 3..) => Durability::Strict,
            ("delete", 2) => Durability::Relaxed,
            _ => Durability::None,
        }
    }

    /// What the level promises without these, and with them. Two rollback journals have nothing between
    /// their weakest and their strongest level.
    pub fn find_promises(&self, durability: Durability) -> [Option<Durability>; 2] {
        let kept = self.find_promise(durability);
        let is_least = kept > durability && self.value(SYNCHRONOUS).is_none();
        [Some(durability), Some(if is_least { durability } else { kept })]
    }

    pub fn check_level(&self, durability: Durability) -> std::result::Result<(), String> {
        if fair::keeps_promise(self.find_promises(durability)) {
            return Ok(());
        }
        let kept = self.find_promise(durability);
        Err(format!(
            "with your settings SQLite has {JOURNAL}={} and {SYNCHRONOUS}={}, which keep durability {}, not {}: \
             change one of them, or choose that level by `durability`",
            self.journal_mode(),
            self.synchronous_at(durability),
            kept.name(),
            durability.name()
        ))
    }

    /// A new file has its form when its first table is made; a log changes the form of its page size.
    pub fn set_file(&self, connection: &Connection) -> Result<()> {
        for name in OF_FILE {
            self.value(name).map_or(Ok(()), |value| connection.pragma_update(None, name, value))?;
        }
        Ok(connection.pragma_update(None, JOURNAL, self.journal_mode())?)
    }

    pub fn set_connection(&self, connection: &Connection) -> Result<()> {
        for name in OF_CONNECTION {
            self.value(name).map_or(Ok(()), |value| connection.pragma_update(None, name, value))?;
        }
        Ok(())
    }

    /// Whether SQLite takes each of them; else what it makes of the first that it does not take.
    pub fn try_values(&self) -> std::result::Result<(), String> {
        self.0.iter().try_for_each(|(name, value)| try_value(name, value))
    }
}

fn try_value(name: &str, value: &str) -> std::result::Result<(), String> {
    if name == JOURNAL {
        // A database in memory has another.
        return match ["wal", "delete", "truncate", "persist", "memory"]
            .contains(&&*value.to_ascii_lowercase())
        {
            true => Ok(()),
            false => Err(format!(
                "SQLite is run with {JOURNAL} wal, delete, truncate, persist or memory, not with `{value}`"
            )),
        };
    }
    let known = [&OF_FILE[..], &OF_CONNECTION, &[SYNCHRONOUS]].concat();
    if !known.contains(&name) {
        let known = [&known[..], &[JOURNAL]].concat().join(", ");
        return Err(format!(
            "SQLite has no setting `{name}` that a trial can have; it has {known}"
        ));
    }
    let ask = |value: &str| -> rusqlite::Result<SqlValue> {
        let memory = Connection::open_in_memory()?;
        memory.pragma_update(None, name, value)?;
        memory.pragma_query_value(None, name, |row| row.get(0))
    };
    let has = match ask(value) {
        Ok(SqlValue::Integer(number)) => number.to_string(),
        Ok(SqlValue::Text(text)) => text,
        // What is of files alone, a database in memory has not.
        Ok(_) | Err(rusqlite::Error::QueryReturnedNoRows) => value.to_owned(),
        Err(error) => return Err(format!("SQLite refuses {name}={value}: {error}")),
    };
    let is_taken = match value.parse::<i64>() {
        Ok(_) => has == value,
        // A word stands for a number: SQLite takes one that it does not know for 0.
        Err(_) if name == SYNCHRONOUS => {
            SYNCHRONOUS_LEVELS.iter().any(|level| level.eq_ignore_ascii_case(value))
        }
        Err(_) => !NUMBERS.contains(&name) && (has != "0" || is_word_of_zero(value)),
    };
    match is_taken {
        true => Ok(()),
        false => Err(format!("SQLite does not take {name}={value}: it has {has} then")),
    }
}

fn is_word_of_zero(value: &str) -> bool {
    ["off", "no", "false", "none", "default"].contains(&&*value.to_ascii_lowercase())
}
