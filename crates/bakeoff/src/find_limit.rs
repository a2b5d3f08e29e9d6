//! The planner `find-limit`. It needs response times from the analysis, so it can't be in the lab.
//!
//! Each combination of the other factors starts with a closed loop; half of its rate is the first
//! rate, unless the experiment names one. The search is a pure function of the trials in the run
//! folder, so an interrupted run goes on where it was.

use std::collections::{BTreeSet, VecDeque};

use bakeoff_analysis::{LimitView, MOST_PROBES, share_of_others};
use bakeoff_experiment::{
    Experiment, Factor, PlannedTrial, Rate, ResponseTimeLimit, TrialBlock, TrialPlan,
};
use bakeoff_lab::planner::{
    DueBlock, Planner, PlannerKind, due_after, find_due, most_repeats, repeat_block,
};
use bakeoff_results::{Error, Levels, RunFolder, TrialSummary};

#[cfg(test)]
mod tests;

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
    /// Blocks of the plan that have not run yet; they run before any search.
    due: VecDeque<DueBlock>,
    conditions: Vec<LimitCondition>,
    beyond: u32,
    news: Option<String>,
}

struct LimitCondition {
    first: PlannedTrial,
    levels: Levels,
    place: String,
    told: usize,
    is_over: bool,
}

/// The results of a run's searches so far, one line each; empty for other runs.
pub fn find_answers(
    experiment: &Experiment,
    plan: &TrialPlan,
    folder: &mut RunFolder,
) -> Result<Vec<String>, Error> {
    if experiment.limit.is_none() {
        return Ok(Vec::new());
    }
    let planner = FindLimit::new(experiment, plan, folder)?;
    let trials = folder.read_trials()?;
    let line = |at: &LimitCondition| {
        at.format_line(&LimitView::answer(&planner.view_condition(at, &trials), planner.limit))
    };
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
        let done = folder.read_ended_trials()?;
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

    fn view_condition(&self, at: &LimitCondition, trials: &[TrialSummary]) -> LimitView {
        let own: Vec<&TrialSummary> = trials.iter().filter(|it| at.holds_trial(it)).collect();
        let named = match at.first.cell.rate() {
            Rate::Open { per_second, .. } => Some(per_second),
            Rate::Closed => None,
        };
        LimitView::from_trials(self.limit, at.levels.clone(), &own, named)
    }

    /// Repeats the first disturbed trial: the search depends on it. Only a few, since a machine
    /// that is never quiet gains nothing.
    fn run_again(
        &mut self,
        trials: &[TrialSummary],
        folder: &mut RunFolder,
    ) -> Result<Option<DueBlock>, Error> {
        let blocks: BTreeSet<u32> = trials.iter().map(|it| it.block).collect();
        if trials.len() - blocks.len() >= most_repeats(blocks.len()) {
            return Ok(None);
        }
        let (noted, processors) = (folder.read_disturbed()?, folder.run()?.machine.processors);
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
        let Some(at) = self.conditions.iter().find(|it| it.holds_trial(trial)) else {
            return Ok(None);
        };
        let level = &trial.levels[Factor::RATE.name()];
        self.news = Some(
            at.format_line(&format!("{level} is tried again: the machine was disturbed ({what})")),
        );
        let cell = at.first.cell.with_level(Factor::RATE, level.clone());
        let trials = vec![PlannedTrial { order: trial.order, cell, image: at.first.image }];
        let block = TrialBlock { number: trial.block, repetition: trial.repetition, trials };
        Ok(Some(repeat_block(folder, block, trial.attempt, &what)?))
    }

    /// The result of a condition's last trial, and the next step.
    fn news_of(&self, looked: &LimitView) -> String {
        let limit = self.limit;
        match (looked.next_per_second, looked.probes.last()) {
            (Some(next), Some(last)) => format!("{}; next {next}/s", last.describe_probe(limit)),
            (Some(next), None) => {
                let reached = looked.closed_per_second.unwrap_or_default();
                format!(
                    "a closed loop reaches {reached:.0}/s; {limit} is looked for from {next}/s on"
                )
            }
            (None, Some(last)) => {
                format!("{}; {}", last.describe_probe(limit), looked.answer(limit))
            }
            (None, None) => looked.answer(limit),
        }
    }
}

impl LimitCondition {
    fn from_trial(experiment: &Experiment, first: &PlannedTrial) -> Self {
        let several =
            |factor: &Factor| *factor != Factor::RATE && experiment.run_levels(*factor).len() > 1;
        let varied = experiment.factors.keys().filter(|factor| several(factor));
        let words = varied.map(|factor| factor.in_words(first.cell.aliased_level(*factor)));
        let place = words.collect::<Vec<_>>().join(", ");
        let mut levels = first.cell.to_map();
        levels.remove(Factor::RATE.name());
        Self { first: first.clone(), levels, place, told: 0, is_over: false }
    }

    fn holds_trial(&self, trial: &TrialSummary) -> bool {
        let others = trial.levels.iter().filter(|(factor, _)| *factor != Factor::RATE.name());
        others.eq(self.levels.iter())
    }

    fn format_line(&self, what: &str) -> String {
        if self.place.is_empty() { what.to_owned() } else { format!("{}: {what}", self.place) }
    }

    fn probe_block(&self, number: u32, repetition: u32, rate: f64) -> TrialBlock {
        let arrivals = match self.first.cell.rate() {
            Rate::Open { arrivals, .. } => arrivals,
            Rate::Closed => None,
        };
        let level = Rate::Open { per_second: rate, arrivals }.to_string();
        let cell = self.first.cell.with_level(Factor::RATE, level);
        TrialBlock {
            number,
            repetition,
            trials: vec![PlannedTrial { order: 0, cell, image: self.first.image }],
        }
    }
}

impl Planner for FindLimit {
    fn next(&mut self, so_far: &mut RunFolder) -> Result<Option<DueBlock>, Error> {
        if let Some(due) = self.due.pop_front() {
            return Ok(Some(due));
        }
        let trials = so_far.read_trials()?;
        if let Some(due) = self.run_again(&trials, so_far)? {
            return Ok(Some(due));
        }
        let number = trials.iter().map(|it| it.block + 1).max().unwrap_or(0).max(self.beyond);
        let mut lines = Vec::new();
        let mut next = None;
        for place in 0..self.conditions.len() {
            let at = &self.conditions[place];
            let looked = self.view_condition(at, &trials);
            let told = looked.probes.len();
            if told > at.told || (at.told == 0 && !at.is_over) {
                let of = self.conditions.len();
                let begins = told == 0 && of > 1;
                let search = begins.then(|| format!("search {} of {of}: ", place + 1));
                lines.push(search.unwrap_or_default() + &at.format_line(&self.news_of(&looked)));
            }
            let block = looked.next_per_second.map(|rate| {
                let times = looked.probes.iter().filter(|it| it.per_second == rate).count();
                at.probe_block(number, times as u32, rate)
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
            Some(block) => find_due(&block, so_far),
            None => Ok(None),
        }
    }

    fn blocks_left(&self) -> Vec<&DueBlock> {
        self.due.iter().collect()
    }

    fn take_news(&mut self) -> Option<String> {
        self.news.take()
    }
}
