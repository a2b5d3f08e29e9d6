//! Finds how far the machines of a merged run differ about its answer.

use crate::layout::{DocumentLayout, level_or_empty};
use crate::machines::{Apart, RatioOverMachines};
use crate::operation_case::OperationCase;

/// The answer names machines if their largest ratio is more than this many times the smallest.
const FAR: f64 = 1.5;

pub struct MachineDifferences<'b, 'a> {
    /// Machines disagree; the widest first.
    pub disagree: Vec<(&'b OperationCase<'a>, Apart)>,
    /// Ratios differ by much, perhaps by chance; the widest first.
    pub far: Vec<(&'b OperationCase<'a>, Apart)>,
}

impl<'b, 'a> MachineDifferences<'b, 'a> {
    /// Empty unless the run was merged.
    pub fn from_cases(layout: &DocumentLayout<'a>, cases: &'b [OperationCase<'a>]) -> Self {
        let told = cases.iter().filter_map(|case| Some((case, find_apart(layout, case)?)));
        let mut told: Vec<(&OperationCase, Apart)> = told.collect();
        let ratio = |(_, apart): &(&OperationCase, Apart)| apart.most / apart.least;
        told.sort_by(|one, other| ratio(other).total_cmp(&ratio(one)));
        let (disagree, others): (Vec<_>, Vec<_>) =
            told.into_iter().partition(|(_, apart)| apart.disagree);
        let far = others.into_iter().filter(|told| ratio(told) > FAR).collect();
        Self { disagree, far }
    }
}

fn find_apart(layout: &DocumentLayout<'_>, case: &OperationCase<'_>) -> Option<Apart> {
    let is_here = |ratio: &RatioOverMachines| {
        let mut levels = layout.varying.iter().zip(&case.condition);
        ratio.operation == case.operation
            && levels.all(|(factor, level)| level_or_empty(&ratio.levels, factor) == *level)
    };
    layout.document.machines.as_ref()?.find_spread(is_here, case.leader, case.next)
}
