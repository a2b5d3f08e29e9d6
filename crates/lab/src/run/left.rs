//! How much longer a run takes: a cell that has run takes as long as it did, another one as long as was
//! estimated, by the measure of those that have run.

use std::collections::{BTreeMap, VecDeque};

use bakeoff_experiment::{Cell, TrialBlock, TrialPlan};
use bakeoff_results::EndedTrial;

/// The trials to come, and how long those that have run took.
#[derive(Debug, Default)]
pub struct RemainingTime {
    /// The trials to come, each with the seconds that it was estimated at.
    due: VecDeque<(Cell, f64)>,
    /// What was estimated for the power cuts, in seconds.
    cuts_s: f64,
    /// Of each cell, how often it has run, and the seconds it took.
    took: BTreeMap<Cell, (u32, f64)>,
    /// Seconds that were estimated for all these trials, and that they took.
    in_all: (f64, f64),
    /// The one that runs.
    running: Option<(Cell, f64)>,
}

impl RemainingTime {
    /// Of these trials and power cuts.
    pub fn new(due: impl Iterator<Item = (Cell, f64)>, cuts_s: f64) -> Self {
        Self { due: due.collect(), cuts_s, ..Self::default() }
    }

    /// Takes these trials for those to come.
    pub fn expect(&mut self, due: impl Iterator<Item = (Cell, f64)>) {
        self.due = due.collect();
    }

    /// Seconds from now on, when a trial begins.
    pub fn begins(&mut self, cell: &Cell) -> f64 {
        // A block that is run again was not among those to come.
        let is_next = self.due.front().is_some_and(|(next, _)| next == cell);
        self.running = if is_next { self.due.pop_front() } else { None };
        let again = if is_next { None } else { self.took.get(cell) };
        let again_s = again.map_or(0.0, |(times, seconds)| seconds / f64::from(*times));
        let to_come = self.running.iter().chain(&self.due);
        self.cuts_s + again_s + to_come.map(|(cell, guess)| self.each_s(cell, *guess)).sum::<f64>()
    }

    /// Notes how long the trial took that has begun.
    pub fn took(&mut self, seconds: f64) {
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

/// How many trials of a plan have ended, in blocks that are through.
pub fn ended(plan: &TrialPlan, done: &[EndedTrial]) -> usize {
    let whole = |block: &&TrialBlock| {
        let of = done.iter().filter(|trial| trial.block == block.number);
        let latest = of.clone().map(|trial| trial.attempt).max();
        of.filter(|trial| Some(trial.attempt) == latest).count() == block.trials.len()
    };
    plan.blocks.iter().filter(whole).map(|block| block.trials.len()).sum()
}

#[cfg(test)]
mod tests {
    use bakeoff_experiment::{Experiment, FlagOverrides};

    use super::*;
    use crate::Registry;

    #[test]
    fn what_has_run_says_how_long_the_rest_takes() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("two.toml");
        let toml = "workload = 'point'\nengine = ['null', 'sqlite']\nrepetitions = 2\n";
        std::fs::write(&file, toml).unwrap();
        let (file, changes) = (file.to_string_lossy(), FlagOverrides::default());
        let vocabulary = Registry::standard().vocabulary();
        let plan = Experiment::load(&file, &changes, &vocabulary).unwrap().plan();
        let cells = plan.blocks.iter().flat_map(|block| &block.trials).map(|it| it.cell.clone());
        let cells: Vec<Cell> = cells.collect();
        assert!(cells.len() == 4 && cells[0] != cells[1]);
        let mut left = RemainingTime::new(cells.iter().map(|cell| (cell.clone(), 10.0)), 7.0);
        assert_eq!(left.begins(&cells[0]), 47.0);
        let took = |cell: &Cell| if *cell == cells[0] { 20.0 } else { 4.0 };
        left.took(took(&cells[0]));
        // The other cell has not run, but may be as much slower than it was estimated.
        assert_eq!(left.begins(&cells[1]), 67.0);
        left.took(took(&cells[1]));
        assert_eq!(left.begins(&cells[2]), 31.0, "one of each cell, at 20 and at 4");
        left.took(took(&cells[2]));
        left.begins(&cells[3]);
        left.took(took(&cells[3]));
        assert_eq!(left.begins(&cells[0]), 27.0, "it is run again");
    }
}
