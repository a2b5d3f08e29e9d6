//! One value of a factor: how it is written, and its one canonical form.
//!
//! A level is kept as text. `04` and `4` clients are the same level, so every level is brought
//! into its canonical form where it comes in. A level may carry an alias, `NAME@again`, which
//! enters it into a comparison once more under another name.

use std::collections::BTreeSet;

use crate::message::ExperimentProblem;
use crate::{Factor, Vocabulary, engines};

/// What stands between a level and its alias.
const ALIAS: char = '@';
/// The alias under which the noise floor is measured.
const AGAIN: &str = "again";

/// The level without its alias: `NAME` for `NAME@again`.
pub fn base(level: &str) -> &str {
    split(level).0
}

/// The engine's name in a level: `NAME` for `NAME/option=value@again`. The URL of a database is its own.
pub fn engine(level: &str) -> &str {
    engines::engine(base(level))
}

/// A level and its alias. In a URL an alias stands behind the last slash alone: before that, `@`
/// is the host's.
fn split(level: &str) -> (&str, Option<&str>) {
    let host = level.find("://").map_or(0, |scheme| scheme + 3);
    let start = match level[host..].rfind('/') {
        Some(slash) if host > 0 => host + slash,
        None if host > 0 => return (level, None),
        _ => 0,
    };
    match level[start..].split_once(ALIAS) {
        Some((base, alias)) => (&level[..start + base.len()], Some(alias)),
        None => (level, None),
    }
}

/// Levels without their aliases, each once.
pub(crate) fn each_once<'a>(levels: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    levels.map(|level| base(level)).filter(|name| seen.insert(*name)).collect()
}

/// Whether the level carries an alias.
pub(crate) fn has_alias(level: &str) -> bool {
    split(level).1.is_some()
}

/// The level that measures the noise floor of others: the first, entered once more under another
/// name. `None` where it is among them already.
pub(crate) fn again(levels: &[String]) -> Option<String> {
    let (first, others) = levels.split_first()?;
    let name = base(first);
    if others.iter().any(|other| base(other) == name) {
        return None;
    }
    Some(if has_alias(first) { name.to_owned() } else { format!("{name}{ALIAS}{AGAIN}") })
}

/// Brings a level into its canonical form. A scale is taken as it is: which there are depends on
/// the workload.
pub(crate) fn canonical(
    factor: Factor,
    text: &str,
    vocabulary: &Vocabulary,
) -> Result<String, ExperimentProblem> {
    let (base, Some(alias)) = split(text) else {
        return vocabulary.canonical(factor, text);
    };
    if alias.is_empty() || !alias.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        // What stands there in a URL that is wrong may be a piece of its password.
        let shown = if base.contains(":/") { "…" } else { alias };
        return Err(ExperimentProblem::new(format!("`{shown}` is not an alias"))
            .help("an alias is made of letters, digits and dashes: `LEVEL@again`"));
    }
    Ok(format!("{}{ALIAS}{alias}", vocabulary.canonical(factor, base)?))
}
