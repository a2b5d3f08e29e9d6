//! What is wrong with taking a workload's rows from a file.

use crate::message::Problem;
use crate::{Experiment, Vocabulary, WorkloadNames};

/// What is wrong, if rows are to come from a file: not every workload takes them, and one that does has no
/// use for a text.
pub(super) fn check(
    experiment: &Experiment,
    workload: &WorkloadNames,
    vocabulary: &Vocabulary,
) -> Vec<Problem> {
    if experiment.rows_from.is_none() {
        return Vec::new();
    }
    let mut problems = Vec::new();
    if !workload.takes_rows {
        let title = format!("the workload `{}` makes its rows itself", workload.name);
        let takers = vocabulary.workloads.iter().filter(|workload| workload.takes_rows);
        let takers: Vec<&str> = takers.map(|workload| &*workload.name).collect();
        let help = format!("leave `rows_from` out; rows from a file: {}", takers.join(", "));
        problems.push(Problem::new(title).help(help));
    }
    if experiment.text.is_some() {
        let title = "`text` and `rows_from` both say where texts come from";
        problems.push(Problem::new(title).help("leave one of them out"));
    }
    problems
}
