//! The factor `rate`: when operations start.

use std::fmt;
use std::ops::RangeInclusive;

use bakeoff_load::ArrivalProcess;
use bakeoff_results::OwnFactor;

use crate::factor::{Factor, LabFactor, Valid};
use crate::message::{ExperimentProblem, find_nearest};

const RATES: RangeInclusive<f64> = 0.001..=1_000_000.0;

impl Factor {
    pub const RATE: Self = Self::Own(&RATE);
}

static RATE: LabFactor = LabFactor {
    name: OwnFactor::Rate.as_str(),
    summary: "when operations start: each client's next when its last has ended, or at a rate of all \
              clients together",
    syntax: "closed; or an open loop of 0.001/s to 1000000/s",
    help: "When operations start: closed, each client's next when its last has ended; or at a rate",
    default: Some("closed"),
    valid: Valid::Rates,
    bare: false,
};

#[derive(Clone, Debug, PartialEq)]
pub enum Rate {
    /// A closed loop: each client's next operation starts when its last one has ended.
    Closed,
    /// An open loop: operations start at a rate, however long they take.
    Open {
        /// Over all clients together, 0.001 to 1,000,000.
        per_second: f64,
        /// `None` for the first that is registered.
        arrivals: Option<String>,
    },
}

impl Rate {
    pub fn parse(text: &str) -> Option<Self> {
        if text == "closed" {
            return Some(Self::Closed);
        }
        let (arrivals, rate) = match text.split_once(':') {
            Some((name, rate)) => (Some(name.to_owned()), rate),
            None => (None, text),
        };
        let per_second = parse_plain_number(rate.strip_suffix("/s")?)?;
        RATES.contains(&per_second).then_some(Self::Open { per_second, arrivals })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("closed"),
            Self::Open { per_second, arrivals: None } => write!(f, "{per_second}/s"),
            Self::Open { per_second, arrivals: Some(name) } => write!(f, "{name}:{per_second}/s"),
        }
    }
}

/// The first arrival process is not named.
pub(crate) fn canonical_level(
    text: &str,
    arrivals: &[&ArrivalProcess],
) -> Result<String, ExperimentProblem> {
    let known = |name: &str| arrivals.iter().any(|known| known.name == name);
    match Rate::parse(text) {
        Some(Rate::Open { per_second, arrivals: Some(name) }) if name == arrivals[0].name => {
            return Ok(Rate::Open { per_second, arrivals: None }.to_string());
        }
        Some(Rate::Open { arrivals: Some(name), .. }) if !known(&name) => {}
        Some(rate) => return Ok(rate.to_string()),
        None => {}
    }
    let mut problem = ExperimentProblem::new(format!("`{text}` is not a level of `rate`"));
    let lower = text.to_lowercase().replace(' ', "");
    let (word, rate) = split_word(&lower);
    if per_second(rate) == Some(0.0) {
        problem = ExperimentProblem::new(format!("at a rate of `{text}` no operation ever starts"));
    } else if let Some(meant) = guess_rate(word, rate, arrivals) {
        problem = problem.with_help(format!("did you mean `{meant}`?"));
    } else if word == "open" || known(word) {
        let levels: Vec<String> = example_levels(arrivals).map(|(level, _)| level).collect();
        problem =
            problem.with_help(format!("an open loop has a rate: `{}`", levels.join("`, or `")));
    } else if word.starts_with("close") || ["none", "off", "max", "unlimited"].contains(&word) {
        problem = problem.with_help("did you mean `closed`?");
    }
    Err(problem.with_help(format!("valid: {}{}", RATE.syntax, describe_arrivals(arrivals))))
}

/// The end of the factor's syntax and help.
pub(crate) fn describe_arrivals(arrivals: &[&ArrivalProcess]) -> String {
    let ways: Vec<String> =
        example_levels(arrivals).map(|(level, summary)| format!("{level} {summary}")).collect();
    format!(": {}", ways.join("; "))
}

fn example_levels(arrivals: &[&ArrivalProcess]) -> impl Iterator<Item = (String, &'static str)> {
    arrivals.iter().enumerate().map(|(place, process)| {
        let name = (place > 0).then(|| process.name.to_owned());
        let level = Rate::Open { per_second: 200.0, arrivals: name }.to_string();
        (level, process.summary)
    })
}

/// `open` and `9/s` of `open:9/s` and of `9/s:open`.
fn split_word(text: &str) -> (&str, &str) {
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

fn guess_rate(word: &str, rate: &str, arrivals: &[&ArrivalProcess]) -> Option<Rate> {
    let per_second = (per_second(rate)? * 1000.0).round() / 1000.0;
    let names: Vec<&str> = arrivals.iter().map(|process| process.name).collect();
    let arrivals = find_nearest(word, &names).filter(|name| *name != names[0]).map(str::to_owned);
    RATES.contains(&per_second).then_some(Rate::Open { per_second, arrivals })
}

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
    Some((parse_plain_number(&text[..end])?, &text[end..]))
}

fn parse_plain_number(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    plain.then(|| text.parse().ok()).flatten()
}
