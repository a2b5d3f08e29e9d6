//! Who is fastest of several levels, by the words that their comparisons have.

use crate::comparison::{Comparison, Contrast, Verdict};

/// Who is fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Leader<'a> {
    /// The level with the shortest mean time, proven or not.
    pub leader: &'a str,
    /// The levels that are held against it, the nearest first, each with its mean time over the
    /// leader's. There is one at least.
    pub rivals: Vec<(&'a str, Contrast)>,
    /// What follows.
    pub outcome: LeaderOutcome,
}

/// What follows from the leader's comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaderOutcome {
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
    /// Some did not answer alike, or left something broken.
    Void,
}

impl<'a> Leader<'a> {
    /// Of some levels; `pair` has the comparison of two, the first of them as the baseline. `None` where
    /// no two of them can be held together.
    pub fn from_levels(
        levels: &[&'a str],
        pair: impl Fn(&str, &str) -> Option<Comparison>,
    ) -> Option<Self> {
        let contrast = |fast: &str, slow: &str| Contrast::from_comparison(&pair(fast, slow)?);
        // Each level, and how many of the others take as long or longer.
        let mut ranked: Vec<(&str, usize)> = levels
            .iter()
            .filter_map(|level| {
                let others = levels.iter().filter(|other| *other != level);
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
        rivals.first()?;
        let outcome = LeaderOutcome::from_rivals(&rivals, rivals.len() == rest.len());
        Some(Self { leader, rivals, outcome })
    }

    /// The levels that are shown to be slower than the leader.
    pub fn behind(&self) -> impl Iterator<Item = &'a str> {
        self.rivals.iter().filter(|(_, it)| it.verdict == Verdict::Slower).map(|(level, _)| *level)
    }
}

impl LeaderOutcome {
    /// What the leader's words against its rivals come to; `all` where it has been held against each.
    fn from_rivals(rivals: &[(&str, Contrast)], all: bool) -> Self {
        let has = |verdict| rivals.iter().any(|(_, c)| c.verdict == verdict);
        if all && rivals.iter().all(|(_, c)| c.verdict == Verdict::Slower) {
            Self::Won
        } else if has(Verdict::Void) {
            Self::Void
        } else if has(Verdict::NeverSteady) {
            Self::NeverSteady
        } else if has(Verdict::Spiky) {
            Self::Spiky
        } else if has(Verdict::TooFew) {
            Self::TooFew
        } else if !all
            || [Verdict::Undecided, Verdict::ShortOfProcessors, Verdict::Faster]
                .into_iter()
                .any(has)
        {
            Self::Open
        } else if has(Verdict::WithinNoise) {
            Self::Noise
        } else {
            Self::Even
        }
    }
}
