//! The planner `fixed`: the plan, block by block.

use std::collections::VecDeque;

use bakeoff_experiment::TrialPlan;
use bakeoff_results::{Error, RunFolder};

use super::{DueBlock, OnceMore, Planner, PlannerKind, due_after};

/// One block in so many, and one at least, may be run again because the machine was disturbed.
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

/// The plan without what is done already.
#[derive(Debug)]
pub struct Fixed {
    due: VecDeque<DueBlock>,
}

impl Fixed {
    /// What a run folder still lacks of a plan.
    ///
    /// # Errors
    /// When the folder can't be read or written.
    pub fn new(plan: &TrialPlan, folder: &mut RunFolder) -> Result<Self, Error> {
        let done = folder.done()?;
        let due = plan.blocks.iter().map(|block| due_after(block, &done, folder));
        let due: Result<VecDeque<Option<DueBlock>>, Error> = due.collect();
        Ok(Self { due: due?.into_iter().flatten().collect() })
    }
}

impl Planner for Fixed {
    fn next(&mut self, _: &mut RunFolder) -> Result<Option<DueBlock>, Error> {
        Ok(self.due.pop_front())
    }

    fn left(&self) -> Vec<&DueBlock> {
        self.due.iter().collect()
    }
}
