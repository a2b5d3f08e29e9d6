//! Searches for the highest rate at which response times keep a limit: the result of each probe,
//! the next rate, and the answer. Planner, news and report all use this.

mod probe;

use std::collections::BTreeMap;

use bakeoff_results::limit::ResponseTimeLimit;
use bakeoff_results::{CellLevels, Levels, OwnFactor, TrialSummary};
use bakeoff_stats::limit::{Probe, Search, SearchStep};
use serde::{Deserialize, Serialize};

pub use probe::{ProbeVerdict, ProbeView};

use crate::attempts::Attempts;

pub const MOST_PROBES: usize = 40;
/// The first rate, as a share of the closed loop's operations a second.
const FIRST: f64 = 0.5;
const SEARCH: Search = Search {
    start: f64::NAN,
    growth: 1.5,
    precision: 0.05,
    confirm: 3,
    most: MOST_PROBES,
    bounds: (0.001, 1_000_000.0),
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitView {
    pub levels: Levels,
    /// Operations of all kinds; `None` where no trial of the closed loop counts.
    pub closed_per_second: Option<f64>,
    pub closed_failed: Option<String>,
    pub probes: Vec<ProbeView>,
    /// `None` where the search is over, or can't begin.
    pub next_per_second: Option<f64>,
    /// The highest rate that kept the limit and never broke it.
    pub keeps_per_second: Option<f64>,
    pub breaks_per_second: Option<f64>,
    pub confirmed: u32,
    pub outcome: LimitOutcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitOutcome {
    NotBegun,
    NoStart,
    NotOver,
    NoRate,
    /// The trials at the rate had too few operations for the quantile.
    NotKnown,
    /// The rate did not keep the limit as often as required.
    NotConfirmed,
    Found,
}

pub(crate) fn find_limits(
    limit: Option<ResponseTimeLimit>,
    trials: &[TrialSummary],
) -> Vec<LimitView> {
    let Some(limit) = limit else { return Vec::new() };
    let mut found: Vec<(Levels, Vec<&TrialSummary>)> = Vec::new();
    let mut places = BTreeMap::new();
    for trial in trials {
        let levels = trial.levels.without_factor(OwnFactor::Rate.as_str());
        let place = *places.entry(levels.clone()).or_insert(found.len());
        if place == found.len() {
            found.push((levels, Vec::new()));
        }
        found[place].1.push(trial);
    }
    let view = |(levels, trials): (Levels, Vec<&TrialSummary>)| {
        LimitView::from_trials(limit, levels, &trials, None)
    };
    found.into_iter().map(view).collect()
}

impl LimitView {
    /// `start` is the first rate, where the experiment names one; else it follows from the closed
    /// loop.
    pub fn from_trials(
        limit: ResponseTimeLimit,
        levels: Levels,
        trials: &[&TrialSummary],
        start: Option<f64>,
    ) -> Self {
        // If a block was run again, the last attempt counts.
        let attempts = Attempts::from_trials(trials.iter().copied());
        let trials: Vec<&TrialSummary> =
            trials.iter().copied().filter(|trial| attempts.is_latest(trial)).collect();
        let probed = trials.iter().filter_map(|trial| match rate_of(&trial.levels)? {
            Loop::Open(rate) => Some(ProbeView::from_trial(limit, rate, trial)),
            Loop::Closed => None,
        });
        // A search has no more, but a foreign folder may have any number.
        let probes: Vec<ProbeView> = probed.take(MOST_PROBES).collect();
        let is_closed = |trial: &&&TrialSummary| rate_of(&trial.levels) == Some(Loop::Closed);
        let closed = trials.iter().find(is_closed).copied();
        let counts = |trial: &&TrialSummary| trial.valid && !trial.has_failed();
        let reached = closed.filter(counts).map(per_second).filter(|reached| *reached > 0.0);
        let start = start.or_else(|| reached.map(|it| FIRST * it));
        // Where a rate was tried, the search has begun, whatever its start.
        let start = start.or_else(|| probes.first().map(|it| it.per_second));
        let said: Vec<Probe> = probes
            .iter()
            .map(|it| Probe { rate: it.per_second, kept: it.said != ProbeVerdict::Breaks })
            .collect();
        let search = Search { start: start.unwrap_or(f64::NAN), ..SEARCH };
        let (step, found) = (search.next(&said), search.bracket_limit(&said));
        let next_per_second = match step {
            SearchStep::Probe(rate) => Some(rate),
            SearchStep::Over(_) => None,
        };
        let unknown = |keeps: f64| {
            probes.iter().any(|it| it.per_second == keeps && it.said == ProbeVerdict::Unknown)
        };
        let outcome = match (next_per_second, found.keeps) {
            _ if probes.is_empty() && closed.is_none() => LimitOutcome::NotBegun,
            (Some(_), _) => LimitOutcome::NotOver,
            (None, _) if probes.is_empty() => LimitOutcome::NoStart,
            (None, None) => LimitOutcome::NoRate,
            (None, Some(keeps)) if unknown(keeps) => LimitOutcome::NotKnown,
            (None, Some(_)) if found.confirmed >= SEARCH.confirm => LimitOutcome::Found,
            (None, Some(_)) => LimitOutcome::NotConfirmed,
        };
        let no_start = closed.filter(|_| reached.is_none());
        let why = |trial: &TrialSummary| {
            trial.reason.clone().unwrap_or_else(|| "it did no operation".to_owned())
        };
        Self {
            levels,
            closed_per_second: reached,
            closed_failed: no_start.map(why),
            probes,
            next_per_second,
            keeps_per_second: found.keeps,
            breaks_per_second: found.breaks,
            confirmed: found.confirmed,
            outcome,
        }
    }

    /// If all trials at the lowest rate that broke the limit failed, nothing was measured above.
    fn describe_above(&self) -> String {
        let Some(breaks) = self.breaks_per_second else {
            return "no higher rate was tried".to_owned();
        };
        let at_it = |it: &&ProbeView| it.per_second == breaks && it.said == ProbeVerdict::Breaks;
        let broke: Vec<&ProbeView> = self.probes.iter().filter(at_it).collect();
        let all_failed = broke.iter().all(|it| it.failed.is_some());
        let why = broke.last().and_then(|it| it.failed.as_deref());
        match why.filter(|_| all_failed) {
            Some(why) => {
                format!("at {breaks}/s the trial failed, so that nothing is known above: {why}")
            }
            None => format!("{breaks}/s breaks it"),
        }
    }

    pub fn answer(&self, limit: ResponseTimeLimit) -> String {
        let above = self.describe_above();
        let (keeps, confirmed) = (self.keeps_per_second.unwrap_or_default(), self.confirmed);
        match self.outcome {
            LimitOutcome::NotBegun => "the search has not begun".to_owned(),
            LimitOutcome::NotOver => "the search is not over".to_owned(),
            LimitOutcome::NoStart => {
                let why = self.closed_failed.as_deref().unwrap_or("it did no operation");
                format!("no limit is looked for, since the closed loop failed: {why}")
            }
            LimitOutcome::NoRate => {
                let lowest = self.breaks_per_second;
                let lowest =
                    lowest.map_or_else(String::new, |it| format!(": {it}/s breaks it, too"));
                format!("no rate keeps {limit}{lowest}")
            }
            LimitOutcome::NotKnown => {
                let (name, share) = (limit.quantile.name(), limit.quantile.share_below());
                let needed = bakeoff_stats::quantile::needed(share).unwrap_or_default();
                let seconds = (needed as f64 / keeps).ceil();
                format!(
                    "whether {keeps}/s keeps {limit} is not known: {name} needs {needed} operations of a \
                     kind, and a trial has fewer: give --seconds {seconds} or more"
                )
            }
            LimitOutcome::Found => format!(
                "found: {keeps}/s keeps {limit}, {confirmed} of {confirmed} times when it was tried again; \
                 {above}"
            ),
            LimitOutcome::NotConfirmed => format!(
                "not confirmed: {keeps}/s keeps {limit}, {confirmed} of {} times when it was tried again; \
                 {above}",
                SEARCH.confirm
            ),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Loop {
    Closed,
    Open(f64),
}

fn rate_of(levels: &Levels) -> Option<Loop> {
    let level = levels.level(OwnFactor::Rate)?;
    let level = level.split_once('@').map_or(level, |(base, _)| base);
    if level == "closed" {
        return Some(Loop::Closed);
    }
    let rate = level.rsplit_once(':').map_or(level, |(_, rate)| rate);
    let per_second = rate.strip_suffix("/s")?.parse::<f64>().ok()?;
    Some(Loop::Open(per_second)).filter(|_| per_second > 0.0)
}

fn per_second(trial: &TrialSummary) -> f64 {
    trial.operations.iter().map(|it| it.per_second).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(level: &str) -> Option<Loop> {
        rate_of(&[(OwnFactor::Rate.to_string(), level.to_owned())].into())
    }

    #[test]
    fn a_rate_is_read_from_its_level() {
        assert_eq!(at("closed"), Some(Loop::Closed));
        assert_eq!(at("200/s"), Some(Loop::Open(200.0)));
        assert_eq!(at("poisson:0.5/s"), Some(Loop::Open(0.5)));
        assert_eq!(at("closed@again"), Some(Loop::Closed));
        assert_eq!((at("fast"), at("0/s"), at("-1/s")), (None, None, None));
        assert_eq!(rate_of(&Levels::new()), None);
    }
}
