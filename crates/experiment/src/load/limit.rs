//! Checks a search for the highest rate that keeps a limit.

use bakeoff_results::limit::VALID;

use crate::message::ExperimentProblem;
use crate::{Experiment, Factor, PlannerNames, WorkloadNames};

pub(super) fn check_limit(
    experiment: &Experiment,
    workload: &WorkloadNames,
    planner: PlannerNames,
) -> Vec<ExperimentProblem> {
    let name = &planner.name;
    match (experiment.limit, planner.seeks) {
        (None, false) => return Vec::new(),
        (None, true) => {
            let problem = ExperimentProblem::new(format!(
                "the planner `{name}` looks for no limit by itself"
            ));
            return vec![problem.with_help("add --find-limit p99=50ms").with_help(VALID)];
        }
        (Some(_), false) => {
            let problem = ExperimentProblem::new(format!("the planner `{name}` takes no limit"));
            return vec![problem.with_help("leave `planner` out, or `find_limit`")];
        }
        (Some(_), true) => {}
    }
    let mut problems = Vec::new();
    if !workload.has_factor(Factor::RATE) {
        let title = format!("operations of `{}` don't start at a rate", workload.name);
        problems.push(ExperimentProblem::new(title).with_help("leave `find_limit` out"));
    }
    let rates = experiment.factors.get(&Factor::RATE).map_or(0, Vec::len);
    if rates > 1 {
        let title =
            format!("a limit is looked for from one rate on, and `rate` has {rates} levels");
        problems.push(ExperimentProblem::new(title).with_help(
            "name the rate to begin with, or leave `rate` out, to begin at half of what a closed loop reaches",
        ));
    }
    problems
}
