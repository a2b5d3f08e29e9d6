//! Who is fastest at each operation and condition, by the words that the comparisons have.

use bakeoff_analysis::document::Verdict;
use bakeoff_analysis::{Comparison, Document, RatioIs};
use bakeoff_results::FigureOfMerit;

use crate::layout::{Condition, Layout};

/// How much slower one level is than another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contrast {
    /// The mean time of the one over the other's.
    pub ratio: f64,
    /// What the ratio is.
    pub is: RatioIs,
    /// The ends of the 95 % interval, where there are any.
    pub ends: (Option<f64>, Option<f64>),
    /// How many blocks back it.
    pub blocks: u32,
    /// What follows.
    pub verdict: Verdict,
}

impl Contrast {
    /// What a comparison says; `None` where it has no ratio.
    pub fn of(comparison: &Comparison) -> Option<Self> {
        Some(Self {
            ratio: comparison.ratio?,
            is: comparison.ratio_is.unwrap_or(RatioIs::Exact),
            ends: (comparison.low, comparison.high),
            blocks: comparison.blocks,
            verdict: comparison.verdict,
        })
    }

    /// The same as tables and charts show it: of a time the level's over the baseline's, and of a rate,
    /// too, so that above 1 is faster.
    pub fn shown(comparison: &Comparison) -> Option<Self> {
        let merit = FigureOfMerit::of_metric(&comparison.metric);
        if !merit.is_some_and(FigureOfMerit::is_rate) {
            return Self::of(comparison);
        }
        let turned = Self::of(&comparison.swapped())?;
        Some(Self { verdict: comparison.verdict, ..turned })
    }
}

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

/// What follows from a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The leader is faster than every other level.
    Won,
    /// The leader would be, but a level against itself differs by as much.
    Noise,
    /// The levels that are not behind are as fast as the leader, within the margin.
    Even,
    /// The intervals leave it open.
    Open,
    /// The runs are too uneven for an interval to be trusted.
    Spiky,
    /// Some trial has too few operations for any word.
    TooFew,
    /// Some trial was to be steady and was not.
    NeverSteady,
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
    let contrast =
        |fast: &str, slow: &str| Contrast::of(&layout.pair(operation, condition, fast, slow)?);
    // Each level, and how many of the others take as long or longer.
    let mut ranked: Vec<(&str, usize)> = contenders
        .iter()
        .filter_map(|level| {
            let others = contenders.iter().filter(|other| *other != level);
            let ratios: Vec<f64> =
                others.filter_map(|other| Some(contrast(level, other)?.ratio)).collect();
            let ahead_of = ratios.iter().filter(|ratio| **ratio >= 1.0).count();
            (!ratios.is_empty()).then_some((*level, ahead_of))
        })
        .collect();
    ranked.sort_by_key(|(_, ahead_of)| std::cmp::Reverse(*ahead_of));
    let [(leader, _), rest @ ..] = ranked.as_slice() else { return None };
    let mut rivals: Vec<(&str, Contrast)> =
        rest.iter().filter_map(|(level, _)| Some((*level, contrast(leader, level)?))).collect();
    rivals.sort_by(|a, b| a.1.ratio.total_cmp(&b.1.ratio));
    let (next, first) = *rivals.first()?;
    let all = rivals.len() == rest.len();
    let slower = rivals.iter().filter(|(_, c)| c.verdict == Verdict::Slower);
    Some(Case {
        operation,
        condition: condition.clone(),
        leader,
        next,
        contrast: first,
        outcome: outcome(&rivals, all),
        behind: slower.map(|(level, _)| *level).collect(),
    })
}

/// What the leader's words against its rivals come to; `all` where it has been held against each.
fn outcome(rivals: &[(&str, Contrast)], all: bool) -> Outcome {
    let has = |verdict| rivals.iter().any(|(_, c)| c.verdict == verdict);
    if all && rivals.iter().all(|(_, c)| c.verdict == Verdict::Slower) {
        Outcome::Won
    } else if has(Verdict::NeverSteady) {
        Outcome::NeverSteady
    } else if has(Verdict::Spiky) {
        Outcome::Spiky
    } else if has(Verdict::TooFew) {
        Outcome::TooFew
    } else if !all || has(Verdict::Undecided) || has(Verdict::Faster) {
        Outcome::Open
    } else if has(Verdict::WithinNoise) {
        Outcome::Noise
    } else {
        Outcome::Even
    }
}

/// The middle one of a run's noise floors, as a share.
pub fn typical_noise(document: &Document) -> Option<f64> {
    let mut floors: Vec<f64> = document.noise.iter().filter_map(Comparison::apart).collect();
    floors.sort_by(f64::total_cmp);
    floors.get(floors.len() / 2).copied()
}
