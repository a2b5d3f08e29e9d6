//! Databases on external servers by URL: `mysql://…` and `postgres://…`.
//!
//! A URL is parsed once. The engine's name is made of its parts without the password; once the URL
//! was found, the name will do while the process runs.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::{Engine, mysql, postgres};

#[cfg(test)]
mod tests;

pub use crate::external::{Password, Secret, TransportSecurity};

/// Schemes, each with its servers.
pub const KINDS: [(&str, &str); 2] =
    [("mysql://", "MySQL or MariaDB"), ("postgres://", "PostgreSQL")];

#[derive(Clone, Copy)]
struct FoundDatabase {
    name: &'static str,
    url: &'static Secret,
    engine: &'static dyn Engine,
    password: Password,
}

static FOUND: Mutex<BTreeMap<String, FoundDatabase>> = Mutex::new(BTreeMap::new());

/// The database of that URL or name. Nothing is connected yet.
pub fn find_database(url: &str) -> Result<&'static dyn Engine, String> {
    find_or_parse(url).map(|found| found.engine)
}

/// The canonical name for a URL, without the password.
pub fn find_name(url: &str) -> Result<&'static str, String> {
    find_or_parse(url).map(|found| found.name)
}

/// The URL that a name was found by, with its password: another process has to find it, too.
pub fn find_url(name: &str) -> Option<&'static Secret> {
    let found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    found.get(name).map(|found| found.url)
}

/// The source of a database's password, if it was found.
pub fn find_password(name: &str) -> Option<Password> {
    let found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    found.get(name).map(|found| found.password)
}

fn find_or_parse(url: &str) -> Result<FoundDatabase, String> {
    // Only running out of memory could panic while the map is locked.
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = found.get(url) {
        return Ok(*known);
    }
    let (name, password, engine): (_, _, Box<dyn Engine>) = match url.split_once("://") {
        Some(("mysql" | "mariadb", _)) => {
            let database = mysql::external::ExternalMariaDb::new(url)?;
            (database.database.name, database.database.password(), Box::new(database))
        }
        Some(("postgres" | "postgresql", _)) => {
            let database = postgres::external::ExternalPostgres::new(url)?;
            (database.database.name, database.database.password(), Box::new(database))
        }
        _ => return Err("a database's URL begins with mysql:// or postgres://".into()),
    };
    let secret: &'static Secret = Box::leak(Box::new(Secret::new(url)));
    let new = FoundDatabase { name, url: secret, engine: Box::leak(engine), password };
    // A URL without a password does not replace one that has it.
    if password == Password::Url || !found.contains_key(name) {
        found.insert(name.to_owned(), new);
    }
    found.insert(url.to_owned(), new);
    Ok(new)
}
