use std::collections::{BTreeMap, VecDeque};

use bakeoff_experiment::{TrialBlock, TrialPlan};
use bakeoff_results::{Error, RunFolder};

use super::{DueBlock, Planner, PlannerKind, due_after, repeats::repeat_disturbed};

pub(super) static FIXED: PlannerKind = PlannerKind {
    name: "fixed",
    summary: "the blocks of the plan, and once more a few in which the machine was disturbed",
    repeats: false,
    seeks: false,
    begin: |_, plan, folder| Ok(Box::new(OnceMore::new(plan, folder)?)),
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

/// Repeats disturbed blocks after the plan; the first attempt is kept but not compared.
pub struct OnceMore {
    plan: Fixed,
    blocks: BTreeMap<u32, TrialBlock>,
}

impl OnceMore {
    pub fn new(plan: &TrialPlan, folder: &mut RunFolder) -> Result<Self, Error> {
        let blocks = plan.blocks.iter().map(|block| (block.number, block.clone())).collect();
        Ok(Self { plan: Fixed::new(plan, folder)?, blocks })
    }
}

impl Planner for OnceMore {
    fn next(&mut self, so_far: &mut RunFolder) -> Result<Option<DueBlock>, Error> {
        if self.plan.due.is_empty() {
            let find_block = |number| self.blocks.get(&number).cloned();
            self.plan.due.extend(repeat_disturbed(so_far, self.blocks.len(), find_block)?);
        }
        self.plan.next(so_far)
    }

    fn blocks_left(&self) -> Vec<&DueBlock> {
        self.plan.blocks_left()
    }
}
