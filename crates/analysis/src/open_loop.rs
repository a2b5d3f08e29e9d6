//! Trials in an open loop, where operations are due at a rate whether or not those before them have
//! ended: what was offered, and whether it was kept up with.

use bakeoff_results::measure::{BACKLOG, DUE, NOT_STARTED, OFFERED, START_DELAY_P99};
use bakeoff_results::{Scope, TrialSummary};
use bakeoff_stats::backlog::keeps_up;
use serde::{Deserialize, Serialize};

/// What was offered to a trial, or to all trials of a cell, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenLoopView {
    /// Operations a second that were to start: the mean of the trials.
    pub offered_per_second: f64,
    /// Operations that were to start, all trials together.
    pub due: f64,
    /// Of these, those that had not started when the time was over.
    pub not_started: u64,
    /// The most operations at once that were due and had not started, of any trial; `None` where
    /// it was not measured.
    pub backlog: Option<u64>,
    /// 99th percentile of the time between an operation's intended start and its start: the
    /// longest of any trial.
    pub start_delay_p99_s: Option<f64>,
    /// How many trials did not keep up.
    pub behind: u32,
    /// Whether all of them kept up. Where one did not, its response times grow for as long as it
    /// runs, and say no more than how long that was.
    pub kept_up: bool,
}

/// Whether a trial ran in an open loop.
pub(crate) fn is_open(trial: &TrialSummary) -> bool {
    trial.measures.get(&OFFERED, &Scope::Clients).is_some()
}

impl OpenLoopView {
    /// Of one trial; `None` for a closed loop, and for a trial that failed.
    pub fn from_trial(trial: &TrialSummary) -> Option<Self> {
        let of = |measure| trial.measures.get(measure, &Scope::Clients);
        let offered_per_second = of(&OFFERED)?;
        let not_started = of(&NOT_STARTED)?;
        // Earlier bakeoffs did not count it: their clients ran no longer than operations were due.
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

    /// Of all trials of a cell.
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

    /// The share of what was due that had not started when the time was over.
    pub fn share_not_started(&self) -> f64 {
        if self.due > 0.0 { self.not_started as f64 / self.due } else { 0.0 }
    }
}
