//! What all kinds of operations come to a second: of a trial, and of a cell.

use bakeoff_results::measure::{BYTES_RATE, DONE_RATE, ROWS_RATE};
use bakeoff_results::{FigureOfMerit, OperationSummary, Scope, TrialSummary};
use serde::{Deserialize, Serialize};

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
    /// Whether these are upper bounds: operations were still running when the trial was cut off.
    pub at_most: bool,
}

impl Total {
    /// Of one trial; `None` where nothing was measured, and of an older bakeoff's where some failed: its
    /// rates count these, too.
    pub fn of(trial: &TrialSummary) -> Option<Self> {
        let measured = |measure| trial.measures.get(measure, &Scope::Clients);
        let sum = || {
            let failed = trial.operations.iter().any(|view| view.errors > 0);
            let rates = trial.operations.iter().map(|view| view.per_second);
            (!failed && !trial.operations.is_empty()).then(|| rates.sum())
        };
        Some(Self {
            operations_per_second: measured(&DONE_RATE).or_else(sum)?,
            rows_per_second: measured(&ROWS_RATE),
            bytes_per_second: measured(&BYTES_RATE),
            at_most: trial.operations.iter().any(|view| view.unfinished > 0),
        })
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
            trials.iter().map(|trial| Total::of(trial)).collect::<Option<_>>()?;
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
/// inverse of the rate. `mean` says which mean of a kind's times it goes by, where that is not the
/// window's.
pub(crate) fn seconds_a_unit(
    trial: &TrialSummary,
    merit: FigureOfMerit,
    mean: fn(&OperationSummary) -> Option<f64>,
) -> Option<f64> {
    let rate = Total::of(trial)?.rate(merit).filter(|rate| *rate > 0.0)?;
    let time = |of: fn(&OperationSummary) -> Option<f64>| -> f64 {
        trial.operations.iter().filter_map(|view| Some(view.count as f64 * of(view)?)).sum()
    };
    let window = time(|view| view.mean_s);
    (window > 0.0).then(|| time(mean) / window / rate)
}

/// exp(mean of ln x): what is twice too slow weighs as much as what is twice too fast, and one
/// trial that stalled does not make the cell.
pub(crate) fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let number = logarithms.len() as f64;
    (number > 0.0).then(|| (logarithms.iter().sum::<f64>() / number).exp())
}
