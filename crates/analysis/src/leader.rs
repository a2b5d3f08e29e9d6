use serde::Serialize;

use crate::comparison::{Comparison, Contrast, Verdict};

#[derive(Clone, Debug, PartialEq)]
pub struct Leader<'a> {
    /// The level with the shortest mean time, proven or not.
    pub leader: &'a str,
    /// The nearest first, each with its mean time over the leader's; at least one.
    pub rivals: Vec<(&'a str, Contrast)>,
    pub outcome: LeaderOutcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeaderOutcome {
    Won,
    /// It would have won, but a level differs as much from its own alias.
    Noise,
    /// The levels not shown to be slower are as fast as the leader, within the margin.
    Even,
    Open,
    Spiky,
    TooFew,
    NeverSteady,
    Void,
}

impl<'a> Leader<'a> {
    /// `pair` gives the comparison of two levels, the first as the baseline. `None` where no two
    /// can be compared.
    pub fn from_levels(
        levels: &[&'a str],
        pair: impl Fn(&str, &str) -> Option<Comparison>,
    ) -> Option<Self> {
        let contrast = |fast: &str, slow: &str| Contrast::from_comparison(&pair(fast, slow)?);
        // Each level, and how many others take as long or longer.
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

    pub fn list_slower(&self) -> impl Iterator<Item = &'a str> {
        self.rivals.iter().filter(|(_, it)| it.verdict == Verdict::Slower).map(|(level, _)| *level)
    }
}

impl LeaderOutcome {
    /// `all`: whether the leader was compared with each other level.
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
