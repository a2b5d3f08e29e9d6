//! The planner `until-decided`. It needs verdicts from the analysis, so it can't be in the lab.

mod news;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bakeoff_analysis::{ConditionState, ConditionView, JudgedRun};
use bakeoff_experiment::{Experiment, TrialBlock, TrialPlan};
use bakeoff_lab::planner::{DueBlock, Planner, PlannerKind, due_after, repeat_disturbed};
use bakeoff_results::{Error, Levels, RunFolder, SequentialDesign, TrialSummary};

pub static UNTIL_DECIDED: PlannerKind = PlannerKind {
    name: "until-decided",
    summary: "repetition by repetition, in each condition until all its comparisons are decided",
    repeats: true,
    seeks: false,
    begin: |experiment, plan, folder| {
        Ok(Box::new(SequentialPlanner::new(experiment, plan, folder)?))
    },
};

/// Repeats the blocks of all conditions from look to look; after each look, only those of open
/// conditions.
struct SequentialPlanner {
    conditions: Vec<ConditionBlocks>,
    sequential: SequentialDesign,
    due: VecDeque<DueBlock>,
    look: u32,
    /// The least number of blocks of a condition, even if it is decided earlier.
    least: u32,
    over: bool,
    news: Option<String>,
}

struct ConditionBlocks {
    levels: Levels,
    blocks: Vec<TrialBlock>,
    has_ended: bool,
}

impl SequentialPlanner {
    fn new(
        experiment: &Experiment,
        plan: &TrialPlan,
        folder: &mut RunFolder,
    ) -> Result<Self, Error> {
        let sequential = folder.run()?.sequential.ok_or_else(|| Error::Refused {
            path: folder.dir().to_owned(),
            why: "it does not say when the run is judged".into(),
        })?;
        let conditions = group_conditions(experiment, plan);
        let (due, news) = (VecDeque::new(), None);
        let least = experiment.bounds.map_or(0, |bounds| bounds.min_repetitions);
        let mut planner = Self { conditions, sequential, due, look: 0, least, over: false, news };
        let judged = JudgedRun::from_folder(folder)?;
        let furthest = judged.conditions.iter().map(|it| it.blocks).max().unwrap_or(0);
        // A condition that is as far as the others may still have a block to run again.
        let ended = |it: &&ConditionView| it.blocks < furthest && it.state != ConditionState::Open;
        planner.end_conditions(judged.conditions.iter().filter(ended));
        let reached = furthest.max(1);
        let looks = planner.sequential.looks.iter().copied();
        planner.look = looks.filter(|look| *look >= reached).min().unwrap_or(reached);
        planner.fill_due(folder)?;
        Ok(planner)
    }

    fn end_conditions<'a>(&mut self, ended: impl Iterator<Item = &'a ConditionView>) {
        for view in ended {
            let found = self.conditions.iter_mut().find(|it| it.levels == view.levels);
            found.into_iter().for_each(|condition| condition.has_ended = true);
        }
    }

    fn open_conditions(&self) -> impl Iterator<Item = &ConditionBlocks> {
        self.conditions.iter().filter(|condition| !condition.has_ended)
    }

    fn fill_due(&mut self, folder: &mut RunFolder) -> Result<(), Error> {
        let done = folder.read_ended_trials()?;
        let upto =
            |it: &ConditionBlocks| it.blocks.iter().take(self.look as usize).cloned().collect();
        let mut blocks: Vec<TrialBlock> =
            self.open_conditions().flat_map(|it| -> Vec<TrialBlock> { upto(it) }).collect();
        blocks.sort_by_key(|block| block.number);
        for block in blocks {
            self.due.extend(due_after(&block, &done, folder)?);
        }
        Ok(())
    }

    /// Repeats disturbed blocks, within bounds, before a look counts them.
    fn run_again(&mut self, folder: &mut RunFolder) -> Result<(), Error> {
        let ended: BTreeSet<u32> = folder.read_ended_trials()?.iter().map(|it| it.block).collect();
        let find_block = |number| {
            let mut blocks = self.open_conditions().flat_map(|it| &it.blocks);
            blocks.find(|block| block.number == number).cloned()
        };
        let due = repeat_disturbed(folder, ended.len(), find_block)?;
        self.due.extend(due);
        Ok(())
    }

    /// Looks at all open conditions, and schedules the blocks that they need.
    fn look_again(&mut self, folder: &mut RunFolder) -> Result<(), Error> {
        let judged = JudgedRun::from_folder(folder)?;
        let ended = judged.conditions.iter().filter(|it| it.state != ConditionState::Open);
        if self.look >= self.least {
            self.end_conditions(ended);
        }
        self.news = Some(news::describe_look(&folder.run()?, &judged, self.look));
        let next = self.sequential.looks.iter().find(|look| **look > self.look);
        match next {
            Some(next) => self.look = *next,
            None => self.conditions.iter_mut().for_each(|it| it.has_ended = true),
        }
        self.fill_due(folder)
    }

    /// Whether the block probably can't end in time, judging by similar blocks.
    fn is_too_long(&self, due: &DueBlock, folder: &RunFolder) -> Result<bool, Error> {
        let Some(max_time_s) = self.sequential.max_time_s else { return Ok(false) };
        let used_s = folder.run()?.sequential.map_or(0.0, |it| it.used_s);
        let own = self.conditions.iter().find(|it| it.blocks.contains(&due.block));
        let own: Vec<u32> = own.iter().flat_map(|it| &it.blocks).map(|it| it.number).collect();
        let trials = folder.read_trials()?;
        let longest = |of_own: bool| {
            let all = trials.iter().filter(|it| !of_own || own.contains(&it.block));
            longest_block_s(all)
        };
        // Before the first block nothing is known, and the run must do something.
        let expected_s = longest(true).or_else(|| longest(false));
        Ok(expected_s.is_some_and(|expected_s| used_s + expected_s > max_time_s))
    }
}

impl Planner for SequentialPlanner {
    fn next(&mut self, so_far: &mut RunFolder) -> Result<Option<DueBlock>, Error> {
        while self.due.is_empty() && self.open_conditions().next().is_some() {
            self.run_again(so_far)?;
            if self.due.is_empty() {
                self.look_again(so_far)?;
            }
        }
        let Some(due) = self.due.pop_front().filter(|_| !self.over) else { return Ok(None) };
        if self.is_too_long(&due, so_far)? {
            self.over = true;
            self.due.clear();
            let (judged, run) = (JudgedRun::from_folder(so_far)?, so_far.run()?);
            self.news = Some(news::of_time(&run, &judged));
            return Ok(None);
        }
        Ok(Some(due))
    }

    fn blocks_left(&self) -> Vec<&DueBlock> {
        self.due.iter().collect()
    }

    fn take_news(&mut self) -> Option<String> {
        self.news.take()
    }
}

fn group_conditions(experiment: &Experiment, plan: &TrialPlan) -> Vec<ConditionBlocks> {
    let mut conditions: Vec<ConditionBlocks> = Vec::new();
    for block in &plan.blocks {
        let mut levels = block.trials[0].cell.to_map();
        levels.remove(experiment.compare.name());
        match conditions.iter_mut().find(|it| it.levels == levels) {
            Some(condition) => condition.blocks.push(block.clone()),
            None => {
                let blocks = vec![block.clone()];
                conditions.push(ConditionBlocks { levels, blocks, has_ended: false });
            }
        }
    }
    conditions
}

/// The last trial has no end yet, so it counts as the others' average.
fn longest_block_s<'a>(trials: impl Iterator<Item = &'a TrialSummary>) -> Option<f64> {
    let mut blocks: BTreeMap<(u32, u32), Vec<&TrialSummary>> = BTreeMap::new();
    for trial in trials {
        blocks.entry((trial.block, trial.attempt)).or_default().push(trial);
    }
    let took = |trials: &Vec<&TrialSummary>| {
        let starts = || trials.iter().map(|trial| trial.started_s);
        let (first, last) = (starts().reduce(f64::min)?, starts().reduce(f64::max)?);
        match trials.len() {
            0 | 1 => trials.first().and_then(|trial| trial.ran_s),
            n => Some((last - first) * n as f64 / (n - 1) as f64),
        }
    };
    blocks.values().filter_map(took).reduce(f64::max)
}

#[cfg(test)]
mod tests;
