//! Trials in an open loop, where operations are due at a rate whether or not those before them have
//! ended.

use bakeoff_results::measure::{BACKLOG, DUE, NOT_STARTED, OFFERED, START_DELAY_P99};
use bakeoff_results::{Scope, TrialSummary};
use bakeoff_stats::backlog::keeps_up;
use serde::{Deserialize, Serialize};

use crate::document::CellView;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenLoopView {
    pub offered_per_second: f64,
    pub due: f64,
    pub not_started: u64,
    /// The most operations at once that were due and had not started, in any trial.
    pub backlog: Option<u64>,
    /// The time from an operation's intended start to its start: the longest of any trial.
    pub start_delay_p99_s: Option<f64>,
    pub behind: u32,
    /// If one did not, its response times grow for as long as it runs, and only show how long that
    /// was.
    pub kept_up: bool,
}

pub(crate) fn is_open(trial: &TrialSummary) -> bool {
    trial.measures.get(&OFFERED, &Scope::Clients).is_some()
}

impl CellView {
    /// It did not keep up with the offered rate.
    pub fn is_behind(&self) -> bool {
        self.open_loop.is_some_and(|open| !open.kept_up)
    }
}

pub(crate) fn is_behind(trial: &TrialSummary) -> bool {
    OpenLoopView::from_trial(trial).is_some_and(|open| !open.kept_up)
}

impl OpenLoopView {
    pub fn from_trial(trial: &TrialSummary) -> Option<Self> {
        let of = |measure| trial.measures.get(measure, &Scope::Clients);
        let offered_per_second = of(&OFFERED)?;
        let not_started = of(&NOT_STARTED)?;
        // Older versions did not count it: their clients ran no longer than operations were due.
        let due = of(&DUE).unwrap_or(offered_per_second * trial.ran_s?);
        let kept_up = keeps_up(due, not_started);
        Some(Self {
            offered_per_second,
            due,
            not_started: not_started as u64,
            backlog: of(&BACKLOG).map(|backlog| backlog as u64),
            start_delay_p99_s: of(&START_DELAY_P99),
            behind: u32::from(!kept_up),
            kept_up,
        })
    }

    pub(crate) fn of_cell(trials: &[&TrialSummary]) -> Option<Self> {
        let all: Vec<Self> = trials.iter().filter_map(|trial| Self::from_trial(trial)).collect();
        let number = all.len() as f64;
        let whole = all.into_iter().reduce(|a, b| Self {
            offered_per_second: a.offered_per_second + b.offered_per_second,
            due: a.due + b.due,
            not_started: a.not_started + b.not_started,
            backlog: a.backlog.max(b.backlog),
            start_delay_p99_s: [a.start_delay_p99_s, b.start_delay_p99_s]
                .into_iter()
                .flatten()
                .reduce(f64::max),
            behind: a.behind + b.behind,
            kept_up: a.kept_up && b.kept_up,
        })?;
        Some(Self { offered_per_second: whole.offered_per_second / number, ..whole })
    }

    pub fn share_not_started(&self) -> f64 {
        if self.due > 0.0 { self.not_started as f64 / self.due } else { 0.0 }
    }
}
