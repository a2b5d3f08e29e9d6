//! Estimates a run's remaining time: a cell takes as long as before, a new one as estimated, scaled
//! by the trials so far.

use std::collections::{BTreeMap, VecDeque};

use bakeoff_experiment::{Cell, TrialBlock, TrialPlan};
use bakeoff_results::EndedTrial;

#[derive(Debug, Default)]
pub struct RemainingTime {
    /// The trials to come, each with its estimated seconds.
    due: VecDeque<(Cell, f64)>,
    cuts_s: f64,
    /// For each cell, how often it has run, and for how many seconds.
    took: BTreeMap<Cell, (u32, f64)>,
    /// Estimated and real seconds of all these trials.
    in_all: (f64, f64),
    running: Option<(Cell, f64)>,
}

impl RemainingTime {
    pub fn new(due: impl Iterator<Item = (Cell, f64)>, cuts_s: f64) -> Self {
        Self { due: due.collect(), cuts_s, ..Self::default() }
    }

    pub fn expect_trials(&mut self, due: impl Iterator<Item = (Cell, f64)>) {
        self.due = due.collect();
    }

    pub fn begin_trial(&mut self, cell: &Cell) -> f64 {
        // A repeated block was not in the list.
        let is_next = self.due.front().is_some_and(|(next, _)| next == cell);
        self.running = if is_next { self.due.pop_front() } else { None };
        let again = if is_next { None } else { self.took.get(cell) };
        let again_s = again.map_or(0.0, |(times, seconds)| seconds / f64::from(*times));
        let to_come = self.running.iter().chain(&self.due);
        self.cuts_s + again_s + to_come.map(|(cell, guess)| self.each_s(cell, *guess)).sum::<f64>()
    }

    pub fn end_trial(&mut self, seconds: f64) {
        let Some((cell, guess)) = self.running.take() else { return };
        let of_cell = self.took.entry(cell).or_default();
        *of_cell = (of_cell.0 + 1, of_cell.1 + seconds);
        self.in_all = (self.in_all.0 + guess, self.in_all.1 + seconds);
    }

    fn each_s(&self, cell: &Cell, guess: f64) -> f64 {
        match (self.took.get(cell), self.in_all) {
            (Some((times, seconds)), _) => seconds / f64::from(*times),
            (None, (guessed, took)) if guessed > 0.0 => guess * took / guessed,
            (None, _) => guess,
        }
    }
}

pub fn count_ended(plan: &TrialPlan, done: &[EndedTrial]) -> usize {
    let whole = |block: &&TrialBlock| {
        let of = done.iter().filter(|trial| trial.block == block.number);
        let latest = of.clone().map(|trial| trial.attempt).max();
        of.filter(|trial| Some(trial.attempt) == latest).count() == block.trials.len()
    };
    plan.blocks.iter().filter(whole).map(|block| block.trials.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_run_says_how_long_the_rest_takes() {
        let toml = "workload = 'point'\nengine = ['null', 'sqlite']\nrepetitions = 2\n";
        let plan = crate::tests::load(toml).plan();
        let cells = plan.blocks.iter().flat_map(|block| &block.trials).map(|it| it.cell.clone());
        let cells: Vec<Cell> = cells.collect();
        assert!(cells.len() == 4 && cells[0] != cells[1]);
        let mut left = RemainingTime::new(cells.iter().map(|cell| (cell.clone(), 10.0)), 7.0);
        assert_eq!(left.begin_trial(&cells[0]), 47.0);
        let took = |cell: &Cell| if *cell == cells[0] { 20.0 } else { 4.0 };
        left.end_trial(took(&cells[0]));
        // The other cell has not run, but may be as much slower than it was estimated.
        assert_eq!(left.begin_trial(&cells[1]), 67.0);
        left.end_trial(took(&cells[1]));
        assert_eq!(left.begin_trial(&cells[2]), 31.0, "one of each cell, at 20 and at 4");
        left.end_trial(took(&cells[2]));
        left.begin_trial(&cells[3]);
        left.end_trial(took(&cells[3]));
        assert_eq!(left.begin_trial(&cells[0]), 27.0, "it is run again");
    }
}
