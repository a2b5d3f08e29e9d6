//! Levels as text. `04` and `4` clients are the same level, so a level is made canonical where it
//! comes in. An alias, `NAME@again`, enters a level into a comparison once more.

use std::collections::BTreeSet;

use crate::message::ExperimentProblem;
use crate::{Factor, Vocabulary, engines};

const ALIAS: char = '@';
/// The alias of the noise floor.
const AGAIN: &str = "again";

/// `NAME` for `NAME@again`.
pub fn without_alias(level: &str) -> &str {
    split_alias(level).0
}

/// `NAME` for `NAME/option=value@again`; a URL is its own.
pub fn engine_name(level: &str) -> &str {
    engines::engine_name(without_alias(level))
}

/// In a URL, an alias stands behind the last slash only: an earlier `@` is the host's.
fn split_alias(level: &str) -> (&str, Option<&str>) {
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

pub(crate) fn each_once<'a>(levels: impl Iterator<Item = &'a String>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    levels.map(|level| without_alias(level)).filter(|name| seen.insert(*name)).collect()
}

pub(crate) fn has_alias(level: &str) -> bool {
    split_alias(level).1.is_some()
}

/// The first level under an alias; `None` if it is among them already.
pub(crate) fn noise_floor_level(levels: &[String]) -> Option<String> {
    let (first, others) = levels.split_first()?;
    let name = without_alias(first);
    if others.iter().any(|other| without_alias(other) == name) {
        return None;
    }
    Some(if has_alias(first) { name.to_owned() } else { format!("{name}{ALIAS}{AGAIN}") })
}

/// A scale stays as it is: its workload may not be known yet.
pub(crate) fn canonical_level(
    factor: Factor,
    text: &str,
    vocabulary: &Vocabulary,
) -> Result<String, ExperimentProblem> {
    let (base, Some(alias)) = split_alias(text) else {
        return vocabulary.canonical_level(factor, text);
    };
    if alias.is_empty() || !alias.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        // In a wrong URL, this may be a piece of the password.
        let shown = if base.contains(":/") { "…" } else { alias };
        return Err(ExperimentProblem::new(format!("`{shown}` is not an alias"))
            .with_help("an alias is made of letters, digits and dashes: `LEVEL@again`"));
    }
    Ok(format!("{}{ALIAS}{alias}", vocabulary.canonical_level(factor, base)?))
}
