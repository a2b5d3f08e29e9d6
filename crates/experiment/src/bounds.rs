//! The bounds of a run that goes on until it is decided: how many repetitions, and how much time.

use std::time::Duration;

use bakeoff_results::MOST_REPETITIONS;

use crate::message::ExperimentProblem;

const FEWEST: u32 = 3;
const DEFAULT: u32 = 20;
const LONGEST: Duration = Duration::from_secs(30 * DAY);

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const UNITS: [(&str, u64); 4] = [("d", DAY), ("h", HOUR), ("min", MINUTE), ("s", 1)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub min_repetitions: u32,
    pub max_repetitions: u32,
    /// `None`: any time.
    pub max_time: Option<Duration>,
}

impl Bounds {
    pub(crate) fn new(
        min_repetitions: Option<u32>,
        max_repetitions: Option<u32>,
        max_time: Option<Duration>,
    ) -> Self {
        let min_repetitions = min_repetitions.unwrap_or(FEWEST);
        let max_repetitions = max_repetitions.unwrap_or(DEFAULT.max(min_repetitions));
        Self { min_repetitions, max_repetitions, max_time }
    }
}

pub(crate) fn min_repetitions(repetitions: u64) -> Result<u32, ExperimentProblem> {
    match u32::try_from(repetitions) {
        Ok(repetitions @ FEWEST..=MOST_REPETITIONS) => Ok(repetitions),
        _ => Err(ExperimentProblem::new(format!(
            "nothing is decided after {repetitions} repetitions"
        ))
        .with_help(format!("valid: {FEWEST} to {MOST_REPETITIONS}"))),
    }
}

pub(crate) fn max_repetitions(repetitions: u64) -> Result<u32, ExperimentProblem> {
    match u32::try_from(repetitions) {
        Ok(repetitions @ FEWEST..=MOST_REPETITIONS) => Ok(repetitions),
        _ => Err(ExperimentProblem::new(format!(
            "nothing is decided by {repetitions} repetitions at most"
        ))
        .with_help(format!("valid: {FEWEST} to {MOST_REPETITIONS}"))),
    }
}

pub(crate) fn max_time(text: &str) -> Result<Duration, ExperimentProblem> {
    let problem = |why: &str| {
        ExperimentProblem::new(format!("`{text}` {why}"))
            .with_help("valid: a number and its unit, such as 90s, 45min, 2h or 1d; 1s to 30d")
    };
    let unit = |(name, seconds)| Some((text.trim().strip_suffix(name)?.trim_end(), seconds));
    let parts = UNITS.into_iter().find_map(unit);
    let read = |(number, seconds): (&str, u64)| Some(number.parse::<f64>().ok()? * seconds as f64);
    let seconds = parts.and_then(read).filter(|seconds| seconds.is_finite());
    let seconds = seconds.ok_or_else(|| problem("is no time"))?;
    match (1.0..=LONGEST.as_secs_f64()).contains(&seconds) {
        true => Ok(Duration::from_secs(seconds.round() as u64)),
        false => Err(problem("can't be the time of a run")),
    }
}

/// In the largest unit that the time is a whole number of.
pub(crate) fn time_in_words(time: Duration) -> String {
    let seconds = time.as_secs();
    let whole = UNITS.into_iter().find(|(_, unit)| seconds.is_multiple_of(*unit));
    let (name, unit) = whole.expect("any is a whole number of seconds");
    format!("{}{name}", seconds / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_and_written() {
        for (text, seconds, written) in [
            ("90s", 90, "90s"),
            ("45min", 2700, "45min"),
            ("120 min", 7200, "2h"),
            (" 1.5h ", 5400, "90min"),
            ("2d", 172_800, "2d"),
        ] {
            let time = max_time(text).unwrap();
            assert_eq!((time.as_secs(), &*time_in_words(time)), (seconds, written), "{text}");
        }
        for text in ["", "2", "h", "2 hours", "-1h", "0s", "31d", "nan h", "1h30", "infs"] {
            assert!(max_time(text).is_err(), "{text}");
        }
    }
}
