//! Databases on servers that somebody else runs, by their URLs: `mysql://…` and `postgres://…`.
//!
//! A URL is taken apart once. Such an engine's name is made of its parts, without the
//! password. Once a URL was found, its name will do for as long as the process runs.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::{Engine, mysql, postgres};

#[cfg(test)]
mod tests;

pub use crate::external::{Password, Secret, TransportSecurity};

/// How the URLs begin, each with the servers that it is for.
pub const KINDS: [(&str, &str); 2] =
    [("mysql://", "MySQL or MariaDB"), ("postgres://", "PostgreSQL")];

/// A database that was found.
#[derive(Clone, Copy)]
struct FoundDatabase {
    name: &'static str,
    /// The URL, as it was given.
    url: &'static Secret,
    engine: &'static dyn Engine,
    password: Password,
}

/// What was found, by URL and by name.
static FOUND: Mutex<BTreeMap<String, FoundDatabase>> = Mutex::new(BTreeMap::new());

/// The database of that URL, or of that name. Nothing is connected yet.
///
/// # Errors
/// What is wrong with the URL, without its password, in a line; how to mend it in the lines after
/// that.
pub fn find(url: &str) -> Result<&'static dyn Engine, String> {
    look(url).map(|found| found.engine)
}

/// The name of the database of that URL: the same for every way to write it, and without the
/// password.
///
/// # Errors
/// As [`find`].
pub fn name(url: &str) -> Result<&'static str, String> {
    look(url).map(|found| found.name)
}

/// The URL that a name was found by, with its password: for another process, which has to find it
/// too.
pub fn url(name: &str) -> Option<&'static Secret> {
    let found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    found.get(name).map(|found| found.url)
}

/// Where the password of the database of that name was, if it was found.
pub fn password(name: &str) -> Option<Password> {
    let found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    found.get(name).map(|found| found.password)
}

fn look(url: &str) -> Result<FoundDatabase, String> {
    // Nothing can panic while the map is locked but by running out of memory.
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = found.get(url) {
        return Ok(*known);
    }
    let (name, password, engine): (_, _, Box<dyn Engine>) = match url.split_once("://") {
        Some(("mysql" | "mariadb", _)) => {
            let database = mysql::external::ExternalMariaDb::new(url)?;
            (database.name(), database.password(), Box::new(database))
        }
        Some(("postgres" | "postgresql", _)) => {
            let database = postgres::external::ExternalPostgres::new(url)?;
            (database.name(), database.password(), Box::new(database))
        }
        _ => return Err("a database's URL begins with mysql:// or postgres://".into()),
    };
    let secret: &'static Secret = Box::leak(Box::new(Secret::new(url)));
    let new = FoundDatabase { name, url: secret, engine: Box::leak(engine), password };
    // A URL without a password does not take the place of one that has it.
    if password == Password::Url || !found.contains_key(name) {
        found.insert(name.to_owned(), new);
    }
    found.insert(url.to_owned(), new);
    Ok(new)
}
