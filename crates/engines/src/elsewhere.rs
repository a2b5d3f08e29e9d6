//! Databases on servers that somebody else runs, by their URLs: `mysql://…` and `postgres://…`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::{Engine, mysql, postgres};

/// Every URL that was found, for as long as the process runs.
static FOUND: Mutex<BTreeMap<String, &'static dyn Engine>> = Mutex::new(BTreeMap::new());

/// The database of that URL. Nothing is connected yet; the engine's name is the URL without its
/// password.
///
/// # Errors
/// What is wrong with the URL, without its password.
pub fn find(url: &str) -> Result<&'static dyn Engine, String> {
    // Nothing can panic while the map is locked but by running out of memory.
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(engine) = found.get(url) {
        return Ok(*engine);
    }
    let engine: Box<dyn Engine> = match url.split_once("://") {
        Some(("mysql" | "mariadb", _)) => Box::new(mysql::elsewhere::Elsewhere::new(url)?),
        Some(("postgres" | "postgresql", _)) => Box::new(postgres::elsewhere::Elsewhere::new(url)?),
        _ => return Err("a database's URL begins with mysql:// or postgres://".into()),
    };
    let engine: &'static dyn Engine = Box::leak(engine);
    found.insert(url.into(), engine);
    Ok(engine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_found_once_and_shown_without_its_password() {
        for url in ["mysql://me:hidden@localhost/db#InnoDB", "postgres://me:hidden@localhost/db"] {
            let engine = find(url).expect("a database");
            assert!(std::ptr::addr_eq(engine, find(url).expect("the same")), "{url}");
        }
        assert!(find("ftp://me:hidden@localhost/db").is_err_and(|what| !what.contains("hidden")));
    }
}
