//! A planner's block, resolved: cells that it adds to the plan are resolved here, once.

use std::sync::Arc;

use bakeoff_experiment::TrialBlock;

use crate::plan::Plan;
use crate::planner::DueBlock;
use crate::refusal::Refusal;
use crate::spec::ResolvedTrial;

#[derive(Clone)]
pub struct ScheduledBlock {
    pub block: TrialBlock,
    pub attempt: u32,
    /// In their order. A cell that a planner has added may be impossible.
    pub trials: Vec<Result<Arc<ResolvedTrial>, Refusal>>,
}

impl ScheduledBlock {
    pub fn from_due(DueBlock { block, attempt }: &DueBlock, plan: &Plan<'_>) -> Self {
        let trials = block.trials.iter().map(|planned| plan.resolve(planned)).collect();
        Self { block: block.clone(), attempt: *attempt, trials }
    }

    pub fn resolved(&self) -> impl Iterator<Item = &ResolvedTrial> {
        self.trials.iter().flatten().map(|trial| &**trial)
    }
}
