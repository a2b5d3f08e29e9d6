//! The state in which the trials of a cell began: after a restart, or with debts at their lasting
//! level.

use bakeoff_results::measure::{
    CONDITIONED, FIRST_10, FIRST_100, FIRST_1000, OPENING, ROUNDS_RANGE, SPACE_AT_START,
    TRIALS_SINCE, TURNED_OVER,
};
use bakeoff_results::{Measure, Scope, TrialSummary};
use bakeoff_stats::steady::Steadiness;
use serde::{Deserialize, Serialize};

use crate::steady::rounds;
use crate::total;

/// The waits of the first users after a restart. Means over the cell's trials, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RestartView {
    pub opening_s: f64,
    /// Mean latency of the first 10 operations; `None` where a trial had fewer.
    pub first_10_s: Option<f64>,
    pub first_100_s: Option<f64>,
    pub first_1000_s: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyView {
    /// Operations that conditioned it before a trial, on average.
    pub conditioned: f64,
    /// In how many trials a debt had not been run up and paid once by then.
    pub not_turned_over: u32,
    pub followed_others: u32,
    pub space_at_start_bytes: Option<f64>,
    pub steady: u32,
    /// Unknown for all other trials.
    pub never_steady: u32,
    /// The range of a trial's five rounds, as a share of their mean.
    pub largest_range: Option<f64>,
}

fn read_values<'a>(
    trials: &'a [&TrialSummary],
    measure: &'a Measure,
    scope: Scope,
) -> impl Iterator<Item = f64> + 'a {
    trials.iter().filter_map(move |trial| trial.measures.get(measure, &scope))
}

fn mean(trials: &[&TrialSummary], measure: &Measure, scope: Scope) -> Option<f64> {
    let all: Vec<f64> = read_values(trials, measure, scope).collect();
    total::mean(&all).filter(|_| all.len() == trials.len())
}

impl RestartView {
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
    pub(crate) fn of_cell(trials: &[&TrialSummary]) -> Option<Self> {
        let number =
            |answer| trials.iter().filter(|trial| rounds(trial) == Some(answer)).count() as u32;
        let turned = read_values(trials, &TURNED_OVER, Scope::Trial);
        let since = read_values(trials, &TRIALS_SINCE, Scope::Trial);
        let ranges = read_values(trials, &ROUNDS_RANGE, Scope::Trial);
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
