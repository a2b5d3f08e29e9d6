//! What the trials of a cell had behind them: a restart, or debts at their lasting level.

use bakeoff_results::measure::{
    CONDITIONED, FIRST_10, FIRST_100, FIRST_1000, OPENING, ROUNDS_RANGE, SPACE_AT_START,
    TRIALS_SINCE, TURNED_OVER,
};
use bakeoff_results::{Measure, Scope, TrialSummary};
use bakeoff_stats::steady::Steadiness;
use serde::{Deserialize, Serialize};

use crate::steady::rounds;

/// A restart: what its first users waited for. Means over the cell's trials, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RestartView {
    /// The time to open.
    pub opening_s: f64,
    /// The mean latency of the first 10 operations; `None` where a trial had fewer.
    pub first_10_s: Option<f64>,
    /// The same of the first 100.
    pub first_100_s: Option<f64>,
    /// The same of the first 1,000.
    pub first_1000_s: Option<f64>,
}

/// How the trials of a cell that were to be steady were.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyView {
    /// Operations that conditioned it before a trial, on average.
    pub conditioned: f64,
    /// In how many trials a debt had not been run up and paid once by then.
    pub not_turned_over: u32,
    /// How many trials followed another one after the same conditioning.
    pub followed_others: u32,
    /// Mean size on disk when the clients started, in bytes.
    pub space_at_start_bytes: Option<f64>,
    /// How many trials were steady.
    pub steady: u32,
    /// How many were not; of those that are left it can't be told.
    pub never_steady: u32,
    /// The largest range of a trial's five rounds, as a share of their mean; `None` where a trial had
    /// too few operations for rounds.
    pub largest_range: Option<f64>,
}

fn each<'a>(
    trials: &'a [&TrialSummary],
    measure: &'a Measure,
    scope: Scope,
) -> impl Iterator<Item = f64> + 'a {
    trials.iter().filter_map(move |trial| trial.measures.get(measure, &scope))
}

/// The mean of what all trials have.
fn mean(trials: &[&TrialSummary], measure: &Measure, scope: Scope) -> Option<f64> {
    let all: Vec<f64> = each(trials, measure, scope).collect();
    let complete = !all.is_empty() && all.len() == trials.len();
    complete.then(|| all.iter().sum::<f64>() / all.len() as f64)
}

impl RestartView {
    /// Of a cell's trials; `None` where they did not begin with a restart.
    pub(crate) fn of_cell(trials: &[&TrialSummary]) -> Option<Self> {
        let first = |measure| mean(trials, measure, Scope::Clients);
        Some(Self {
            opening_s: mean(trials, &OPENING, Scope::Trial)?,
            first_10_s: first(&FIRST_10),
            first_100_s: first(&FIRST_100),
            first_1000_s: first(&FIRST_1000),
        })
    }
}

impl SteadyView {
    /// Of a cell's trials; `None` where they were not conditioned.
    pub(crate) fn of_cell(trials: &[&TrialSummary]) -> Option<Self> {
        let number =
            |answer| trials.iter().filter(|trial| rounds(trial) == Some(answer)).count() as u32;
        let turned = each(trials, &TURNED_OVER, Scope::Trial);
        let since = each(trials, &TRIALS_SINCE, Scope::Trial);
        let ranges = each(trials, &ROUNDS_RANGE, Scope::Trial);
        Some(Self {
            conditioned: mean(trials, &CONDITIONED, Scope::Clients)?,
            not_turned_over: turned.filter(|turned| *turned == 0.0).count() as u32,
            followed_others: since.filter(|others| *others > 0.0).count() as u32,
            space_at_start_bytes: mean(trials, &SPACE_AT_START, Scope::Trial),
            steady: number(Steadiness::Steady),
            never_steady: number(Steadiness::NotSteady),
            largest_range: ranges.reduce(f64::max),
        })
    }
}
