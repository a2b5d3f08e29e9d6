//! The factor `cpus`.

use std::fmt;

use bakeoff_results::OwnFactor;

use crate::factor::{Factor, LabFactor, Valid};
use crate::factors::parse_digits;
use crate::message::ExperimentProblem;

/// In thousandths. The kernel gives no less than a millisecond in 100.
const LEAST: u32 = 10;
const MOST: u32 = 4096 * 1000;

impl Factor {
    pub const CPUS: Self = Self::Own(&CPUS);
}

static CPUS: LabFactor = LabFactor {
    name: OwnFactor::Cpus.as_str(),
    summary: "how many processors an engine has: a quota of their time",
    syntax: "unlimited; a number of processors from 0.01 on, as 0.5, 1 or 2",
    help: "unlimited; a number of processors, as 0.5, 1 or 2",
    default: Some("unlimited"),
    valid: Valid::Text(canonical_level),
    bare: false,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cpus {
    Unlimited,
    /// Thousandths of a processor.
    Milli(u32),
}

impl Cpus {
    pub fn parse(text: &str) -> Option<Self> {
        if text == "unlimited" {
            return Some(Self::Unlimited);
        }
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let digits = part.len();
        if whole.is_empty() || !(1..=3).contains(&digits) {
            return None;
        }
        let part = parse_digits(part)? * 10_u32.pow(3 - digits as u32);
        let milli = parse_digits(whole)?.checked_mul(1000)?.checked_add(part)?;
        (LEAST..=MOST).contains(&milli).then_some(Self::Milli(milli))
    }

    pub fn milli(self) -> Option<u32> {
        match self {
            Self::Unlimited => None,
            Self::Milli(milli) => Some(milli),
        }
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unlimited => f.write_str("unlimited"),
            Self::Milli(milli) => {
                let (whole, part) = (milli / 1000, format!("{:03}", milli % 1000));
                match part.trim_end_matches('0') {
                    "" => write!(f, "{whole}"),
                    part => write!(f, "{whole}.{part}"),
                }
            }
        }
    }
}

fn canonical_level(text: &str) -> Result<String, ExperimentProblem> {
    if let Some(cpus) = Cpus::parse(text) {
        return Ok(cpus.to_string());
    }
    let mut problem = ExperimentProblem::new(format!("`{text}` is not a level of `cpus`"));
    let percent = text.strip_suffix('%').and_then(parse_digits);
    let meant = match percent {
        Some(percent) => percent.checked_mul(10).map(Cpus::Milli),
        None => Cpus::parse(&format!("0{text}")),
    };
    if matches!(text.to_ascii_lowercase().as_str(), "none" | "no" | "off" | "max" | "all" | "0") {
        problem = problem.with_help("did you mean `unlimited`?");
    } else if let Some(meant) = meant {
        problem = problem.with_help(format!("did you mean `{meant}`?"));
    }
    Err(problem.with_help(format!("valid: {}", CPUS.syntax)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_of_processors_is_one_level_however_it_is_written() {
        let read = |text: &str| Cpus::parse(text).map(|cpus| cpus.to_string());
        for (text, level) in [
            ("unlimited", "unlimited"),
            ("1", "1"),
            ("1.0", "1"),
            ("0.5", "0.5"),
            ("0.500", "0.5"),
            ("2.25", "2.25"),
            ("0.01", "0.01"),
            ("10", "10"),
            ("1.005", "1.005"),
        ] {
            assert_eq!(read(text).as_deref(), Some(level), "{text}");
        }
        for text in ["0", "0.009", "-1", "1.", ".5", "1.2345", "1,5", "99999999", "+1", "1e3", ""] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(Cpus::parse("1.005").unwrap().milli(), Some(1005));
    }
}
