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
