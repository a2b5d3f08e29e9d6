//! The factor `neighbours`.

use std::fmt;

use bakeoff_results::OwnFactor;

use crate::factor::{Factor, LabFactor, Valid};
use crate::factors::parse_digits;
use crate::message::ExperimentProblem;

const MOST_STREAMS: u32 = 64;

impl Factor {
    pub const NEIGHBOURS: Self = Self::Own(&NEIGHBOURS);
}

static NEIGHBOURS: LabFactor = LabFactor {
    name: OwnFactor::Neighbours.as_str(),
    summary: "background I/O on the same disk: random 16 KiB reads and writes",
    syntax: "0; 1% to 100% of what one stream reaches alone; x1 to x64, so many streams",
    help: "Background I/O on the disk: 0, 25%, x1, x2, x4 …",
    default: Some("0"),
    valid: Valid::Text(canonical_level),
    bare: false,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NeighbourLoad {
    None,
    /// Percent, 1 to 100, of what one stream reaches alone.
    Percent(u32),
    /// 1 to 64 streams that go as fast as they can.
    Streams(u32),
}

impl NeighbourLoad {
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(percent) = text.strip_suffix('%') {
            return parse_digits(percent).filter(|n| (1..=100).contains(n)).map(Self::Percent);
        }
        if let Some(streams) = text.strip_prefix('x') {
            return parse_digits(streams)
                .filter(|n| (1..=MOST_STREAMS).contains(n))
                .map(Self::Streams);
        }
        (parse_digits(text) == Some(0)).then_some(Self::None)
    }
}

impl fmt::Display for NeighbourLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("0"),
            Self::Percent(percent) => write!(f, "{percent}%"),
            Self::Streams(streams) => write!(f, "x{streams}"),
        }
    }
}

fn canonical_level(text: &str) -> Result<String, ExperimentProblem> {
    if let Some(neighbours) = NeighbourLoad::parse(text) {
        return Ok(neighbours.to_string());
    }
    let lower = text.to_ascii_lowercase().replace(' ', "");
    let meant = [lower.clone(), format!("x{lower}"), format!("x{}", lower.trim_end_matches('x'))];
    let mut problem = ExperimentProblem::new(format!("`{text}` is not a level of `neighbours`"));
    if matches!(lower.as_str(), "0%" | "x0" | "none" | "off") {
        problem = problem.with_help("did you mean `0`?");
    } else if let Some(meant) = meant.iter().find_map(|text| NeighbourLoad::parse(text)) {
        problem = problem.with_help(format!("did you mean `{meant}`?"));
    }
    Err(problem.with_help(format!("valid: {}", NEIGHBOURS.syntax)))
}
