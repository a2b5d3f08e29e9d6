//! Databases on servers that somebody else runs, by their URLs: `mysql://…` and `postgres://…`.
//!
//! Such an engine's name is its URL without the password. Once a URL was found, its name will do
//! for as long as the process runs.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::{Engine, mysql, postgres};

/// A database that was found.
#[derive(Clone, Copy)]
struct Found {
    name: &'static str,
    /// The URL, as it was given.
    url: &'static str,
    engine: &'static dyn Engine,
}

/// What was found, by URL and by name.
static FOUND: Mutex<BTreeMap<&'static str, Found>> = Mutex::new(BTreeMap::new());

/// The database of that URL, or of that name. Nothing is connected yet.
///
/// # Errors
/// What is wrong with the URL, without its password.
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
/// too. Not to be shown.
pub fn url(name: &str) -> Option<&'static str> {
    let found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    found.get(name).map(|found| found.url)
}

fn look(url: &str) -> Result<Found, String> {
    // Nothing can panic while the map is locked but by running out of memory.
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = found.get(url) {
        return Ok(*known);
    }
    let (name, engine): (_, Box<dyn Engine>) = match url.split_once("://") {
        Some(("mysql" | "mariadb", _)) => {
            let database = mysql::elsewhere::Elsewhere::new(url)?;
            (database.name(), Box::new(database))
        }
        Some(("postgres" | "postgresql", _)) => {
            let database = postgres::elsewhere::Elsewhere::new(url)?;
            (database.name(), Box::new(database))
        }
        _ => return Err("a database's URL begins with mysql:// or postgres://".into()),
    };
    let url: &'static str = String::leak(url.into());
    let new = Found { name, url, engine: Box::leak(engine) };
    // A URL without a password does not take the place of one that has it.
    if has_password(url) || !found.contains_key(name) {
        found.insert(name, new);
    }
    found.insert(url, new);
    Ok(new)
}

fn has_password(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::TcpListener;

    use super::*;
    use crate::Home;

    #[test]
    fn where_it_works_is_known_without_a_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        listener.set_nonblocking(true).expect("a listener");
        let address = listener.local_addr().expect("an address");
        for scheme in ["mysql", "postgres"] {
            let engine = find(&format!("{scheme}://me@{address}/db")).expect("a database");
            assert_eq!(engine.home(), Home::Elsewhere);
            let nobody = listener.accept().expect_err("nobody came");
            assert_eq!(nobody.kind(), ErrorKind::WouldBlock, "{scheme}");
        }
    }

    #[test]
    fn a_url_is_found_once_and_then_by_its_name_without_its_password() {
        let cases = [
            ("mysql://me:hidden@localhost/db", "mysql://me@localhost/db#InnoDB"),
            ("postgres://me:hidden@localhost/db", "postgres://me@localhost/db"),
        ];
        for (with, shown) in cases {
            let without = find(shown).expect("a database");
            assert_eq!((name(shown), url(shown)), (Ok(shown), Some(shown)));
            let engine = find(with).expect("a database");
            assert!(!std::ptr::addr_eq(engine, without), "{with}");
            assert_eq!((name(with), url(shown)), (Ok(shown), Some(with)));
            assert!(std::ptr::addr_eq(engine, find(with).expect("the same")), "{with}");
            assert!(std::ptr::addr_eq(engine, find(shown).expect("the same")), "{with}");
        }
        find("mysql://me@localhost/db").expect("another way to write it");
        assert_eq!(url(cases[0].1), Some(cases[0].0));
        assert!(find("ftp://me:hidden@localhost/db").is_err_and(|what| !what.contains("hidden")));
        assert_eq!(url("mysql://nobody@nowhere/db#InnoDB"), None);
    }
}
