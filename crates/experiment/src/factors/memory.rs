//! The factor `memory`.

use std::fmt;

use bakeoff_results::OwnFactor;

use crate::factor::{Factor, LabFactor, Valid};
use crate::factors::parse_digits;
use crate::message::ExperimentProblem;

/// Percent of the loaded data.
const MOST_SHARE: u32 = 1000;
/// Bytes.
const MOST_MEMORY: u64 = 1 << 50;

impl Factor {
    pub const MEMORY: Self = Self::Own(&MEMORY);
}

static MEMORY: LabFactor = LabFactor {
    name: OwnFactor::Memory.as_str(),
    summary: "how much memory an engine has, its page cache included",
    syntax: "unlimited; a size, as 512M or 2G; 1% to 1000% of the bytes that are loaded",
    help: "unlimited; a size, as 512M or 2G; 1% to 1000% of the bytes that are loaded",
    default: Some("unlimited"),
    valid: Valid::Text(canonical_level),
    bare: true,
};

/// Page cache included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryLimit {
    Unlimited,
    /// A whole number of MiB.
    Bytes(u64),
    /// Percent of the loaded bytes, 1 to 1000.
    Share(u32),
}

const UNITS: [(char, u64); 3] = [('T', 1 << 40), ('G', 1 << 30), ('M', 1 << 20)];

impl MemoryLimit {
    pub fn parse(text: &str) -> Option<Self> {
        if text == "unlimited" {
            return Some(Self::Unlimited);
        }
        if let Some(percent) = text.strip_suffix('%') {
            return parse_digits(percent).filter(|n| (1..=MOST_SHARE).contains(n)).map(Self::Share);
        }
        let (count, unit) =
            UNITS.iter().find_map(|(name, unit)| Some((text.strip_suffix(*name)?, unit)))?;
        let bytes = u64::from(parse_digits(count)?) * unit;
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

fn canonical_level(text: &str) -> Result<String, ExperimentProblem> {
    if let Some(memory) = MemoryLimit::parse(text) {
        return Ok(memory.to_string());
    }
    let mut problem = ExperimentProblem::new(format!("`{text}` is not a level of `memory`"));
    let upper = text.to_ascii_uppercase().replace(' ', "");
    let short = upper.trim_end_matches('B').trim_end_matches('I');
    // A number without a unit is in bytes, or in whatever its writer had in mind.
    let bytes = short.parse::<u64>().ok().filter(|bytes| *bytes >= 1 << 20);
    let meant = match bytes {
        Some(bytes) => Some(MemoryLimit::Bytes(bytes >> 20 << 20)),
        None => MemoryLimit::parse(short).or_else(|| MemoryLimit::parse(&format!("{short}M"))),
    };
    if matches!(upper.as_str(), "NONE" | "NO" | "OFF" | "MAX" | "HOST" | "UNLIMITED") {
        problem = problem.with_help("did you mean `unlimited`?");
    } else if let Some(meant) = meant {
        problem = problem.with_help(format!("did you mean `{meant}`?"));
    }
    Err(problem.with_help(format!("valid: {}", MEMORY.syntax)))
}
