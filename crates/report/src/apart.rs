//! How far the machines of a merged run lie apart on what its answer tells.

use bakeoff_analysis::{Apart, RatioOverMachines};

use crate::layout::{DocumentLayout, get};
use crate::verdict::OperationCase;

/// How many times the smallest of the machines’ own ratios the largest may be before an answer says so.
const FAR: f64 = 1.5;

/// The cases on which machines lie apart.
pub struct OverMachines<'b, 'a> {
    /// Those on which they disagree, the widest first.
    pub disagree: Vec<(&'b OperationCase<'a>, Apart)>,
    /// Those on which their own ratios lie far apart, and may do so by chance, the widest first.
    pub far: Vec<(&'b OperationCase<'a>, Apart)>,
}

impl<'b, 'a> OverMachines<'b, 'a> {
    /// Of the cases of a run; none of one that was not merged.
    pub fn from_cases(layout: &DocumentLayout<'a>, cases: &'b [OperationCase<'a>]) -> Self {
        let told = cases.iter().filter_map(|case| Some((case, apart(layout, case)?)));
        let mut told: Vec<(&OperationCase, Apart)> = told.collect();
        let ratio = |(_, apart): &(&OperationCase, Apart)| apart.most / apart.least;
        told.sort_by(|one, other| ratio(other).total_cmp(&ratio(one)));
        let (disagree, others): (Vec<_>, Vec<_>) =
            told.into_iter().partition(|(_, apart)| apart.disagree);
        let far = others.into_iter().filter(|told| ratio(told) > FAR).collect();
        Self { disagree, far }
    }
}

/// How far apart the machines’ ratios of the next level to the leader lie.
fn apart(layout: &DocumentLayout<'_>, case: &OperationCase<'_>) -> Option<Apart> {
    let is_here = |ratio: &RatioOverMachines| {
        let mut levels = layout.varying.iter().zip(&case.condition);
        ratio.operation == case.operation
            && levels.all(|(factor, level)| get(&ratio.levels, factor) == *level)
    };
    layout.document.machines.as_ref()?.apart(is_here, case.leader, case.next)
}
