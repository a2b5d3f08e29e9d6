//! Whether the first trial of a block was slower or faster than the others for being first.

use std::collections::BTreeMap;

use bakeoff_results::{CellLevels, Levels, Run, TrialSummary};
use bakeoff_stats::CONFIDENCE;
use bakeoff_stats::order::{FirstPlace, OrderedBlock, estimate_first_place};

use crate::warning::{Warning, WarningKind};

pub(super) fn warn_of_first_place(run: &Run, counted: &[&TrialSummary]) -> Option<Warning> {
    let FirstPlace { ratio, p } = estimate_first_place(&group_blocks(run, counted))?;
    if p > 1.0 - CONFIDENCE {
        return None;
    }
    let (share, word) = match ratio > 1.0 {
        true => (ratio - 1.0, "longer"),
        false => (1.0 - ratio, "less long"),
    };
    let text = format!(
        "the first trial of a block took {:.1} % {word} than the others of it: what it finds on the \
         machine is not what they find",
        100.0 * share
    );
    let remedy = "choose as many repetitions as there are levels, or a multiple of that: then each \
                  level comes first equally often";
    Some(Warning::new(WarningKind::FirstPlace, text).with_remedy(remedy))
}

/// The blocks of each condition that have all its levels.
fn group_blocks(run: &Run, counted: &[&TrialSummary]) -> Vec<Vec<OrderedBlock>> {
    let mut groups: BTreeMap<Levels, BTreeMap<u32, Vec<&TrialSummary>>> = BTreeMap::new();
    for trial in counted {
        let condition = trial.levels.without_factor(&run.compare);
        groups.entry(condition).or_default().entry(trial.block).or_default().push(trial);
    }
    groups.into_values().map(|blocks| order_blocks(run, blocks)).collect()
}

fn order_blocks(run: &Run, blocks: BTreeMap<u32, Vec<&TrialSummary>>) -> Vec<OrderedBlock> {
    let most = blocks.values().map(Vec::len).max().unwrap_or_default();
    let whole = blocks.into_values().filter(|trials| trials.len() == most);
    let order = |mut trials: Vec<&TrialSummary>| -> Option<OrderedBlock> {
        let first = trials.iter().map(|trial| trial.order).min()?;
        trials.sort_by(|one, other| one.levels.cmp(&other.levels));
        let cost = |trial: &&TrialSummary| Some((mean_log_cost(run, trial)?, trial.order == first));
        trials.iter().map(cost).collect()
    };
    whole.filter_map(order).collect()
}

/// Over the operations: one figure of a trial, since its operations share its place.
fn mean_log_cost(run: &Run, trial: &TrialSummary) -> Option<f64> {
    let means = run.operations.iter().filter_map(|name| {
        let operation = trial.operations.iter().find(|it| it.name == *name)?;
        operation.mean_s.filter(|mean| *mean > 0.0).map(f64::ln)
    });
    let logs: Vec<f64> = means.collect();
    (!logs.is_empty()).then(|| logs.iter().sum::<f64>() / logs.len() as f64)
}
