//! The planner `find-limit`: it stands here, above the lab and the analysis, since the next rate goes by
//! what the last trial's response times were.
//!
//! In each combination of the factors beside `rate`, a closed loop is run first. Half of what it reached is
//! the first rate, unless the experiment names one. The search itself is a pure function of the trials so far
//! ([`LimitView::of`]), which are read from the run folder each time: so a run that was interrupted goes on where
//! it was.

use std::collections::{BTreeSet, VecDeque};

use bakeoff_analysis::{LimitView, MOST_PROBES, share_of_others};
use bakeoff_experiment::{
    Experiment, Factor, PlannedTrial, Rate, ResponseTimeLimit, TrialBlock, TrialPlan,
};
use bakeoff_lab::planner::{DueBlock, Planner, PlannerKind, due, due_after};
use bakeoff_results::{Error, Levels, RunFolder, TrialSummary};

use crate::until_decided::AGAIN;

#[cfg(test)]
mod tests;

/// How many rates are tried at most in a search.
pub const MOST: usize = MOST_PROBES;

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
    limit: ResponseTimeLimit,
    /// What is run before any search: the plan's blocks, in so far as they were not run.
    due: VecDeque<DueBlock>,
    conditions: Vec<LimitCondition>,
    /// The number of the first block that the plan has not.
    beyond: u32,
    news: Option<String>,
}

/// A combination of levels of the factors beside `rate`.
struct LimitCondition {
    /// The plan's trial.
    first: PlannedTrial,
    levels: Levels,
    /// The levels that vary, in words.
    place: String,
    /// How many probes were told of.
    told: usize,
    is_over: bool,
}

/// What the searches of a run have found by now, a line each; none of a run that looks for no limit.
///
/// # Errors
/// When the folder can't be read.
pub fn answers(
    experiment: &Experiment,
    plan: &TrialPlan,
    folder: &mut RunFolder,
) -> Result<Vec<String>, Error> {
    if experiment.limit.is_none() {
        return Ok(Vec::new());
    }
    let planner = FindLimit::new(experiment, plan, folder)?;
    let trials = folder.trials()?;
    let line = |at: &LimitCondition| at.line(&planner.look(at, &trials).answer(planner.limit));
    Ok(planner.conditions.iter().map(line).collect())
}

impl FindLimit {
    fn new(
        experiment: &Experiment,
        plan: &TrialPlan,
        folder: &mut RunFolder,
    ) -> Result<Self, Error> {
        let limit = experiment.limit.ok_or_else(|| Error::Refused {
            path: folder.dir().to_owned(),
            why: "its experiment names no limit".into(),
        })?;
        let done = folder.done()?;
        let due: Result<Vec<Option<DueBlock>>, Error> =
            plan.blocks.iter().map(|block| due_after(block, &done, folder)).collect();
        let mut trials: Vec<&PlannedTrial> =
            plan.blocks.iter().flat_map(|block| &block.trials).collect();
        trials.sort_by(|one, other| one.cell.cmp(&other.cell));
        let conditions =
            trials.into_iter().map(|first| LimitCondition::from_trial(experiment, first)).collect();
        let beyond = plan.blocks.iter().map(|block| block.number + 1).max().unwrap_or(0);
        let due = due?.into_iter().flatten().collect();
        Ok(Self { limit, due, conditions, beyond, news: None })
    }

    /// What is known of a condition.
    fn look(&self, at: &LimitCondition, trials: &[TrialSummary]) -> LimitView {
        let own: Vec<&TrialSummary> = trials.iter().filter(|it| at.holds(it)).collect();
        let named = match at.first.cell.rate() {
            Rate::Open { per_second, .. } => Some(per_second),
            Rate::Closed => None,
        };
        LimitView::from_trials(self.limit, at.levels.clone(), &own, named)
    }

    /// Has the first trial that the machine disturbed run a second time, since the search goes by what it says;
    /// what it had is kept, but no more looked at. Within bounds: on a machine that is never quiet, a second time is
    /// no better than the first.
    fn run_again(
        &mut self,
        trials: &[TrialSummary],
        folder: &mut RunFolder,
    ) -> Result<Option<DueBlock>, Error> {
        let blocks: BTreeSet<u32> = trials.iter().map(|it| it.block).collect();
        if trials.len() - blocks.len() >= blocks.len().div_ceil(AGAIN) {
            return Ok(None);
        }
        let (noted, processors) = (folder.disturbed()?, folder.run()?.machine.processors);
        let what = |trial: &TrialSummary| {
            let by_others = share_of_others(trial, processors);
            let by_others =
                by_others.map(|it| format!("others used {:.0} % of its processors", it * 100.0));
            let is_it = |(block, attempt)| (block, attempt) == (trial.block, trial.attempt);
            let noted = noted.iter().find(|it| is_it((it.block, it.attempt)));
            by_others.or_else(|| noted.map(|it| it.what.clone()))
        };
        let once =
            |trial: &TrialSummary| trials.iter().filter(|it| it.block == trial.block).count() == 1;
        let mut fresh = trials.iter().filter(|trial| once(trial));
        let found = fresh.find_map(|trial| Some((trial, what(trial)?)));
        let Some((trial, what)) = found else { return Ok(None) };
        let Some(at) = self.conditions.iter().find(|it| it.holds(trial)) else { return Ok(None) };
        let reason = format!("the machine was disturbed ({what}); the block was run again");
        folder.invalidate(trial.block, trial.attempt, &reason)?;
        let level = &trial.levels[Factor::RATE.name()];
        self.news =
            Some(at.line(&format!("{level} is tried again: the machine was disturbed ({what})")));
        let cell = at.first.cell.with(Factor::RATE, level.clone());
        let trials = vec![PlannedTrial { order: trial.order, cell }];
        let block = TrialBlock { number: trial.block, repetition: trial.repetition, trials };
        Ok(Some(DueBlock { block, attempt: trial.attempt + 1 }))
    }

    /// What has come of the last trial of a condition, and what is next.
    fn news_of(&self, looked: &LimitView) -> String {
        let limit = self.limit;
        match (looked.next_per_second, looked.probes.last()) {
            (Some(next), Some(last)) => format!("{}; next {next}/s", last.words(limit)),
            (Some(next), None) => {
                let reached = looked.closed_per_second.unwrap_or_default();
                format!(
                    "a closed loop reaches {reached:.0}/s; {limit} is looked for from {next}/s on"
                )
            }
            (None, Some(last)) => format!("{}; {}", last.words(limit), looked.answer(limit)),
            (None, None) => looked.answer(limit),
        }
    }
}

impl LimitCondition {
    fn from_trial(experiment: &Experiment, first: &PlannedTrial) -> Self {
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
    fn probe(&self, number: u32, repetition: u32, rate: f64) -> TrialBlock {
        let arrivals = match self.first.cell.rate() {
            Rate::Open { arrivals, .. } => arrivals,
            Rate::Closed => None,
        };
        let level = Rate::Open { per_second: rate, arrivals }.to_string();
        let cell = self.first.cell.with(Factor::RATE, level);
        TrialBlock { number, repetition, trials: vec![PlannedTrial { order: 0, cell }] }
    }
}

impl Planner for FindLimit {
    fn next(&mut self, so_far: &mut RunFolder) -> Result<Option<DueBlock>, Error> {
        if let Some(due) = self.due.pop_front() {
            return Ok(Some(due));
        }
        let trials = so_far.trials()?;
        if let Some(due) = self.run_again(&trials, so_far)? {
            return Ok(Some(due));
        }
        let number = trials.iter().map(|it| it.block + 1).max().unwrap_or(0).max(self.beyond);
        let mut lines = Vec::new();
        let mut next = None;
        for place in 0..self.conditions.len() {
            let at = &self.conditions[place];
            let looked = self.look(at, &trials);
            let told = looked.probes.len();
            if told > at.told || (at.told == 0 && !at.is_over) {
                let of = self.conditions.len();
                let begins = told == 0 && of > 1;
                let search = begins.then(|| format!("search {} of {of}: ", place + 1));
                lines.push(search.unwrap_or_default() + &at.line(&self.news_of(&looked)));
            }
            let block = looked.next_per_second.map(|rate| {
                let times = looked.probes.iter().filter(|it| it.per_second == rate).count();
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

    fn left(&self) -> Vec<&DueBlock> {
        self.due.iter().collect()
    }

    fn news(&mut self) -> Option<String> {
        self.news.take()
    }
}
