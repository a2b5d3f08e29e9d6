//! Planners decide which block runs next, from the run's results so far. No other part below the
//! report feeds back.

mod fixed;
mod repeats;

use bakeoff_experiment::{Experiment, PlannerNames, TrialBlock, TrialPlan};
use bakeoff_results::{EndedTrial, Error, RunFolder};

pub use fixed::Fixed;
pub use repeats::{most_repeats, repeat_block, repeat_disturbed};

#[derive(Clone, Copy, Debug)]
pub struct PlannerKind {
    pub name: &'static str,
    pub summary: &'static str,
    /// It decides how often each block repeats: an experiment then gives bounds instead of
    /// `repetitions`, and the plan has as many repetitions as there may be.
    pub repeats: bool,
    /// It searches for the highest rate that keeps the limit of `find_limit`: the plan then has one
    /// trial of each combination of the other factors, at the first rate.
    pub seeks: bool,
    /// Begins or resumes; the folder holds the results so far. The plan has no impossible cells.
    pub begin: Begin,
}

impl PlannerKind {
    pub fn names(&self) -> PlannerNames {
        PlannerNames { name: self.name, repeats: self.repeats, seeks: self.seeks }
    }
}

pub type Begin = fn(&Experiment, &TrialPlan, &mut RunFolder) -> Result<Box<dyn Planner>, Error>;

/// The first one is the default.
pub const PLANNERS: [&PlannerKind; 1] = [&fixed::FIXED];

/// Decides what runs next.
///
/// **What it knows.** The run folder: every trial that has ended, notes on it, and the time used.
/// It has no other lasting memory: after an interruption a new planner on the same folder must come
/// to the same blocks.
///
/// **What it may return.** Any block whose cells have a level of each factor of the workload, from
/// the plan or new. A block of the plan keeps its number; a new one is numbered from the end of the
/// plan on, the same after an interruption. The number seeds the clients. No block and attempt may
/// come twice, so every block goes through [`find_due`]. To repeat a block in its place, set its earlier
/// attempt aside and return the next attempt ([`repeat_block`]); to learn more, return a block with
/// a new number. A cell that can't be had fails its trial.
///
/// **Blocks that run together.** Blocks with a shared conditioning
/// ([`TrialBlock::shares_conditioning`]) run together if [`Planner::blocks_left`] names them one after the
/// other: [`Planner::next`] is then called for the second before the first has run.
///
/// **What is left.** What [`Planner::blocks_left`] names is checked before loading, loaded before the
/// first block, and counted in progress and time. Other blocks are loaded when they come, and the
/// progress grows with them.
pub trait Planner {
    fn next(&mut self, so_far: &mut RunFolder) -> Result<Option<DueBlock>, Error>;

    /// The blocks to come, in order, as far as known.
    fn blocks_left(&self) -> Vec<&DueBlock>;

    /// The decisions since the last call, in one line for the user.
    fn take_news(&mut self) -> Option<String> {
        None
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueBlock {
    pub block: TrialBlock,
    pub attempt: u32,
}

/// `None` if the whole block was run. A block that was cut short runs again as a whole, since its
/// trials would not be back to back; its earlier trials are kept but not compared.
pub fn find_due(block: &TrialBlock, folder: &mut RunFolder) -> Result<Option<DueBlock>, Error> {
    let done = folder.read_ended_trials()?;
    due_after(block, &done, folder)
}

pub fn due_after(
    block: &TrialBlock,
    done: &[EndedTrial],
    folder: &mut RunFolder,
) -> Result<Option<DueBlock>, Error> {
    let earlier = done.iter().filter(|trial| trial.block == block.number);
    let attempt = earlier.clone().map(|trial| trial.attempt).max();
    let count = earlier.filter(|trial| Some(trial.attempt) == attempt).count();
    if count == block.trials.len() {
        return Ok(None);
    }
    if let Some(attempt) = attempt {
        let reason = "the run was interrupted in this block; it was run again as a whole";
        folder.invalidate_block(block.number, attempt, reason)?;
    }
    let attempt = attempt.map_or(0, |attempt| attempt + 1);
    Ok(Some(DueBlock { block: block.clone(), attempt }))
}

#[cfg(test)]
mod tests {
    use bakeoff_results::Trial;
    use bakeoff_testkit::synthetic;

    use super::fixed::OnceMore;
    use super::*;

    /// A plan of so many blocks, and an empty run folder for it.
    fn plan_of(blocks: u32, place: &std::path::Path) -> (TrialPlan, RunFolder) {
        let toml = "workload = 'point'\nengine = ['null', 'sqlite']\nrepetitions = ";
        let run = synthetic::run(&["1"], &["0"], 8);
        let folder = RunFolder::create(&place.join("run"), &run, "").unwrap();
        (crate::tests::load(&format!("{toml}{blocks}\n")).plan(), folder)
    }

    /// How many trials are left of a plan.
    fn trials(planner: &impl Planner) -> usize {
        planner.blocks_left().iter().map(|due| due.block.trials.len()).sum()
    }

    /// Records so many trials of a block, as failed ones.
    fn record(folder: &mut RunFolder, due: &DueBlock, trials: usize) {
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
        let (plan, mut folder) = plan_of(4, place.path());
        let mut fixed = Fixed::new(&plan, &mut folder).unwrap();
        assert_eq!(trials(&fixed), 8);
        let first = fixed.next(&mut folder).unwrap().unwrap();
        record(&mut folder, &first, 2);
        let second = fixed.next(&mut folder).unwrap().unwrap();
        record(&mut folder, &second, 1);
        let again = Fixed::new(&plan, &mut folder).unwrap();
        assert_eq!(trials(&again), 6);
        assert_eq!(carry_out(again, &mut folder, &[]), [(1, 1), (2, 0), (3, 0)]);
        assert_eq!(trials(&Fixed::new(&plan, &mut folder).unwrap()), 0);
    }

    #[test]
    fn a_disturbed_block_is_run_again_once_after_the_plan_and_within_bounds() {
        let place = tempfile::tempdir().unwrap();
        let (plan, mut folder) = plan_of(4, place.path());
        // It is disturbed both times, which is the end of it.
        let run = carry_out(OnceMore::new(&plan, &mut folder).unwrap(), &mut folder, &[1]);
        assert_eq!(run, [(0, 0), (1, 0), (2, 0), (3, 0), (1, 1)]);
        let trial = folder.read_trial(1, 0, 0).unwrap().unwrap();
        let reason = trial.reason.unwrap();
        assert!(reason.contains("the machine was disturbed (reading is slow)"), "{reason}");

        let place = tempfile::tempdir().unwrap();
        let (plan, mut folder) = plan_of(11, place.path());
        let planner = OnceMore::new(&plan, &mut folder).unwrap();
        let run = carry_out(planner, &mut folder, &[0, 2, 3]);
        assert_eq!(run[11..], [(0, 1), (2, 1)], "no more than two of eleven");
    }

    #[test]
    fn after_an_interruption_a_disturbed_block_is_not_repeated_a_second_time() {
        let place = tempfile::tempdir().unwrap();
        let (plan, mut folder) = plan_of(11, place.path());
        let resume = |folder: &mut RunFolder| OnceMore::new(&plan, folder).unwrap();
        let mut planner = resume(&mut folder);
        for _ in 0..11 {
            let due = planner.next(&mut folder).unwrap().unwrap();
            record(&mut folder, &due, 2);
            if [0, 2, 3].contains(&due.block.number) {
                folder.note_disturbed(due.block.number, due.attempt, "reading is slow").unwrap();
            }
        }
        // The run is interrupted while a disturbed block runs again.
        let again = planner.next(&mut folder).unwrap().unwrap();
        assert_eq!((again.block.number, again.attempt), (0, 1));
        record(&mut folder, &again, 1);
        let run = carry_out(resume(&mut folder), &mut folder, &[0]);
        assert_eq!(run, [(0, 2), (2, 1)], "what was due, and the second of two");
        assert_eq!(carry_out(resume(&mut folder), &mut folder, &[]), []);
    }
}
