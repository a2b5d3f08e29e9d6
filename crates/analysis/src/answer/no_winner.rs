//! Finds why no level is shown to be fastest.

use crate::comparison::Verdict;
use crate::layout::DocumentLayout;
use crate::leader::LeaderOutcome;
use crate::operation_case::OperationCase;

pub enum NoWinner<'a> {
    /// All levels are as fast, within the margin.
    Even,
    /// Levels differ by this share at most, which matters to few.
    Close { most: f64 },
    Open {
        cause: OpenCause<'a>,
        /// Levels that are slower than the leader of some case, and in how many.
        slower: Vec<(&'a str, usize)>,
    },
}

/// What all cases have in common that leaves them open.
pub enum OpenCause<'a> {
    RunOnce,
    Spiky,
    TooFew,
    NeverSteady,
    Void,
    ShortOfProcessors,
    /// Nothing; here is the case of the median ratio.
    Intervals(OperationCase<'a>),
}

/// A difference of at most this share matters to few.
const MATTERS: f64 = 0.10;

impl<'a> NoWinner<'a> {
    pub fn from_cases(layout: &DocumentLayout<'a>, cases: &[OperationCase<'a>]) -> Self {
        let slower = count_behind(layout, cases);
        if slower.is_empty() {
            if cases.iter().all(|case| case.outcome == LeaderOutcome::Even) {
                return Self::Even;
            }
            if let Some(most) = find_closeness(cases) {
                return Self::Close { most };
            }
        }
        Self::Open { cause: OpenCause::from_cases(cases), slower }
    }
}

impl<'a> OpenCause<'a> {
    fn from_cases(cases: &[OperationCase<'a>]) -> Self {
        let all = |outcome| cases.iter().all(|case| case.outcome == outcome);
        let is_short = |case: &OperationCase| case.contrast.verdict == Verdict::ShortOfProcessors;
        if cases.iter().all(|case| case.contrast.blocks < 2) {
            return Self::RunOnce;
        }
        for (outcome, cause) in [
            (LeaderOutcome::Spiky, Self::Spiky),
            (LeaderOutcome::TooFew, Self::TooFew),
            (LeaderOutcome::NeverSteady, Self::NeverSteady),
            (LeaderOutcome::Void, Self::Void),
        ] {
            if all(outcome) {
                return cause;
            }
        }
        if cases.iter().all(is_short) {
            return Self::ShortOfProcessors;
        }
        let uneven: Vec<&OperationCase> =
            cases.iter().filter(|case| case.outcome != LeaderOutcome::Even).collect();
        let closest =
            if uneven.is_empty() { &cases[0] } else { OperationCase::find_median(&uneven) };
        Self::Intervals(closest.clone())
    }
}

/// How far levels are apart at most, as a share. `None` where some may be further apart than
/// [`MATTERS`], or a case is open for another reason.
fn find_closeness(cases: &[OperationCase<'_>]) -> Option<f64> {
    let is_open =
        |it: &OperationCase<'_>| matches!(it.outcome, LeaderOutcome::Open | LeaderOutcome::Even);
    let is_known = |it: &OperationCase<'_>| it.contrast.verdict != Verdict::ShortOfProcessors;
    let apart = |it: &OperationCase<'_>| it.apart.filter(|_| is_open(it) && is_known(it));
    let most = cases.iter().map(apart).try_fold(0.0, |most: f64, it| Some(most.max(it?)))?;
    (most <= MATTERS).then_some(most)
}

fn count_behind<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
) -> Vec<(&'a str, usize)> {
    if cases.iter().all(|case| case.outcome == LeaderOutcome::Noise) {
        return Vec::new();
    }
    let count = |level| cases.iter().filter(|case| case.behind.contains(&level)).count();
    let contenders = layout.contenders().into_iter();
    contenders.map(|level| (level, count(level))).filter(|(_, number)| *number > 0).collect()
}
