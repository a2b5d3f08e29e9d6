//! Checks whether an experiment's trials can have a price.

use crate::level::without_alias;
use crate::message::ExperimentProblem;
use crate::{EngineState, Experiment, Factor, HOST};

/// Only steady engines on modelled disks have a price.
pub(super) fn check_priced(experiment: &Experiment) -> Vec<ExperimentProblem> {
    if !experiment.priced {
        return Vec::new();
    }
    let has = |factor: Factor, level: &str| {
        let levels = experiment.factors.get(&factor).into_iter().flatten();
        levels.map(|given| without_alias(given)).any(|given| given == level)
    };
    let mut problems = Vec::new();
    if !has(Factor::STATE, EngineState::Steady.name()) {
        let title = "nothing can be priced: no trial is in the state `steady`";
        problems.push(
            ExperimentProblem::new(title).with_help("add --state steady, or leave `priced` out"),
        );
    }
    if has(Factor::DISK, HOST) {
        let title = "the disk `host` has no model, so that nothing on it can be priced";
        let help = "name models of disks (bakeoff list disks), or leave `priced` out";
        problems.push(ExperimentProblem::new(title).with_help(help));
    }
    problems
}
