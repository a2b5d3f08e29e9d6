//! Checks whether a workload can take its rows from a file.

use crate::message::ExperimentProblem;
use crate::{Experiment, RowOrigin, Vocabulary, WorkloadNames};

pub(super) fn check_rows(
    experiment: &Experiment,
    workload: &WorkloadNames,
    vocabulary: &Vocabulary,
) -> Vec<ExperimentProblem> {
    let mut problems = Vec::new();
    if experiment.rows_strict && !matches!(experiment.rows_from, Some(RowOrigin::File(_))) {
        let title = "`rows_strict` is for rows from a file, and none is named";
        problems.push(
            ExperimentProblem::new(title)
                .with_help("name it as `rows_from`, or leave `rows_strict` out"),
        );
    }
    if experiment.rows_from.is_none() {
        return problems;
    }
    if workload.takes_rows.is_empty() {
        let title = format!("the workload `{}` makes its rows itself", workload.name);
        let takers = vocabulary.workloads.iter().filter(|workload| !workload.takes_rows.is_empty());
        let takers: Vec<&str> = takers.map(|workload| &*workload.name).collect();
        let help = format!("leave `rows_from` out; rows from a file: {}", takers.join(", "));
        problems.push(ExperimentProblem::new(title).with_help(help));
    }
    if experiment.text.is_some() {
        let title = "`text` and `rows_from` both say where texts come from";
        problems.push(ExperimentProblem::new(title).with_help("leave one of them out"));
    }
    problems
}
