//! Planners: which block is run next. A planner reads what the run has found so far; nothing else
//! below the report answers back.

mod fixed;
mod once_more;

use bakeoff_experiment::{Experiment, TrialBlock, TrialPlan};
use bakeoff_results::{EndedTrial, Error, RunFolder};

pub use fixed::Fixed;
pub use once_more::OnceMore;

/// A planner as it is registered.
#[derive(Clone, Copy, Debug)]
pub struct PlannerKind {
    /// Its name: an experiment's key `planner` has it.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// Whether it decides how often each block is repeated: an experiment gives it bounds in the place
    /// of `repetitions`, and the plan has as many repetitions as there may be.
    pub repeats: bool,
    /// Whether it looks for the highest rate that keeps a limit: an experiment names that by `find_limit`,
    /// and the plan has one trial of each combination of the other factors, at the rate to begin with.
    pub seeks: bool,
    /// Begins, or goes on after a run was interrupted: then the folder holds what was done. The plan
    /// is the experiment's own without the cells that can't be had.
    pub begin: Begin,
}

/// How a planner begins.
pub type Begin = fn(&Experiment, &TrialPlan, &mut RunFolder) -> Result<Box<dyn Planner>, Error>;

/// The planners that are built in; the first is that of an experiment that names none.
pub const PLANNERS: [&PlannerKind; 1] = [&fixed::FIXED];

/// Decides what is run next.
///
/// **What it is told.** The run folder, before each block: every trial that has ended, what was noted
/// of it, and how much time was used. It has no other memory that lasts: a run that goes on after it was interrupted
/// begins a new planner on the same folder, which has to come to the same blocks.
///
/// **What it may hand out.** Any block whose cells have a level of each factor of the workload: one
/// of the plan, or one that it makes. A block of the plan keeps the number that it has there; any
/// other has a number of its own, from the end of the plan's on, the same after an interruption.
/// The number seeds what clients do. No block and attempt may be handed out twice, so every block
/// goes through [`due`], which knows what the folder has of it. To run a block once more as what it
/// was, its earlier attempt is set aside ([`RunFolder::invalidate`]), and the next is handed out; to
/// learn more, it is handed out as a block of another number. A cell that can't be had fails its trial with
/// the reason.
///
/// **What is run together.** Blocks that share a conditioning ([`TrialBlock::shares_conditioning`]) are run
/// together if [`Planner::left`] names them one after the other: [`Planner::next`] is then asked for the
/// second block before the first has run.
///
/// **How many there will be.** [`Planner::left`] is what is known by now. What it names is tried
/// before anything is loaded, loaded before the first block, and counted in the progress and in the
/// time that is left. The data of a block that was not in it are loaded when it comes, and the
/// progress grows with it: trial 7 of 7 is the last one known by then.
pub trait Planner {
    /// The next block, from what the run folder holds by now; `None` when nothing is left to do.
    ///
    /// # Errors
    /// When the folder can't be read or written.
    fn next(&mut self, so_far: &mut RunFolder) -> Result<Option<DueBlock>, Error>;

    /// The blocks that it is going to hand out, in order, as far as it knows by now.
    fn left(&self) -> Vec<&DueBlock>;

    /// What a person should know of what it has decided since it was last asked, in a line: why the run
    /// goes on, or ends.
    fn news(&mut self) -> Option<String> {
        None
    }
}

/// A block that is to be run: the whole of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueBlock {
    /// The block.
    pub block: TrialBlock,
    /// Which attempt at it this is, from 0.
    pub attempt: u32,
}

/// The block with its next attempt; `None` where all of it was run. One that was cut short is run
/// again as a whole, since its trials would no longer be back to back; what it had is kept, but not
/// compared.
///
/// # Errors
/// When the folder can't be read or written.
pub fn due(block: &TrialBlock, folder: &mut RunFolder) -> Result<Option<DueBlock>, Error> {
    let done = folder.done()?;
    due_after(block, &done, folder)
}

/// The same, where it is known what was done: for who asks of many blocks.
///
/// # Errors
/// As [`due`].
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
        folder.invalidate(block.number, attempt, reason)?;
    }
    let attempt = attempt.map_or(0, |attempt| attempt + 1);
    Ok(Some(DueBlock { block: block.clone(), attempt }))
}

#[cfg(test)]
mod tests {
    use bakeoff_experiment::{Experiment, FlagOverrides};
    use bakeoff_results::{Machine, Run, Trial};

    use super::*;
    use crate::Registry;

    /// A plan of four blocks, and an empty run folder for it.
    fn four(place: &std::path::Path) -> (TrialPlan, RunFolder) {
        let file = place.join("four.toml");
        let toml = "workload = 'point'\nengine = ['null', 'sqlite']\nrepetitions = 4\n";
        std::fs::write(&file, toml).unwrap();
        let (file, changes) = (file.to_string_lossy(), FlagOverrides::default());
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

    /// How many trials are left of a plan.
    fn trials(planner: &impl Planner) -> usize {
        planner.left().iter().map(|due| due.block.trials.len()).sum()
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
        let (plan, mut folder) = four(place.path());
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
