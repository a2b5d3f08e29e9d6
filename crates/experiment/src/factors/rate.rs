//! The factor `rate`: when operations start.

use std::fmt;
use std::ops::RangeInclusive;

use crate::factor::{Factor, Own, Valid};
use crate::message::Problem;

/// Operations a second that an open loop may have.
const RATES: RangeInclusive<f64> = 0.001..=1_000_000.0;
const POISSON: &str = "poisson";

impl Factor {
    /// When operations start.
    pub const RATE: Self = Self::Own(&RATE);
}

static RATE: Own = Own {
    name: "rate",
    summary: "when operations start: each client's next when its last has ended, or at a rate of all \
              clients together",
    syntax: "closed; or an open loop, as 200/s in even gaps or poisson:200/s in random ones: 0.001/s to \
             1000000/s",
    help: "When operations start: closed, each client's next when its last has ended; or at a rate, \
           200/s in even gaps or poisson:200/s in random ones",
    default: Some("closed"),
    valid: Valid::Text(canonical),
    bare: false,
};

/// When operations start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// Each client starts its next operation when its last one has ended: a closed loop.
    Closed,
    /// Operations start at a rate, however long they take: an open loop.
    Open {
        /// Operations a second of all clients together, 0.001 to 1,000,000.
        per_second: f64,
        /// How the starts follow each other.
        arrivals: Arrivals,
    },
}

/// How the starts of an open loop follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arrivals {
    /// In even gaps.
    Even,
    /// In random gaps of an exponential distribution, as those of many independent users: a Poisson
    /// process.
    Poisson,
}

impl Rate {
    /// Reads a level of [`Factor::RATE`], without an alias.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "closed" {
            return Some(Self::Closed);
        }
        let (arrivals, rate) = match text.split_once(':') {
            Some((POISSON, rate)) => (Arrivals::Poisson, rate),
            Some(_) => return None,
            None => (Arrivals::Even, text),
        };
        let per_second = number(rate.strip_suffix("/s")?)?;
        RATES.contains(&per_second).then_some(Self::Open { per_second, arrivals })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("closed"),
            Self::Open { per_second, arrivals: Arrivals::Even } => write!(f, "{per_second}/s"),
            Self::Open { per_second, arrivals: Arrivals::Poisson } => {
                write!(f, "{POISSON}:{per_second}/s")
            }
        }
    }
}

/// The canonical form of a level.
fn canonical(text: &str) -> Result<String, Problem> {
    if let Some(rate) = Rate::parse(text) {
        return Ok(rate.to_string());
    }
    let mut problem = Problem::new(format!("`{text}` is no level of `rate`"));
    let lower = text.to_lowercase().replace(' ', "");
    let (word, rate) = parted(&lower);
    if per_second(rate) == Some(0.0) {
        problem = Problem::new(format!("at a rate of `{text}` no operation ever starts"));
    } else if let Some(meant) = meant(word, rate) {
        problem = problem.help(format!("did you mean `{meant}`?"));
    } else if ["open", "even", POISSON].contains(&word) {
        problem = problem.help("an open loop has a rate: `200/s`, or `poisson:200/s`");
    } else if word.starts_with("close") || ["none", "off", "max", "unlimited"].contains(&word) {
        problem = problem.help("did you mean `closed`?");
    }
    Err(problem.help(format!("valid: {}", RATE.syntax)))
}

/// A word at either end of a level, and what is left: `open` and `9/s` of `open:9/s` and `9/s:open`.
fn parted(text: &str) -> (&str, &str) {
    match text.split_once([':', '@', '=', ',']) {
        Some((rate, word)) if number_at_start(rate).is_some() => (word, rate),
        Some((word, rate)) => (word, rate),
        None if text.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
            text.split_at(end)
        }
        None => ("", text),
    }
}

/// The level that was most likely meant, to thousandths.
fn meant(word: &str, rate: &str) -> Option<Rate> {
    let per_second = (per_second(rate)? * 1000.0).round() / 1000.0;
    let arrivals = if POISSON.starts_with(word) && !word.is_empty() {
        Arrivals::Poisson
    } else {
        Arrivals::Even
    };
    RATES.contains(&per_second).then_some(Rate::Open { per_second, arrivals })
}

/// Operations a second, of a number and a unit of many kinds or none.
fn per_second(text: &str) -> Option<f64> {
    let (number, unit) = number_at_start(text)?;
    let seconds = match unit.trim_start_matches("operations").trim_start_matches("ops") {
        "" | "/" | "/s" | "/sec" | "/second" | "hz" | "s" | "ps" | "persecond" => 1.0,
        "/m" | "/min" | "/minute" | "perminute" => 60.0,
        "/h" | "/hour" | "perhour" => 3600.0,
        "/ms" => 0.001,
        _ => return None,
    };
    Some(number / seconds)
}

fn number_at_start(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    Some((number(&text[..end])?, &text[end..]))
}

/// A number of plain digits, with a point or without.
fn number(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    plain.then(|| text.parse().ok()).flatten()
}
