//! The factor `memory`.

use std::fmt;

use crate::factor::{Factor, LabFactor, Valid};
use crate::factors::number;
use crate::message::ExperimentProblem;

/// Percent of the loaded data.
const MOST_SHARE: u32 = 1000;
/// Bytes.
const MOST_MEMORY: u64 = 1 << 50;

impl Factor {
    /// How much memory an engine has.
    pub const MEMORY: Self = Self::Own(&MEMORY);
}

static MEMORY: LabFactor = LabFactor {
    name: "memory",
    summary: "how much memory an engine has, its page cache included",
    syntax: "unlimited; a size, as 512M or 2G; 1% to 1000% of the bytes that are loaded",
    help: "unlimited; a size, as 512M or 2G; 1% to 1000% of the bytes that are loaded",
    default: Some("unlimited"),
    valid: Valid::Text(canonical),
    bare: true,
};

/// How much memory an engine has, its page cache included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryLimit {
    /// As much as the machine has.
    Unlimited,
    /// So many bytes, a whole number of MiB.
    Bytes(u64),
    /// So many percent (1 to 1000) of the bytes that are loaded.
    Share(u32),
}

/// The units of memory, the largest first.
const UNITS: [(char, u64); 3] = [('T', 1 << 40), ('G', 1 << 30), ('M', 1 << 20)];

impl MemoryLimit {
    /// Reads a level of [`Factor::MEMORY`], without an alias.
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

impl fmt::Display for MemoryLimit {
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

fn canonical(text: &str) -> Result<String, ExperimentProblem> {
    if let Some(memory) = MemoryLimit::parse(text) {
        return Ok(memory.to_string());
    }
    let mut problem = ExperimentProblem::new(format!("`{text}` is not a level of `memory`"));
    let upper = text.to_ascii_uppercase().replace(' ', "");
    let short = upper.trim_end_matches('B').trim_end_matches('I');
    // A number without a unit is one of bytes, or of what its writer had in mind.
    let bytes = short.parse::<u64>().ok().filter(|bytes| *bytes >= 1 << 20);
    let meant = match bytes {
        Some(bytes) => Some(MemoryLimit::Bytes(bytes >> 20 << 20)),
        None => MemoryLimit::parse(short).or_else(|| MemoryLimit::parse(&format!("{short}M"))),
    };
    if matches!(upper.as_str(), "NONE" | "NO" | "OFF" | "MAX" | "HOST" | "UNLIMITED") {
        problem = problem.help("did you mean `unlimited`?");
    } else if let Some(meant) = meant {
        problem = problem.help(format!("did you mean `{meant}`?"));
    }
    Err(problem.help(format!("valid: {}", MEMORY.syntax)))
}
