//! Engines by their names, by levels with options, and by URLs.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::options::EngineLevel;
use crate::{ENGINES, Engine, urls};

/// Engines with options that were asked for, by their levels in canonical form.
static VARIANTS: Mutex<BTreeMap<&str, &dyn Engine>> = Mutex::new(BTreeMap::new());

/// The engine of that level: a name, a name with options, or the URL of a database.
pub fn find(level: &str) -> Option<&'static dyn Engine> {
    find_among(ENGINES, level).ok()
}

/// The engine of that level among these, or the database of that URL (see [`urls`]). No program
/// is started to find it.
///
/// # Errors
/// What is wrong with it in a line, and how to mend it in the lines after that.
pub fn find_among(
    engines: &[&'static dyn Engine],
    level: &str,
) -> Result<&'static dyn Engine, String> {
    if let Some(engine) = engines.iter().copied().find(|engine| engine.about().name == level) {
        return Ok(engine);
    }
    match level.split_once('/') {
        Some((name, _)) if !name.ends_with(':') => variant(&EngineLevel::read(engines, level)?),
        _ => urls::find(level),
    }
}

/// The engine of a level with more options, each by its name with its value: none that the level
/// gives.
///
/// # Errors
/// What is wrong with it in a line, and how to mend it in the lines after that.
pub fn find_with(
    engines: &[&'static dyn Engine],
    level: &str,
    options: &[(&str, &str)],
) -> Result<&'static dyn Engine, String> {
    if options.is_empty() {
        return find_among(engines, level);
    }
    let add = |level: EngineLevel, (name, value): &(&str, &str)| level.with(name, value);
    variant(&options.iter().try_fold(EngineLevel::read(engines, level)?, add)?)
}

/// An engine with options. It is made once, and stays as long as the process runs.
fn variant(level: &EngineLevel) -> Result<&'static dyn Engine, String> {
    let name = level.name();
    // Nothing can panic while the map is locked but by running out of memory.
    let mut variants = VARIANTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(engine) = variants.get(&*name) {
        return Ok(*engine);
    }
    let name = String::leak(name);
    let engine = Box::leak(level.engine.with(name, &level.options)?);
    variants.insert(name, engine);
    Ok(engine)
}
