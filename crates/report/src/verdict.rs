//! Who is fastest at each operation and condition, by the words that the comparisons have.

use bakeoff_analysis::{Comparison, Document, Leader};
pub use bakeoff_analysis::{Contrast, Outcome};

use crate::layout::{Condition, Layout};

/// What one operation at one condition says.
#[derive(Clone, Debug, PartialEq)]
pub struct Case<'a> {
    /// The operation.
    pub operation: &'a str,
    /// The condition.
    pub condition: Condition<'a>,
    /// The level with the shortest mean time, proven or not.
    pub leader: &'a str,
    /// The level that comes next to it.
    pub next: &'a str,
    /// The next level's mean time over the leader's.
    pub contrast: Contrast,
    /// What follows.
    pub outcome: Outcome,
    /// The levels that are shown to be slower than the leader.
    pub behind: Vec<&'a str>,
}

/// Every operation at every condition where at least two contenders can be held together.
pub fn cases<'a>(layout: &Layout<'a>) -> Vec<Case<'a>> {
    let contenders = layout.contenders();
    layout
        .operations()
        .flat_map(|operation| layout.conditions.iter().map(move |condition| (operation, condition)))
        .filter_map(|(operation, condition)| case(layout, &contenders, operation, condition))
        .collect()
}

fn case<'a>(
    layout: &Layout<'a>,
    contenders: &[&'a str],
    operation: &'a str,
    condition: &Condition<'a>,
) -> Option<Case<'a>> {
    let pair = |fast: &str, slow: &str| layout.pair(operation, condition, fast, slow);
    let leader = Leader::of(contenders, pair)?;
    let (next, contrast) = *leader.rivals.first()?;
    Some(Case {
        operation,
        condition: condition.clone(),
        leader: leader.leader,
        next,
        contrast,
        outcome: leader.outcome,
        behind: leader.behind().collect(),
    })
}

/// The middle one of a run's noise floors, as a share.
pub fn typical_noise(document: &Document) -> Option<f64> {
    let mut floors: Vec<f64> = document.noise.iter().filter_map(Comparison::apart).collect();
    floors.sort_by(f64::total_cmp);
    floors.get(floors.len() / 2).copied()
}
