//! What all kinds of operations come to a second: of a trial, and of a cell.

use bakeoff_results::measure::{BYTES_RATE, DONE_RATE, LITTLE_RATE, OPERATIONS, ROWS_RATE};
use bakeoff_results::{FigureOfMerit, Scope, TrialSummary};
use serde::{Deserialize, Serialize};

use crate::span::ComparedSpan;

/// What all kinds of operations of a trial come to a second, without those that failed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Total {
    /// Operations.
    pub operations_per_second: f64,
    /// Rows that they returned or wrote; `None` where these are not counted.
    #[serde(default)]
    pub rows_per_second: Option<f64>,
    /// Bytes that they read or wrote; `None` where these are not counted.
    #[serde(default)]
    pub bytes_per_second: Option<f64>,
    /// Whether these are upper bounds: the trial was cut off, and its rates were not counted or nothing
    /// had ended.
    pub at_most: bool,
}

impl Total {
    /// Of one trial; `None` where nothing was measured, and of an older bakeoff's where some failed: its
    /// rates count these, too.
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

    /// Of operations alone. A rate that was counted is a bound only where nothing ended before the trial
    /// was cut off: then Little's law bounds it.
    fn of_operations(trial: &TrialSummary, rate: f64) -> Self {
        let is_cut_off = trial.operations.iter().any(|view| view.unfinished > 0);
        let bound = trial.measures.get(&LITTLE_RATE, &Scope::Clients);
        let bound = bound.filter(|_| is_cut_off && rate == 0.0);
        let at_most = bound.is_some() || is_cut_off && !trial.has_counted_rates();
        let operations_per_second = bound.unwrap_or(rate);
        Self { operations_per_second, rows_per_second: None, bytes_per_second: None, at_most }
    }

    /// How much a second it is by a figure of merit, megabytes in bytes; `None` for a time, and where
    /// that was not counted.
    pub fn rate(&self, merit: FigureOfMerit) -> Option<f64> {
        match merit {
            FigureOfMerit::Time => None,
            FigureOfMerit::Operations | FigureOfMerit::Requests => Some(self.operations_per_second),
            FigureOfMerit::Rows => self.rows_per_second,
            FigureOfMerit::Megabytes => self.bytes_per_second,
        }
    }
}

/// The same of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellTotal {
    /// The geometric means of the trials', so that the quotient of two cells is the mean quotient of their
    /// pairs; an upper bound where one of them is.
    pub typical: Total,
    /// Each trial's own, in the order in which they ran.
    pub each: Vec<Total>,
}

impl CellTotal {
    /// Of all trials of a cell; `None` where it is not known of each.
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

/// What a unit of a trial's figure of merit took, in seconds, all kinds of operations together: the
/// inverse of the rate.
pub(crate) fn seconds_a_unit(
    trial: &TrialSummary,
    merit: FigureOfMerit,
    span: ComparedSpan,
) -> Option<f64> {
    let total = Total::from_trial(trial)?;
    let rate = total.rate(merit).filter(|rate| *rate > 0.0)?;
    match span {
        ComparedSpan::Window => Some(1.0 / rate),
        // Each operation is taken to do as much outside of the window as in it.
        ComparedSpan::WholeTrial => {
            let whole = whole_trial_rate(trial).filter(|whole| *whole > 0.0)?;
            Some(total.operations_per_second / whole / rate)
        }
    }
}

/// Operations a second that did not fail, over all of a trial.
fn whole_trial_rate(trial: &TrialSummary) -> Option<f64> {
    let ended = trial.measures.get(&OPERATIONS, &Scope::Clients)?;
    let failed = trial.operations.iter().map(|view| view.errors).fold(0, u64::saturating_add);
    Some((ended - failed as f64) / trial.ran_s?)
}

/// exp(mean of ln x): what is twice too slow weighs as much as what is twice too fast, and one
/// trial that stalled does not make the cell.
pub(crate) fn geometric_mean(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| (sum / values.len() as f64).exp())
}
