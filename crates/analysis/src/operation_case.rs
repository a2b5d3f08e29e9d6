//! Finds the fastest level of each operation and condition.

use crate::comparison::{Contrast, Verdict};
use crate::layout::{ConditionLevels, DocumentLayout};
use crate::leader::{Leader, LeaderOutcome};

#[derive(Clone, Debug, PartialEq)]
pub struct OperationCase<'a> {
    pub operation: &'a str,
    pub condition: ConditionLevels<'a>,
    pub leader: &'a str,
    pub next: &'a str,
    /// The next level's mean time over the leader's.
    pub contrast: Contrast,
    pub outcome: LeaderOutcome,
    /// Levels that are shown to be slower than the leader.
    pub behind: Vec<&'a str>,
    /// How far the others may be from the leader at most, as a share, by their whole intervals.
    pub apart: Option<f64>,
}

impl<'a> OperationCase<'a> {
    /// The operation for 0, and then the level of each factor that varies.
    pub(crate) fn level_of_split(&self, number: usize) -> &'a str {
        match number {
            0 => self.operation,
            number => self.condition[number - 1],
        }
    }

    /// The median lead is fair to the others. `cases` has one at least.
    pub fn find_median<'b>(cases: &[&'b Self]) -> &'b Self {
        let mut sorted = cases.to_vec();
        sorted.sort_by(|a, b| a.contrast.ratio.total_cmp(&b.contrast.ratio));
        sorted[(sorted.len() - 1) / 2]
    }
}

/// The cases with at least two contenders that kept their promise.
pub fn find_cases<'a>(layout: &DocumentLayout<'a>) -> Vec<OperationCase<'a>> {
    layout
        .operations()
        .flat_map(|operation| layout.conditions.iter().map(move |condition| (operation, condition)))
        .filter_map(|(operation, condition)| find_case(layout, operation, condition))
        .collect()
}

fn find_case<'a>(
    layout: &DocumentLayout<'a>,
    operation: &'a str,
    condition: &ConditionLevels<'a>,
) -> Option<OperationCase<'a>> {
    let pair = |fast: &str, slow: &str| layout.pair(operation, condition, fast, slow);
    let leader = Leader::from_levels(&layout.contenders_at(condition), pair)?;
    let (next, contrast) = *leader.rivals.first()?;
    Some(OperationCase {
        operation,
        condition: condition.clone(),
        leader: leader.leader,
        next,
        contrast,
        outcome: leader.outcome,
        behind: leader.list_slower().collect(),
        apart: find_furthest(&leader),
    })
}

/// `None` where an interval has an open end.
fn find_furthest(leader: &Leader<'_>) -> Option<f64> {
    let close = leader.rivals.iter().filter(|(_, it)| it.verdict != Verdict::Slower);
    let far = |(_, it): &(&str, Contrast)| {
        let (low, high) = (it.ends.0?, it.ends.1?);
        Some(low.ln().abs().max(high.ln().abs()).exp_m1())
    };
    close.map(far).try_fold(0.0, |most: f64, far| Some(most.max(far?)))
}
