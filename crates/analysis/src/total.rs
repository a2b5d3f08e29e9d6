use bakeoff_results::measure::{BYTES_RATE, DONE_RATE, LITTLE_RATE, OPERATIONS, ROWS_RATE};
use bakeoff_results::{FigureOfMerit, Scope, TrialSummary};
use serde::{Deserialize, Serialize};

use crate::span::ComparedSpan;

/// Without operations that failed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Total {
    pub operations_per_second: f64,
    #[serde(default)]
    pub rows_per_second: Option<f64>,
    #[serde(default)]
    pub bytes_per_second: Option<f64>,
    /// Upper bounds: the trial was cut off, and its rates were not counted or nothing had ended.
    pub at_most: bool,
}

impl Total {
    /// `None` also for an older bakeoff's where operations failed: its rates count these, too.
    pub fn from_trial(trial: &TrialSummary) -> Option<Self> {
        let measured = |measure| trial.measures.get(measure, &Scope::Clients);
        let sum = || {
            let failed = trial.operations.iter().any(|view| view.errors > 0);
            let rates = trial.operations.iter().map(|view| view.per_second);
            (!failed && !trial.operations.is_empty()).then(|| rates.sum())
        };
        Some(Self {
            rows_per_second: measured(&ROWS_RATE),
            bytes_per_second: measured(&BYTES_RATE),
            ..Self::of_operations(trial, measured(&DONE_RATE).or_else(sum)?)
        })
    }

    /// A counted rate is a bound only where nothing ended before the trial was cut off: then
    /// Little's law bounds it.
    fn of_operations(trial: &TrialSummary, rate: f64) -> Self {
        let is_cut_off = trial.operations.iter().any(|view| view.unfinished > 0);
        let bound = trial.measures.get(&LITTLE_RATE, &Scope::Clients);
        let bound = bound.filter(|_| is_cut_off && rate == 0.0);
        let at_most = bound.is_some() || is_cut_off && !trial.has_counted_rates();
        let operations_per_second = bound.unwrap_or(rate);
        Self { operations_per_second, rows_per_second: None, bytes_per_second: None, at_most }
    }

    /// By a figure of merit, megabytes in bytes; `None` for a time.
    pub fn rate(&self, merit: FigureOfMerit) -> Option<f64> {
        match merit {
            FigureOfMerit::Time => None,
            FigureOfMerit::Operations | FigureOfMerit::Requests => Some(self.operations_per_second),
            FigureOfMerit::Rows => self.rows_per_second,
            FigureOfMerit::Megabytes => self.bytes_per_second,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellTotal {
    /// Geometric means, so that the quotient of two cells is the mean quotient of their pairs; an
    /// upper bound where one trial's is.
    pub typical: Total,
    pub each: Vec<Total>,
}

impl CellTotal {
    pub(crate) fn of_cell(trials: &[&TrialSummary]) -> Option<Self> {
        let each: Vec<Total> =
            trials.iter().map(|trial| Total::from_trial(trial)).collect::<Option<_>>()?;
        let typical = |of: fn(&Total) -> Option<f64>| {
            let all: Vec<f64> = each.iter().map(of).collect::<Option<_>>()?;
            geometric_mean(&all)
        };
        Some(Self {
            typical: Total {
                operations_per_second: typical(|it| Some(it.operations_per_second))?,
                rows_per_second: typical(|it| it.rows_per_second),
                bytes_per_second: typical(|it| it.bytes_per_second),
                at_most: each.iter().any(|it| it.at_most),
            },
            each,
        })
    }
}

/// Seconds for a unit of the figure of merit, all operations together: the inverse of the rate.
pub(crate) fn seconds_a_unit(
    trial: &TrialSummary,
    merit: FigureOfMerit,
    span: ComparedSpan,
) -> Option<f64> {
    let total = Total::from_trial(trial)?;
    let rate = total.rate(merit).filter(|rate| *rate > 0.0)?;
    match span {
        ComparedSpan::Window => Some(1.0 / rate),
        // Operations are taken to do as much outside of the window as in it.
        ComparedSpan::WholeTrial => {
            let whole = whole_trial_rate(trial).filter(|whole| *whole > 0.0)?;
            Some(total.operations_per_second / whole / rate)
        }
    }
}

fn whole_trial_rate(trial: &TrialSummary) -> Option<f64> {
    let ended = trial.measures.get(&OPERATIONS, &Scope::Clients)?;
    let failed = trial.operations.iter().map(|view| view.errors).fold(0, u64::saturating_add);
    Some((ended - failed as f64) / trial.ran_s?)
}

pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// exp(mean of ln x): twice too slow weighs as much as twice too fast, and one stalled trial does
/// not make the cell.
pub(crate) fn geometric_mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (sum / values.len() as f64).exp())
}

#[cfg(test)]
mod tests {
    use bakeoff_results::Measures;

    use super::*;
    use crate::tests::trial_at;

    /// 80 operations and 400 rows a second in the window; 1,000 operations in the ten seconds of all.
    #[test]
    fn a_whole_trial_has_the_rate_of_all_that_ended_over_all_its_time() {
        let mut measures = Measures::default();
        for (measure, value) in [(&DONE_RATE, 80.0), (&ROWS_RATE, 400.0), (&OPERATIONS, 1_000.0)] {
            measures.set(measure, Scope::Clients, value);
        }
        let trial = trial_at(&[], measures);
        for (merit, span, seconds) in [
            (FigureOfMerit::Operations, ComparedSpan::Window, 1.0 / 80.0),
            (FigureOfMerit::Operations, ComparedSpan::WholeTrial, 1.0 / 100.0),
            (FigureOfMerit::Rows, ComparedSpan::WholeTrial, 1.0 / 500.0),
        ] {
            let found = seconds_a_unit(&trial, merit, span).expect("a rate");
            assert!((found - seconds).abs() < 1e-12, "{merit:?}: {found}, not {seconds}");
        }
    }
}
