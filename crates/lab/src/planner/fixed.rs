use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bakeoff_experiment::{TrialBlock, TrialPlan};
use bakeoff_results::{Error, RunFolder};

use super::{DueBlock, Planner, PlannerKind, due_after};

/// The share of blocks, and one at least, that may run again after a disturbance.
const AGAIN: usize = 10;

pub(super) static FIXED: PlannerKind = PlannerKind {
    name: "fixed",
    summary: "the blocks of the plan, and once more a few in which the machine was disturbed",
    repeats: false,
    seeks: false,
    begin: |_, plan, folder| {
        let most = plan.blocks.len().div_ceil(AGAIN);
        Ok(Box::new(OnceMore::new(Fixed::new(plan, folder)?, most)))
    },
};

#[derive(Debug)]
pub struct Fixed {
    due: VecDeque<DueBlock>,
}

impl Fixed {
    pub fn new(plan: &TrialPlan, folder: &mut RunFolder) -> Result<Self, Error> {
        let done = folder.read_ended_trials()?;
        let due = plan.blocks.iter().map(|block| due_after(block, &done, folder));
        let due: Result<VecDeque<Option<DueBlock>>, Error> = due.collect();
        Ok(Self { due: due?.into_iter().flatten().collect() })
    }
}

impl Planner for Fixed {
    fn next(&mut self, _: &mut RunFolder) -> Result<Option<DueBlock>, Error> {
        Ok(self.due.pop_front())
    }

    fn blocks_left(&self) -> Vec<&DueBlock> {
        self.due.iter().collect()
    }
}

/// Repeats disturbed blocks after the plan; the first attempt is kept but not compared. At most
/// `most` blocks: on a machine that is never quiet, a repeat is no better.
pub struct OnceMore {
    plan: Fixed,
    left: usize,
    blocks: BTreeMap<u32, TrialBlock>,
    again: BTreeSet<u32>,
}

impl OnceMore {
    pub fn new(plan: Fixed, most: usize) -> Self {
        Self { plan, left: most, blocks: BTreeMap::new(), again: BTreeSet::new() }
    }
}

impl Planner for OnceMore {
    fn next(&mut self, so_far: &mut RunFolder) -> Result<Option<DueBlock>, Error> {
        if let Some(due) = self.plan.next(so_far)? {
            self.blocks.insert(due.block.number, due.block.clone());
            return Ok(Some(due));
        }
        if self.left == 0 {
            return Ok(None);
        }
        let disturbed = so_far.read_disturbed()?;
        let fresh = disturbed
            .iter()
            .find(|it| !self.again.contains(&it.block) && self.blocks.contains_key(&it.block));
        let Some(found) = fresh else { return Ok(None) };
        self.left -= 1;
        self.again.insert(found.block);
        let reason = format!("the machine was disturbed ({}); the block was run again", found.what);
        so_far.invalidate_block(found.block, found.attempt, &reason)?;
        let block = self.blocks[&found.block].clone();
        Ok(Some(DueBlock { block, attempt: found.attempt + 1 }))
    }

    fn blocks_left(&self) -> Vec<&DueBlock> {
        self.plan.blocks_left()
    }
}
