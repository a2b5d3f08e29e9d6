//! Findings as they are written for programs.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{AnswerFinding, FindingKind, NoWinner, PlaceOfLevels};
use crate::layout::DocumentLayout;
use crate::leader::LeaderOutcome;
use crate::operation_case::OperationCase;

/// A finding of the answer: who is fastest, where, and against whom.
#[derive(Debug, Serialize)]
pub struct FindingView<'a> {
    pub promise: Option<&'a str>,
    pub finding: FindingWord,
    /// The fastest level; several where they are tied or fastest in some cases each.
    pub fastest: Vec<&'a str>,
    /// The factor, or `operation`, that decides who is fastest.
    pub depends_on: Option<&'a str>,
    pub winners: Vec<WinnerView<'a>>,
    pub cases: Vec<CaseView<'a>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingWord {
    NotCompared,
    PromiseBroken,
    Fastest,
    PartlyFastest,
    Tied,
    AgainstFirst,
    DependsOn,
    FastestInSome,
    /// Equal within 5 % everywhere.
    Same,
    /// At most 10 % apart.
    Close,
    Undecided,
}

#[derive(Debug, Serialize)]
pub struct WinnerView<'a> {
    pub from: &'a str,
    pub to: &'a str,
    pub fastest: &'a str,
}

/// The leader of an operation under a condition, and the next level.
#[derive(Debug, Serialize)]
pub struct CaseView<'a> {
    pub operation: &'a str,
    pub levels: BTreeMap<&'a str, &'a str>,
    pub leader: &'a str,
    pub next: &'a str,
    /// How many times as fast the leader is.
    pub ratio: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub repetitions: u32,
    pub outcome: LeaderOutcome,
}

impl<'a> FindingView<'a> {
    pub fn from_finding(layout: &DocumentLayout<'a>, finding: &AnswerFinding<'a>) -> Self {
        let cases = finding.cases.iter().map(|case| CaseView::from_case(layout, case)).collect();
        let mut view = Self {
            promise: finding.promise,
            finding: FindingWord::from_finding(finding),
            fastest: Vec::new(),
            depends_on: None,
            winners: Vec::new(),
            cases,
        };
        match &finding.kind {
            FindingKind::Fastest { leader, .. } | FindingKind::FastestIn { leader, .. } => {
                view.fastest.push(leader);
            }
            FindingKind::PartlyFastest(it) => view.fastest.push(it.leader),
            FindingKind::Tied(it) => view.fastest.clone_from(&it.levels),
            FindingKind::FastestInSome(wins) => {
                view.fastest = wins.iter().map(|(leader, _)| *leader).collect();
            }
            FindingKind::DependsOn { factor, winners } => {
                view.depends_on = Some(factor.unwrap_or("operation"));
                view.winners = winners
                    .iter()
                    .map(|it| {
                        let (from, to) = it.place.ends();
                        WinnerView { from, to, fastest: it.leader }
                    })
                    .collect();
            }
            FindingKind::NotCompared(_)
            | FindingKind::PromiseBroken(_)
            | FindingKind::AgainstFirst(_)
            | FindingKind::NoWinner(_) => {}
        }
        view
    }
}

impl FindingWord {
    fn from_finding(finding: &AnswerFinding<'_>) -> Self {
        match &finding.kind {
            FindingKind::NotCompared(_) => Self::NotCompared,
            FindingKind::PromiseBroken(_) => Self::PromiseBroken,
            FindingKind::Fastest { .. } => Self::Fastest,
            FindingKind::FastestIn { won, .. } if won.len() == finding.cases.len() => Self::Fastest,
            FindingKind::FastestIn { .. } | FindingKind::PartlyFastest(_) => Self::PartlyFastest,
            FindingKind::Tied(_) => Self::Tied,
            FindingKind::AgainstFirst(_) => Self::AgainstFirst,
            FindingKind::DependsOn { .. } => Self::DependsOn,
            FindingKind::FastestInSome(_) => Self::FastestInSome,
            FindingKind::NoWinner(NoWinner::Even) => Self::Same,
            FindingKind::NoWinner(NoWinner::Close { .. }) => Self::Close,
            FindingKind::NoWinner(NoWinner::Open { .. }) => Self::Undecided,
        }
    }
}

impl<'a> PlaceOfLevels<'a> {
    fn ends(self) -> (&'a str, &'a str) {
        match self {
            Self::At(only) => (only, only),
            Self::FromTo(first, last) => (first, last),
        }
    }
}

impl<'a> CaseView<'a> {
    fn from_case(layout: &DocumentLayout<'a>, case: &OperationCase<'a>) -> Self {
        let contrast = case.contrast;
        Self {
            operation: case.operation,
            levels: layout.varying.iter().copied().zip(case.condition.iter().copied()).collect(),
            leader: case.leader,
            next: case.next,
            ratio: contrast.ratio,
            low: contrast.ends.0,
            high: contrast.ends.1,
            repetitions: contrast.blocks,
            outcome: case.outcome,
        }
    }
}
