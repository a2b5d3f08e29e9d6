//! Finds the fastest level of each operation and condition.

use bakeoff_analysis::{Comparison, Document, Leader, Verdict};
pub use bakeoff_analysis::{Contrast, LeaderOutcome};

use crate::layout::{ConditionLevels, DocumentLayout};
use crate::words;

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

/// The number of comparisons holds back a verdict that the interval alone would give.
pub const HELD_BACK: &str = " (clear alone)";

pub fn mark_verdict(verdict: Verdict) -> String {
    format!("{}{HELD_BACK}", verdict.word())
}

/// The word of a comparison, marked where it is held back.
pub fn format_verdict(comparison: &Comparison) -> String {
    match comparison.is_held_back() {
        true => mark_verdict(comparison.verdict),
        false => comparison.verdict.word().to_owned(),
    }
}

pub fn explain_mark(over: Option<u32>) -> String {
    let among = over.map_or("many".to_owned(), |over| words::format_count(over.into()));
    format!(
        "Clear alone: the interval by itself would say faster or slower. Among {among} comparisons \
         that happens by chance, so the verdict stays undecided. More repetitions may decide it"
    )
}

/// The largest difference of a level from itself, as a share.
pub fn furthest_from_itself(document: &Document) -> Option<f64> {
    document.noise.iter().filter_map(Comparison::distance_from_itself).reduce(f64::max)
}
