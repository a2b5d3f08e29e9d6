//! Planners: which block is run next. A planner reads what the run has found so far; nothing else
//! below the report answers back.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bakeoff_experiment::{Block, Plan};
use bakeoff_results::RunFolder;

/// Decides what is run next.
pub trait Planner {
    /// The next block, from what the run folder holds by now; `None` when nothing is left to do.
    ///
    /// # Errors
    /// When the folder can't be read or written.
    fn next(&mut self, so_far: &mut RunFolder) -> Result<Option<Due>, bakeoff_results::Error>;
}

/// A block that is to be run: the whole of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// The block.
    pub block: Block,
    /// Which attempt at it this is, from 0.
    pub attempt: u32,
}

/// The trivial planner: a plan that is fixed, block by block, without what is done already. A block
/// that was cut short is run again as a whole, since its trials would no longer be back to back;
/// what it had is kept, but not compared.
#[derive(Debug)]
pub struct Fixed {
    due: VecDeque<Due>,
}

impl Fixed {
    /// What a run folder still lacks of a plan.
    ///
    /// # Errors
    /// When the folder can't be read or written.
    pub fn new(plan: &Plan, folder: &mut RunFolder) -> Result<Self, bakeoff_results::Error> {
        let done = folder.done()?;
        let mut due = VecDeque::new();
        for block in &plan.blocks {
            let earlier = done.iter().filter(|trial| trial.block == block.number);
            let attempt = earlier.clone().map(|trial| trial.attempt).max();
            let count = earlier.filter(|trial| Some(trial.attempt) == attempt).count();
            if count == block.trials.len() {
                continue;
            }
            if let Some(attempt) = attempt {
                let reason = "the run was interrupted in this block; it was run again as a whole";
                folder.invalidate(block.number, attempt, reason)?;
            }
            let attempt = attempt.map_or(0, |attempt| attempt + 1);
            due.push_back(Due { block: block.clone(), attempt });
        }
        Ok(Self { due })
    }

    /// How many trials are left.
    pub fn trials(&self) -> usize {
        self.due.iter().map(|due| due.block.trials.len()).sum()
    }

    /// The blocks that are left.
    pub fn left(&self) -> impl Iterator<Item = &Due> {
        self.due.iter()
    }
}

impl Planner for Fixed {
    fn next(&mut self, _: &mut RunFolder) -> Result<Option<Due>, bakeoff_results::Error> {
        Ok(self.due.pop_front())
    }
}

/// Runs a block that the machine disturbed a second time, when the plan that it follows is through;
/// the first attempt is kept, but not compared. So many blocks at most: on a machine that is never
/// quiet, a second time is no better than the first.
pub struct OnceMore<P> {
    plan: P,
    /// How many second attempts are left.
    left: usize,
    /// Blocks that were run, by number.
    blocks: BTreeMap<u32, Block>,
    /// Those that were run a second time.
    again: BTreeSet<u32>,
}

impl<P: Planner> OnceMore<P> {
    /// Follows `plan`, and runs at most `most` disturbed blocks once more.
    pub fn new(plan: P, most: usize) -> Self {
        Self { plan, left: most, blocks: BTreeMap::new(), again: BTreeSet::new() }
    }
}

impl<P: Planner> Planner for OnceMore<P> {
    fn next(&mut self, so_far: &mut RunFolder) -> Result<Option<Due>, bakeoff_results::Error> {
        if let Some(due) = self.plan.next(so_far)? {
            self.blocks.insert(due.block.number, due.block.clone());
            return Ok(Some(due));
        }
        if self.left == 0 {
            return Ok(None);
        }
        let disturbed = so_far.disturbed()?;
        let fresh = disturbed
            .iter()
            .find(|it| !self.again.contains(&it.block) && self.blocks.contains_key(&it.block));
        let Some(found) = fresh else { return Ok(None) };
        self.left -= 1;
        self.again.insert(found.block);
        let reason = format!("the machine was disturbed ({}); the block was run again", found.what);
        so_far.invalidate(found.block, found.attempt, &reason)?;
        let block = self.blocks[&found.block].clone();
        Ok(Some(Due { block, attempt: found.attempt + 1 }))
    }
}

#[cfg(test)]
mod tests {
    use bakeoff_experiment::{Changes, Experiment};
    use bakeoff_results::{Machine, Run, Trial};

    use super::*;
    use crate::Registry;

    /// A plan of four blocks, and an empty run folder for it.
    fn four(place: &std::path::Path) -> (Plan, RunFolder) {
        let file = place.join("four.toml");
        let toml = "workload = 'point'\nengine = ['null', 'sqlite']\nrepetitions = 4\n";
        std::fs::write(&file, toml).unwrap();
        let (file, changes) = (file.to_string_lossy(), Changes::default());
        let vocabulary = Registry::standard().vocabulary();
        let plan = Experiment::load(&file, &changes, &vocabulary).unwrap().plan();
        let run: Run = serde_json::from_value(serde_json::json!({
            "name": "", "title": "", "workload": "", "operations": [], "compare": "engine",
            "baseline": "null", "factors": [], "seconds": 2.0, "repetitions": 4, "seed": 1,
            "planned": 8, "command": "", "version": "", "started_s": 0.0, "engines": [],
            "machine": Machine::default(), "harness_s": 0.0, "neighbour_alone_per_second": null,
            "text": "",
        }))
        .unwrap();
        let folder = RunFolder::create(&place.join("run"), &run, "").unwrap();
        (plan, folder)
    }

    /// Records so many trials of a block, as failed ones.
    fn record(folder: &mut RunFolder, due: &Due, trials: usize) {
        for planned in due.block.trials.iter().take(trials) {
            let trial = Trial {
                repetition: due.block.repetition,
                block: due.block.number,
                attempt: due.attempt,
                order: planned.order,
                levels: planned.cell.to_map(),
                started_s: 0.0,
                valid: false,
                reason: None,
                measured: None,
            };
            folder.commit_trial(&trial).unwrap();
        }
    }

    /// Runs all that a planner asks for; the blocks and attempts. Blocks in `noisy` are disturbed.
    fn carry_out(
        mut planner: impl Planner,
        folder: &mut RunFolder,
        noisy: &[u32],
    ) -> Vec<(u32, u32)> {
        let mut run = Vec::new();
        while let Some(due) = planner.next(folder).unwrap() {
            record(folder, &due, 2);
            if noisy.contains(&due.block.number) {
                folder.note_disturbed(due.block.number, due.attempt, "reading is slow").unwrap();
            }
            run.push((due.block.number, due.attempt));
        }
        run
    }

    #[test]
    fn a_fixed_plan_goes_on_where_it_was_cut_short() {
        let place = tempfile::tempdir().unwrap();
        let (plan, mut folder) = four(place.path());
        let mut fixed = Fixed::new(&plan, &mut folder).unwrap();
        assert_eq!(fixed.trials(), 8);
        let first = fixed.next(&mut folder).unwrap().unwrap();
        record(&mut folder, &first, 2);
        let second = fixed.next(&mut folder).unwrap().unwrap();
        record(&mut folder, &second, 1);
        let again = Fixed::new(&plan, &mut folder).unwrap();
        assert_eq!(again.trials(), 6);
        assert_eq!(carry_out(again, &mut folder, &[]), [(1, 1), (2, 0), (3, 0)]);
        assert_eq!(Fixed::new(&plan, &mut folder).unwrap().trials(), 0);
    }

    #[test]
    fn a_disturbed_block_is_run_again_once_after_the_plan_and_within_bounds() {
        let place = tempfile::tempdir().unwrap();
        let (plan, mut folder) = four(place.path());
        let fixed = Fixed::new(&plan, &mut folder).unwrap();
        // It is disturbed both times, which is the end of it.
        let run = carry_out(OnceMore::new(fixed, 5), &mut folder, &[1]);
        assert_eq!(run, [(0, 0), (1, 0), (2, 0), (3, 0), (1, 1)]);
        let trial = folder.trial(1, 0, 0).unwrap().unwrap();
        let reason = trial.reason.unwrap();
        assert!(reason.contains("the machine was disturbed (reading is slow)"), "{reason}");

        let place = tempfile::tempdir().unwrap();
        let (plan, mut folder) = four(place.path());
        let fixed = Fixed::new(&plan, &mut folder).unwrap();
        let run = carry_out(OnceMore::new(fixed, 2), &mut folder, &[0, 2, 3]);
        assert_eq!(run[4..], [(0, 1), (2, 1)], "no more than two");
    }
}
