//! What is wrong with pricing an experiment's trials.

use crate::level::base;
use crate::message::ExperimentProblem;
use crate::{EngineState, Experiment, Factor, HOST};

/// What is wrong, if trials are to be priced: there is a price only of an engine that is steady, on a
/// disk that has a model.
pub(super) fn check(experiment: &Experiment) -> Vec<ExperimentProblem> {
    if !experiment.priced {
        return Vec::new();
    }
    let has = |factor: Factor, level: &str| {
        let levels = experiment.factors.get(&factor).into_iter().flatten();
        levels.map(|given| base(given)).any(|given| given == level)
    };
    let mut problems = Vec::new();
    if !has(Factor::STATE, EngineState::Steady.name()) {
        let title = "nothing can be priced: no trial is in the state `steady`";
        problems
            .push(ExperimentProblem::new(title).help("add --state steady, or leave `priced` out"));
    }
    if has(Factor::DISK, HOST) {
        let title = "the disk `host` has no model, so that nothing on it can be priced";
        let help = "name models of disks (bakeoff list disks), or leave `priced` out";
        problems.push(ExperimentProblem::new(title).help(help));
    }
    problems
}
