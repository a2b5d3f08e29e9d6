//! The planner `find-limit`: it stands here, above the lab and the analysis, since the next rate goes by
//! what the last trial's response times were.
//!
//! In each combination of the factors beside `rate`, a closed loop is run first. Half of what it reached is
//! the first rate, unless the experiment names one. The search itself is a pure function of the probes so far
//! ([`bakeoff_analysis::limit`]), which are read from the run folder each time: so a run that was interrupted
//! goes on where it was.

use std::collections::VecDeque;

use bakeoff_analysis::limit::{Found, Probe, Search, Step};
use bakeoff_experiment::{Block, Experiment, Factor, Limit, Plan, PlannedTrial, Rate, base};
use bakeoff_lab::planner::{Due, Planner, PlannerKind, due, due_after};
use bakeoff_results::{Error, Levels, RunFolder, TrialSummary};

mod probed;
#[cfg(test)]
mod tests;

use probed::{Probed, Said};

/// The part of a closed loop's operations a second that is the first rate.
const FIRST: f64 = 0.5;
/// How many rates are tried at most in a search.
pub const MOST: usize = 40;
/// How a search goes from there on.
const SEARCH: Search = Search {
    start: f64::NAN,
    growth: 1.5,
    precision: 0.05,
    confirm: 3,
    most: MOST,
    bounds: (0.001, 1_000_000.0),
};

pub static FIND_LIMIT: PlannerKind = PlannerKind {
    name: "find-limit",
    summary: "in each combination of the other factors a closed loop, then rates: up until one breaks the \
              limit, between the highest that kept it and the lowest that broke it, and three times more the \
              one that is found",
    repeats: false,
    seeks: true,
    begin: |experiment, plan, folder| Ok(Box::new(FindLimit::new(experiment, plan, folder)?)),
};

struct FindLimit {
    limit: Limit,
    /// What is run before any search: the plan's blocks, in so far as they were not run.
    due: VecDeque<Due>,
    conditions: Vec<Condition>,
    /// The number of the first block that the plan has not.
    beyond: u32,
    news: Option<String>,
}

/// A combination of levels of the factors beside `rate`.
struct Condition {
    /// The plan's trial.
    first: PlannedTrial,
    levels: Levels,
    /// The levels that vary, in words.
    place: String,
    /// How many probes were told of.
    told: usize,
    is_over: bool,
}

/// What is known of a condition.
struct Looked<'a> {
    /// What comes next.
    step: Step,
    /// Its trials at rates, in their order.
    probed: Vec<Probed>,
    /// Its trial in a closed loop.
    closed: Option<&'a TrialSummary>,
}

/// What the searches of a run have found by now, a line each; none of a run that looks for no limit.
///
/// # Errors
/// When the folder can't be read.
pub fn answers(
    experiment: &Experiment,
    plan: &Plan,
    folder: &mut RunFolder,
) -> Result<Vec<String>, Error> {
    if experiment.limit.is_none() {
        return Ok(Vec::new());
    }
    let planner = FindLimit::new(experiment, plan, folder)?;
    let trials = folder.trials()?;
    let line = |at: &Condition| at.line(&planner.answer(&planner.look(at, &trials)));
    Ok(planner.conditions.iter().map(line).collect())
}

impl FindLimit {
    fn new(experiment: &Experiment, plan: &Plan, folder: &mut RunFolder) -> Result<Self, Error> {
        let limit = experiment.limit.ok_or_else(|| Error::Refused {
            path: folder.dir().to_owned(),
            why: "its experiment names no limit".into(),
        })?;
        let done = folder.done()?;
        let due: Result<Vec<Option<Due>>, Error> =
            plan.blocks.iter().map(|block| due_after(block, &done, folder)).collect();
        let mut trials: Vec<&PlannedTrial> =
            plan.blocks.iter().flat_map(|block| &block.trials).collect();
        trials.sort_by(|one, other| one.cell.cmp(&other.cell));
        let conditions = trials.into_iter().map(|first| Condition::of(experiment, first)).collect();
        let beyond = plan.blocks.iter().map(|block| block.number + 1).max().unwrap_or(0);
        let due = due?.into_iter().flatten().collect();
        Ok(Self { limit, due, conditions, beyond, news: None })
    }

    /// What is known of a condition.
    fn look<'a>(&self, at: &Condition, trials: &'a [TrialSummary]) -> Looked<'a> {
        let own: Vec<&TrialSummary> = trials.iter().filter(|it| at.holds(it)).collect();
        let probed: Vec<Probed> =
            own.iter().filter_map(|trial| Probed::of(self.limit, trial)).collect();
        let closed = own.iter().find(|trial| rate_of(trial) == Some(Rate::Closed)).copied();
        let start = match at.first.cell.rate() {
            Rate::Open { per_second, .. } => Some(per_second),
            Rate::Closed => closed.map(|it| FIRST * per_second(it)),
        };
        let search = Search { start: start.unwrap_or(f64::NAN), ..SEARCH };
        let kept = |it: &Probed| Probe { rate: it.rate, kept: it.said != Said::Breaks };
        let step = search.next(&probed.iter().map(kept).collect::<Vec<Probe>>());
        Looked { step, probed, closed }
    }

    /// What has come of the last trial of a condition, and what is next.
    fn news_of(&self, looked: &Looked<'_>) -> String {
        let Looked { step, probed, closed } = looked;
        match (step, probed.last()) {
            (Step::Probe(next), Some(last)) => format!("{}; next {next}/s", last.words),
            (Step::Probe(next), None) => {
                let reached = closed.map_or(0.0, per_second);
                let limit = self.limit;
                format!(
                    "a closed loop reaches {reached:.0}/s; {limit} is looked for from {next}/s on"
                )
            }
            (Step::Over(_), Some(last)) => format!("{}; {}", last.words, self.answer(looked)),
            (Step::Over(_), None) => self.answer(looked),
        }
    }

    /// What a search has found, in words.
    fn answer(&self, looked: &Looked<'_>) -> String {
        let Looked { step, probed, closed } = looked;
        match (step, probed.is_empty()) {
            (Step::Over(_), true) if closed.is_none() => "the search has not begun".to_owned(),
            (Step::Over(_), true) => {
                let reason = closed.and_then(|it| it.reason.as_deref());
                let why = reason.unwrap_or("it did no operation");
                format!("no limit is looked for, since the closed loop failed: {why}")
            }
            (Step::Over(found), false) => self.end(*found, probed),
            (Step::Probe(_), _) => "the search is not over".to_owned(),
        }
    }

    /// What a search that is over has found, in words.
    fn end(&self, found: Found, probed: &[Probed]) -> String {
        let limit = self.limit;
        let Some(keeps) = found.keeps else {
            let lowest =
                found.breaks.map_or_else(String::new, |it| format!(": {it}/s breaks it, too"));
            return format!("no rate keeps {limit}{lowest}");
        };
        let unknown = probed.iter().any(|it| it.rate == keeps && it.said == Said::Unknown);
        if unknown {
            let (name, share) = (limit.quantile.name(), limit.quantile.share());
            let needed = bakeoff_analysis::operations_needed(share).unwrap_or_default();
            let seconds = (needed as f64 / keeps).ceil();
            return format!(
                "whether {keeps}/s keeps {limit} is not known: {name} needs {needed} operations of a kind, \
                 and a trial has fewer: give --seconds {seconds} or more"
            );
        }
        let above = match found.breaks {
            Some(breaks) => format!("{breaks}/s breaks it"),
            None => "no higher rate was tried".to_owned(),
        };
        match found.confirmed {
            confirmed if confirmed >= SEARCH.confirm => {
                format!(
                    "found: {keeps}/s keeps {limit}, {confirmed} of {confirmed} times when it was tried again; {above}"
                )
            }
            confirmed => format!(
                "not confirmed: {keeps}/s keeps {limit}, {confirmed} of {} times when it was tried again; {above}",
                SEARCH.confirm
            ),
        }
    }
}

impl Condition {
    fn of(experiment: &Experiment, first: &PlannedTrial) -> Self {
        let several =
            |factor: &Factor| *factor != Factor::RATE && experiment.levels(*factor).len() > 1;
        let varied = experiment.factors.keys().filter(|factor| several(factor));
        let words = varied.map(|factor| factor.in_words(first.cell.get(*factor)));
        let place = words.collect::<Vec<_>>().join(", ");
        let mut levels = first.cell.to_map();
        levels.remove(Factor::RATE.name());
        Self { first: first.clone(), levels, place, told: 0, is_over: false }
    }

    /// Whether a trial is one of it.
    fn holds(&self, trial: &TrialSummary) -> bool {
        let others = trial.levels.iter().filter(|(factor, _)| *factor != Factor::RATE.name());
        others.eq(self.levels.iter())
    }

    /// A line about it.
    fn line(&self, what: &str) -> String {
        if self.place.is_empty() { what.to_owned() } else { format!("{}: {what}", self.place) }
    }

    /// The block that probes a rate.
    fn probe(&self, number: u32, repetition: u32, rate: f64) -> Block {
        let arrivals = match self.first.cell.rate() {
            Rate::Open { arrivals, .. } => arrivals,
            Rate::Closed => None,
        };
        let level = Rate::Open { per_second: rate, arrivals }.to_string();
        let cell = self.first.cell.with(Factor::RATE, level);
        Block { number, repetition, trials: vec![PlannedTrial { order: 0, cell }] }
    }
}

impl Planner for FindLimit {
    fn next(&mut self, so_far: &mut RunFolder) -> Result<Option<Due>, Error> {
        if let Some(due) = self.due.pop_front() {
            return Ok(Some(due));
        }
        let trials = so_far.trials()?;
        let number = trials.iter().map(|it| it.block + 1).max().unwrap_or(0).max(self.beyond);
        let mut lines = Vec::new();
        let mut next = None;
        for place in 0..self.conditions.len() {
            let at = &self.conditions[place];
            let looked = self.look(at, &trials);
            let told = looked.probed.len();
            if told > at.told || (at.told == 0 && !at.is_over) {
                lines.push(at.line(&self.news_of(&looked)));
            }
            let rate = match looked.step {
                Step::Probe(rate) => Some(rate),
                Step::Over(_) => None,
            };
            let block = rate.map(|rate| {
                let earlier = trials.iter().filter(|it| at.holds(it));
                let times = earlier.filter(|it| open_rate(it) == Some(rate)).count();
                at.probe(number, times as u32, rate)
            });
            let at = &mut self.conditions[place];
            (at.told, at.is_over) = (told, block.is_none());
            if block.is_some() {
                next = block;
                break;
            }
        }
        self.news = (!lines.is_empty()).then(|| lines.join("\n"));
        match next {
            Some(block) => due(&block, so_far),
            None => Ok(None),
        }
    }

    fn left(&self) -> Vec<&Due> {
        self.due.iter().collect()
    }

    fn news(&mut self) -> Option<String> {
        self.news.take()
    }
}

/// When a trial's operations started.
fn rate_of(trial: &TrialSummary) -> Option<Rate> {
    Rate::parse(base(trial.levels.get(Factor::RATE.name())?))
}

/// The rate of an open loop.
fn open_rate(trial: &TrialSummary) -> Option<f64> {
    match rate_of(trial)? {
        Rate::Open { per_second, .. } => Some(per_second),
        Rate::Closed => None,
    }
}

/// Operations a second of all kinds; 0 of a trial that does not count.
fn per_second(trial: &TrialSummary) -> f64 {
    let counts = trial.valid && !trial.failed();
    if counts { trial.operations.iter().map(|it| it.per_second).sum() } else { 0.0 }
}
