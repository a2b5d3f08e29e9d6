use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub const MOST_STREAMS: u32 = 64;

/// How much other load there is; written `0`, `25%` or `x4`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum NeighbourLevel {
    None,
    /// Closed streams: each sends its next request when the last one is done.
    Streams(u32),
    /// Poisson arrivals at this share (above 0, at most 1) of the rate that one stream reaches
    /// alone.
    Share(f64),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a level of neighbours: write 0 for none, x1 to x{MOST_STREAMS} for streams, or \
     1% to 100% of the rate that one stream reaches alone"
)]
pub struct LevelError(String);

impl FromStr for NeighbourLevel {
    type Err = LevelError;

    fn from_str(text: &str) -> Result<Self, LevelError> {
        let level = if let Some(percent) = text.strip_suffix('%') {
            let percent = percent.parse().ok();
            percent.filter(|n| (1.0..=100.0).contains(n)).map(|n: f64| Self::Share(n / 100.0))
        } else if let Some(streams) = text.strip_prefix('x') {
            let streams = streams.parse().ok();
            streams.filter(|n| (1..=MOST_STREAMS).contains(n)).map(Self::Streams)
        } else {
            (text == "0").then_some(Self::None)
        };
        level.ok_or_else(|| LevelError(text.to_owned()))
    }
}

impl fmt::Display for NeighbourLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("0"),
            Self::Streams(streams) => write!(f, "x{streams}"),
            // Four digits of a percent: enough for people, without binary dust.
            Self::Share(share) => write!(f, "{}%", (share * 1e6).round() / 1e4),
        }
    }
}

impl TryFrom<String> for NeighbourLevel {
    type Error = LevelError;

    fn try_from(text: String) -> Result<Self, LevelError> {
        text.parse()
    }
}

impl From<NeighbourLevel> for String {
    fn from(level: NeighbourLevel) -> Self {
        level.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_as_they_are_written() {
        for text in ["0", "1%", "7%", "12.5%", "25%", "29%", "100%", "x1", "x2", "x4", "x64"] {
            let level: NeighbourLevel = text.parse().unwrap();
            assert_eq!(level.to_string(), text);
            let json = serde_json::to_string(&level).unwrap();
            assert_eq!(
                (json.as_str(), serde_json::from_str(&json).ok()),
                (&*format!("{text:?}"), Some(level))
            );
        }
        assert_eq!("25%".parse(), Ok(NeighbourLevel::Share(0.25)));
        assert_eq!("x4".parse(), Ok(NeighbourLevel::Streams(4)));
    }

    #[test]
    fn other_texts_are_refused_with_the_choices() {
        for text in ["", "4", "x", "x0", "x65", "x1.5", "0%", "101%", "NaN%", "%", "25", "-5%"] {
            let error = text.parse::<NeighbourLevel>().unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")) && error.contains("x1 to x64"), "{error}");
            assert!(serde_json::from_str::<NeighbourLevel>(&format!("{text:?}")).is_err());
        }
    }
}
