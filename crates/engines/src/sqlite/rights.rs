//! What a session's statements may do: read and change rows of the schema's tables, in transactions.
//!
//! SQLite has no users. It asks an authorizer while it prepares a statement, and never while it runs one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

use crate::Result;

/// Functions that reach files or code; most of them are extensions.
const FUNCTIONS: [&str; 6] =
    ["edit", "fsdir", "fts3_tokenizer", "load_extension", "readfile", "writefile"];

/// Tables of SQLite's own, which no row of a workload is in.
const OWN: &str = "sqlite_";

/// Table-valued functions, and a table of all pages.
const HIDDEN: [&str; 2] = ["pragma_", "sqlite_dbpage"];

pub(super) struct SqliteRights {
    lifted: Arc<AtomicBool>,
}

impl SqliteRights {
    /// Counts for all that is prepared from now on.
    pub fn restrict(connection: &mut Connection) -> Result<Self> {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        let lifted = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&lifted);
        connection.authorizer(Some(move |asked: AuthContext<'_>| {
            match seen.load(Relaxed) || allows(&asked.action) {
                true => Authorization::Allow,
                false => Authorization::Deny,
            }
        }))?;
        Ok(Self { lifted })
    }

    /// Runs what the session itself sets.
    pub fn lift<T>(&self, own: impl FnOnce() -> T) -> T {
        self.lifted.store(true, Relaxed);
        let done = own();
        self.lifted.store(false, Relaxed);
        done
    }
}

/// All else is refused, also what a later SQLite may bring: databases that are attached, which `VACUUM` needs
/// too, pragmas, changes of the schema.
fn allows(action: &AuthAction<'_>) -> bool {
    match *action {
        AuthAction::Select
        | AuthAction::Recursive
        | AuthAction::Transaction { .. }
        | AuthAction::Savepoint { .. } => true,
        AuthAction::Read { table_name, .. } => {
            !HIDDEN.iter().any(|hidden| begins_with(table_name, hidden))
        }
        AuthAction::Insert { table_name }
        | AuthAction::Update { table_name, .. }
        | AuthAction::Delete { table_name } => !begins_with(table_name, OWN),
        AuthAction::Function { function_name } => {
            !FUNCTIONS.iter().any(|name| function_name.eq_ignore_ascii_case(name))
        }
        _ => false,
    }
}

fn begins_with(name: &str, start: &str) -> bool {
    name.get(..start.len()).is_some_and(|it| it.eq_ignore_ascii_case(start))
}
