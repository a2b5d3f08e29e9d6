//! One value of a factor: how it is written, and its one canonical form.
//!
//! A level is kept as text. `04` and `4` clients are the same level, so every level is brought
//! into its canonical form where it comes in. A level may carry an alias, `NAME@again`, which
//! enters it into a comparison once more under another name.

use std::collections::BTreeSet;
use std::fmt;

use crate::message::{Problem, one_of};
use crate::{Factor, Vocabulary, engines, rate};

/// What stands between a level and its alias.
const ALIAS: char = '@';
/// The alias under which the noise floor is measured.
const AGAIN: &str = "again";
const DURABILITIES: [&str; 3] = ["none", "relaxed", "strict"];
const MOST_CLIENTS: u32 = 1024;
const MOST_STREAMS: u32 = 64;
/// Percent of the loaded data.
const MOST_SHARE: u32 = 1000;
/// Bytes.
const MOST_MEMORY: u64 = 1 << 50;

/// Other load on the same disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Neighbours {
    /// None.
    None,
    /// So many percent (1 to 100) of the rate that one stream reaches alone.
    Percent(u32),
    /// So many streams (1 to 64) that go as fast as they can.
    Streams(u32),
}

impl Neighbours {
    /// Reads a level of [`Factor::Neighbours`], without an alias.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(percent) = text.strip_suffix('%') {
            return number(percent).filter(|n| (1..=100).contains(n)).map(Self::Percent);
        }
        if let Some(streams) = text.strip_prefix('x') {
            return number(streams).filter(|n| (1..=MOST_STREAMS).contains(n)).map(Self::Streams);
        }
        (number(text) == Some(0)).then_some(Self::None)
    }
}

impl fmt::Display for Neighbours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("0"),
            Self::Percent(percent) => write!(f, "{percent}%"),
            Self::Streams(streams) => write!(f, "x{streams}"),
        }
    }
}

/// How much memory an engine has, its page cache included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// As much as the machine has.
    Unlimited,
    /// So many bytes, a whole number of MiB.
    Bytes(u64),
    /// So many percent (1 to 1000) of the bytes that are loaded.
    Share(u32),
}

/// The units of memory, the largest first.
const UNITS: [(char, u64); 3] = [('T', 1 << 40), ('G', 1 << 30), ('M', 1 << 20)];

impl Memory {
    /// Reads a level of [`Factor::Memory`], without an alias.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "unlimited" {
            return Some(Self::Unlimited);
        }
        if let Some(percent) = text.strip_suffix('%') {
            return number(percent).filter(|n| (1..=MOST_SHARE).contains(n)).map(Self::Share);
        }
        let (count, unit) =
            UNITS.iter().find_map(|(name, unit)| Some((text.strip_suffix(*name)?, unit)))?;
        let bytes = u64::from(number(count)?) * unit;
        (1..=MOST_MEMORY).contains(&bytes).then_some(Self::Bytes(bytes))
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unlimited => f.write_str("unlimited"),
            Self::Bytes(bytes) => {
                let whole = UNITS.iter().find(|(_, unit)| bytes.is_multiple_of(*unit));
                let (name, unit) = whole.unwrap_or(&UNITS[2]);
                write!(f, "{}{name}", bytes / unit)
            }
            Self::Share(percent) => write!(f, "{percent}%"),
        }
    }
}

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
) -> Result<String, Problem> {
    let (base, Some(alias)) = split(text) else {
        return without_alias(factor, text, vocabulary);
    };
    if alias.is_empty() || !alias.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        // What stands there in a URL that is wrong may be a piece of its password.
        let shown = if base.contains(":/") { "…" } else { alias };
        return Err(Problem::new(format!("`{shown}` is no alias"))
            .help("an alias is made of letters, digits and dashes: `LEVEL@again`"));
    }
    Ok(format!("{}{ALIAS}{alias}", without_alias(factor, base, vocabulary)?))
}

fn without_alias(factor: Factor, text: &str, vocabulary: &Vocabulary) -> Result<String, Problem> {
    if text.is_empty() {
        return Err(Problem::new(format!("an empty level of `{factor}`"))
            .help(format!("valid: {}", factor.syntax())));
    }
    match factor {
        Factor::Engine => vocabulary.engines.canonical(text),
        Factor::Durability => one_of("durability", text, &DURABILITIES),
        Factor::Memory => memory(text),
        Factor::Disk => vocabulary.disks.canonical(text),
        Factor::Neighbours => neighbours(text),
        Factor::Clients => clients(text),
        Factor::Rate => rate::canonical(text),
        Factor::Scale => Ok(text.to_owned()),
        Factor::Declared(declared) => {
            (declared.canonical)(text).map_err(|message| Problem::in_lines(&message))
        }
    }
}

fn memory(text: &str) -> Result<String, Problem> {
    if let Some(memory) = Memory::parse(text) {
        return Ok(memory.to_string());
    }
    let mut problem = Problem::new(format!("`{text}` is no level of `memory`"));
    let upper = text.to_ascii_uppercase().replace(' ', "");
    let short = upper.trim_end_matches('B').trim_end_matches('I');
    // A number without a unit is one of bytes, or of what its writer had in mind.
    let bytes = short.parse::<u64>().ok().filter(|bytes| *bytes >= 1 << 20);
    let meant = match bytes {
        Some(bytes) => Some(Memory::Bytes(bytes >> 20 << 20)),
        None => Memory::parse(short).or_else(|| Memory::parse(&format!("{short}M"))),
    };
    if matches!(upper.as_str(), "NONE" | "NO" | "OFF" | "MAX" | "HOST" | "UNLIMITED") {
        problem = problem.help("did you mean `unlimited`?");
    } else if let Some(meant) = meant {
        problem = problem.help(format!("did you mean `{meant}`?"));
    }
    Err(problem.help(format!("valid: {}", Factor::Memory.syntax())))
}

fn neighbours(text: &str) -> Result<String, Problem> {
    if let Some(neighbours) = Neighbours::parse(text) {
        return Ok(neighbours.to_string());
    }
    let lower = text.to_ascii_lowercase().replace(' ', "");
    let meant = [lower.clone(), format!("x{lower}"), format!("x{}", lower.trim_end_matches('x'))];
    let mut problem = Problem::new(format!("`{text}` is no level of `neighbours`"));
    if matches!(lower.as_str(), "0%" | "x0" | "none" | "off") {
        problem = problem.help("did you mean `0`?");
    } else if let Some(meant) = meant.iter().find_map(|text| Neighbours::parse(text)) {
        problem = problem.help(format!("did you mean `{meant}`?"));
    }
    Err(problem.help(format!("valid: {}", Factor::Neighbours.syntax())))
}

fn clients(text: &str) -> Result<String, Problem> {
    let range = format!("valid: {}", Factor::Clients.syntax());
    match text.parse::<u32>() {
        Ok(0) => Err(Problem::new("with 0 clients there is nothing to measure").help(range)),
        Ok(clients) if clients <= MOST_CLIENTS => Ok(clients.to_string()),
        Ok(_) => Err(Problem::new(format!(
            "{text} clients are too many: each is a thread of this machine, and so many would \
             measure its scheduler"
        ))
        .help(range)),
        Err(_) => Err(Problem::new(format!("`{text}` is no number of clients")).help(range)),
    }
}

/// A number of plain digits.
fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
