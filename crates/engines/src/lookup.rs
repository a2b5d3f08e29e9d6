//! Engines by their names, by levels with options, and by URLs.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::options::EngineLevel;
use crate::{ENGINES, Engine, urls};

static VARIANTS: Mutex<BTreeMap<&str, &dyn Engine>> = Mutex::new(BTreeMap::new());

/// The engine of a level: a name, a name with options, or the URL of a database.
pub fn find_level(level: &str) -> Option<&'static dyn Engine> {
    find_among(ENGINES, level).ok()
}

/// The engine of a level among these, or the database of a URL (see [`urls`]). No program is
/// started.
pub fn find_among(
    engines: &[&'static dyn Engine],
    level: &str,
) -> Result<&'static dyn Engine, String> {
    if let Some(engine) = engines.iter().copied().find(|engine| engine.about().name == level) {
        return Ok(engine);
    }
    match level.split_once('/') {
        Some((name, _)) if !name.ends_with(':') => {
            find_variant(&EngineLevel::from_text(engines, level)?)
        }
        _ => urls::find_database(level),
    }
}

/// The engine of a level with more options (name, value), none of which the level has.
pub fn find_with(
    engines: &[&'static dyn Engine],
    level: &str,
    options: &[(&str, &str)],
) -> Result<&'static dyn Engine, String> {
    if options.is_empty() {
        return find_among(engines, level);
    }
    let add = |level: EngineLevel, (name, value): &(&str, &str)| level.with_option(name, value);
    find_variant(&options.iter().try_fold(EngineLevel::from_text(engines, level)?, add)?)
}

fn find_variant(level: &EngineLevel) -> Result<&'static dyn Engine, String> {
    let name = level.to_name();
    // Only running out of memory could panic while the map is locked.
    let mut variants = VARIANTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(engine) = variants.get(&*name) {
        return Ok(*engine);
    }
    let name = String::leak(name);
    let engine = Box::leak(level.engine.with(name, &level.options)?);
    variants.insert(name, engine);
    Ok(engine)
}
