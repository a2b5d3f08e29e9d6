//! Who is fastest at each operation and condition, by the words that the comparisons have.

use bakeoff_analysis::{Comparison, Document, Leader, Verdict};
pub use bakeoff_analysis::{Contrast, LeaderOutcome};

use crate::layout::{ConditionLevels, DocumentLayout};
use crate::words;

/// What one operation at one condition says.
#[derive(Clone, Debug, PartialEq)]
pub struct OperationCase<'a> {
    /// The operation.
    pub operation: &'a str,
    /// The condition.
    pub condition: ConditionLevels<'a>,
    /// The level with the shortest mean time, proven or not.
    pub leader: &'a str,
    /// The level that comes next to it.
    pub next: &'a str,
    /// The next level's mean time over the leader's.
    pub contrast: Contrast,
    /// What follows.
    pub outcome: LeaderOutcome,
    /// The levels that are shown to be slower than the leader.
    pub behind: Vec<&'a str>,
}

/// Every operation at every condition where at least two contenders that kept their promise can be held
/// together.
pub fn cases<'a>(layout: &DocumentLayout<'a>) -> Vec<OperationCase<'a>> {
    layout
        .operations()
        .flat_map(|operation| layout.conditions.iter().map(move |condition| (operation, condition)))
        .filter_map(|(operation, condition)| case(layout, operation, condition))
        .collect()
}

fn case<'a>(
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
        behind: leader.behind().collect(),
    })
}

/// What stands behind a verdict that goes by all comparisons together, where the interval beside it alone
/// would say more.
pub const HELD_BACK: &str = " †";

/// A verdict with that mark.
pub fn marked(verdict: Verdict) -> String {
    format!("{}{HELD_BACK}", verdict.word())
}

/// What the mark means, in a line; among how many comparisons, where that is known.
pub fn explained(over: Option<u32>) -> String {
    let among = over.map_or("many".to_owned(), |over| words::count(over.into()));
    format!(
        "{} the interval alone would say faster or slower; among {among} comparisons that happens by \
         chance, so the verdict stays undecided (Holm’s method): more repetitions may decide it",
        HELD_BACK.trim()
    )
}

/// How far a level that was entered twice seems to be from itself at most, as a share.
pub fn furthest_from_itself(document: &Document) -> Option<f64> {
    document.noise.iter().filter_map(Comparison::apart).reduce(f64::max)
}
