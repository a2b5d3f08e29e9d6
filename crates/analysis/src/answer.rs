//! Decides what a run answers, as data: which level, against whom, by which ratio, where, and why
//! not. Reports put it into words and decide nothing.

mod against_first;
mod confidence;
mod dependence;
mod more_trials;
mod no_comparison;
mod no_winner;
mod promise_finding;
mod stretches;
mod user_action;
mod view;

use bakeoff_results::OwnFactor;

pub use self::against_first::{CaseContrast, FactorSplit, LevelAgainstFirst};
pub use self::confidence::{AnswerConfidence, ConfidenceGrade, ConfidenceReason};
pub use self::dependence::{LevelWinner, PlaceOfLevels};
pub use self::more_trials::{MoreTrials, OpenReasons, TrialAdvice};
pub use self::no_comparison::NoComparison;
pub use self::no_winner::{NoWinner, OpenCause};
pub use self::promise_finding::{PartlyFastest, SlowerThanTied, TiedLevels};
pub use self::stretches::{LevelStretch, find_stretches};
pub use self::user_action::UserAction;
pub use self::view::{CaseView, FindingView, FindingWord, WinnerView};
use crate::layout::{self, DocumentLayout};
use crate::operation_case::{OperationCase, find_cases};
use crate::promise_cases::{PromiseCases, Ratio, group_cases, rank_durability};

pub struct Answer<'a> {
    /// Of all promises.
    pub cases: Vec<OperationCase<'a>>,
    /// Empty for a run of power cuts alone, and for a search.
    pub findings: Vec<AnswerFinding<'a>>,
    /// `None` where nothing is compared.
    pub confidence: Option<AnswerConfidence<'a>>,
    /// In a run of power cuts alone, no time is no finding; rates that a search tried are not
    /// compared.
    pub is_compared: bool,
}

/// What is found for one promise of durability, or for the run.
pub struct AnswerFinding<'a> {
    /// The level of durability; `None` where the run has none, or compares it.
    pub promise: Option<&'a str>,
    /// A level was measured in these cases and broke its promise: it is left out.
    pub has_broken_promise: bool,
    pub cases: Vec<OperationCase<'a>>,
    pub kind: FindingKind<'a>,
}

pub enum FindingKind<'a> {
    NotCompared(NoComparison<'a>),
    /// All levels but one at most broke their promise.
    PromiseBroken(Vec<&'a str>),
    /// One level is fastest in each operation of one condition.
    Fastest {
        leader: &'a str,
        second: &'a str,
        leads: Vec<Ratio<'a>>,
        slower: Vec<&'a str>,
    },
    PartlyFastest(PartlyFastest<'a>),
    Tied(TiedLevels<'a>),
    /// Levels of a factor other than the engine, each against the first one.
    AgainstFirst(Vec<LevelAgainstFirst<'a>>),
    /// One level wins, in these of many cases.
    FastestIn {
        leader: &'a str,
        won: Vec<OperationCase<'a>>,
    },
    /// The factor decides who wins; `None` stands for the operation.
    DependsOn {
        factor: Option<&'a str>,
        winners: Vec<LevelWinner<'a>>,
    },
    /// Several levels win, and no one factor says where. Who wins most comes first.
    FastestInSome(Vec<(&'a str, Vec<OperationCase<'a>>)>),
    NoWinner(NoWinner<'a>),
}

impl<'a> Answer<'a> {
    pub fn from_layout(layout: &DocumentLayout<'a>) -> Self {
        let document = layout.document;
        let cases = find_cases(layout);
        let is_search = document.run.run.limit.is_some() && !document.limits.is_empty();
        let is_compared = layout::is_timed(document) && !is_search;
        let confidence = AnswerConfidence::from_cases(layout, &cases).filter(|_| is_compared);
        let findings = if is_compared { list_findings(layout, &cases) } else { Vec::new() };
        Self { cases, findings, confidence, is_compared }
    }
}

/// The strongest promise first.
fn list_findings<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
) -> Vec<AnswerFinding<'a>> {
    let broken = promise_finding::find_broken(layout, cases);
    if cases.is_empty() && broken.is_empty() {
        let kind = FindingKind::NotCompared(NoComparison::from_layout(layout));
        return vec![AnswerFinding {
            promise: None,
            has_broken_promise: false,
            cases: Vec::new(),
            kind,
        }];
    }
    let groups = group_cases(layout, cases).into_iter();
    let mut all: Vec<AnswerFinding> =
        groups.map(|group| AnswerFinding::from_group(layout, group)).chain(broken).collect();
    all.sort_by_key(|finding| finding.promise.map(rank_durability));
    all
}

impl<'a> AnswerFinding<'a> {
    fn from_group(layout: &DocumentLayout<'a>, group: PromiseCases<'a>) -> Self {
        let kind = promise_finding::find_of_one_condition(layout, &group)
            .unwrap_or_else(|| find_over_cases(layout, &group.cases));
        let is_left_out = |case: &OperationCase<'_>| {
            layout.contenders_at(&case.condition).len() < layout.contenders().len()
        };
        let has_broken_promise = group.cases.iter().any(is_left_out);
        Self { promise: group.durability, has_broken_promise, cases: group.cases, kind }
    }
}

fn find_over_cases<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
) -> FindingKind<'a> {
    if let Some(levels) = against_first::compare_levels(layout, cases) {
        return FindingKind::AgainstFirst(levels);
    }
    let mut wins = dependence::group_wins(cases);
    match wins.len() {
        0 => FindingKind::NoWinner(NoWinner::from_cases(layout, cases)),
        1 => {
            let (leader, won) = wins.remove(0);
            FindingKind::FastestIn { leader, won }
        }
        _ => dependence::find_dependence(layout, cases).unwrap_or(FindingKind::FastestInSome(wins)),
    }
}

/// Whether the run compares engines.
fn compares_engines(layout: &DocumentLayout<'_>) -> bool {
    layout.compare == OwnFactor::Engine
}
