//! A limit on response times: a quantile, and the time that it may take.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// In microseconds. A name that is the end of another comes after it.
const UNITS: [(&str, u64); 3] = [("ms", 1_000), ("us", 1), ("s", 1_000_000)];
const LONGEST: Duration = Duration::from_secs(600);
pub const VALID: &str = "valid: p50, p95, p99 or p999, and a time of 1us to 600s, such as p99=50ms";

/// A record has it as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ResponseTimeLimit {
    pub quantile: Quantile,
    /// In whole microseconds.
    pub time: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantile {
    P50,
    P95,
    P99,
    P999,
}

impl Quantile {
    pub const ALL: [Self; 4] = [Self::P50, Self::P95, Self::P99, Self::P999];

    pub fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P999 => "p999",
        }
    }

    pub fn share_below(self) -> f64 {
        match self {
            Self::P50 => 0.5,
            Self::P95 => 0.95,
            Self::P99 => 0.99,
            Self::P999 => 0.999,
        }
    }
}

impl ResponseTimeLimit {
    /// As `p99=50ms`. An error says what is wrong in a line, and how it is written in another.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("`{text}` {why}\n{VALID}");
        let (quantile, time) = text.split_once('=').ok_or_else(|| wrong("is no limit"))?;
        let quantile = Quantile::ALL.into_iter().find(|it| it.name() == quantile.trim());
        let quantile = quantile.ok_or_else(|| wrong("names no quantile that is recorded"))?;
        let time = parse_time(time).ok_or_else(|| wrong("has no such time"))?;
        Ok(Self { quantile, time })
    }
}

/// A time of 1 µs to 600 s with its unit, as `1.5 s`, in whole microseconds.
pub fn parse_time(text: &str) -> Option<Duration> {
    let unit = |(name, micros)| Some((text.trim().strip_suffix(name)?.trim_end(), micros));
    let (number, micros): (&str, u64) = UNITS.into_iter().find_map(unit)?;
    let micros = number.parse::<f64>().ok()? * micros as f64;
    let is_valid = (1.0..=LONGEST.as_micros() as f64).contains(&micros);
    is_valid.then(|| Duration::from_micros(micros.round() as u64))
}

impl From<ResponseTimeLimit> for String {
    fn from(limit: ResponseTimeLimit) -> Self {
        limit.to_string()
    }
}

impl TryFrom<String> for ResponseTimeLimit {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl fmt::Display for ResponseTimeLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.time.as_micros() as u64;
        let mut units = UNITS;
        units.sort_by_key(|(_, unit)| std::cmp::Reverse(*unit));
        let whole = units.into_iter().find(|(_, unit)| micros.is_multiple_of(*unit));
        let (name, unit) = whole.expect("any is a whole number of microseconds");
        write!(f, "{}={}{name}", self.quantile.name(), micros / unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_and_written() {
        for (text, written) in [
            ("p99=50ms", "p99=50ms"),
            (" p999 = 1.5 s", "p999=1500ms"),
            ("p50=250us", "p50=250us"),
            ("p95=60000ms", "p95=60s"),
        ] {
            let limit = ResponseTimeLimit::parse(text).unwrap();
            assert_eq!(limit.to_string(), written);
            assert_eq!(ResponseTimeLimit::parse(written).unwrap(), limit);
        }
        for text in
            ["", "p99", "p90=1s", "p99=", "p99=50", "p99=0ms", "p99=601s", "p99=nan s", "p99=-1s"]
        {
            assert!(ResponseTimeLimit::parse(text).is_err(), "{text}");
        }
    }
}
