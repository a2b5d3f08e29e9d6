//! A planner around another: a block that the machine disturbed is run a second time.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_experiment::TrialBlock;
use bakeoff_results::{Error, RunFolder};

use super::{DueBlock, Planner};

/// Runs a block that the machine disturbed a second time, when the plan that it follows is through;
/// the first attempt is kept, but not compared. So many blocks at most: on a machine that is never
/// quiet, a second time is no better than the first.
pub struct OnceMore<P> {
    plan: P,
    /// How many second attempts are left.
    left: usize,
    /// Blocks that were run, by number.
    blocks: BTreeMap<u32, TrialBlock>,
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
    fn next(&mut self, so_far: &mut RunFolder) -> Result<Option<DueBlock>, Error> {
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
        Ok(Some(DueBlock { block, attempt: found.attempt + 1 }))
    }

    fn left(&self) -> Vec<&DueBlock> {
        self.plan.left()
    }
}
