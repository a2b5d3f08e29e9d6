//! Findings of one promise under one condition.

use bakeoff_results::OwnFactor;

use super::{AnswerFinding, FindingKind};
use crate::comparison::{Contrast, RatioBound, Verdict};
use crate::layout::DocumentLayout;
use crate::leader::LeaderOutcome;
use crate::operation_case::OperationCase;
use crate::promise_cases::{PromiseCases, Ratio};

/// A level wins in all operations but one, and that one is open.
pub struct PartlyFastest<'a> {
    pub leader: &'a str,
    pub next: &'a str,
    pub leads: Vec<Ratio<'a>>,
    pub open: OperationCase<'a>,
}

/// Levels of which one is fastest, and the intervals leave open which.
pub struct TiedLevels<'a> {
    /// The best mean first.
    pub levels: Vec<&'a str>,
    /// The second against the first, in each operation.
    pub between: Vec<Contrast>,
    pub next: Option<SlowerThanTied<'a>>,
}

/// The nearest level that is shown to be slower than the first of the tied.
pub struct SlowerThanTied<'a> {
    pub level: &'a str,
    pub ratios: Vec<Ratio<'a>>,
    /// Tied levels that it is not shown to be slower than, with its ratios to them.
    pub open: Vec<(&'a str, Vec<Contrast>)>,
}

/// `None` where the group has several conditions, or none of these findings.
pub fn find_of_one_condition<'a>(
    layout: &DocumentLayout<'a>,
    group: &PromiseCases<'a>,
) -> Option<FindingKind<'a>> {
    group.condition()?;
    find_fastest(layout, group)
        .or_else(|| find_tied(layout, group).map(FindingKind::Tied))
        .or_else(|| find_partly_fastest(layout, group).map(FindingKind::PartlyFastest))
}

/// Promises that at most one of the levels measured kept.
pub fn find_broken<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
) -> Vec<AnswerFinding<'a>> {
    let mut found: Vec<AnswerFinding> = Vec::new();
    for condition in &layout.conditions {
        let measured =
            layout.contenders().into_iter().filter(|it| layout.cell(condition, it).is_some());
        let (kept, broken): (Vec<&str>, Vec<&str>) =
            measured.partition(|level| layout.keeps_promise(condition, level));
        let Some(first) = broken.first() else { continue };
        let promise = layout.level_of(OwnFactor::Durability.as_str(), condition, first);
        let is_known = promise.is_none() || found.iter().any(|known| known.promise == promise);
        if is_known || cases.iter().any(|case| case.condition == *condition) || kept.len() > 1 {
            continue;
        }
        let kind = FindingKind::PromiseBroken(broken);
        found.push(AnswerFinding { promise, has_broken_promise: false, cases: Vec::new(), kind });
    }
    found
}

fn find_fastest<'a>(
    layout: &DocumentLayout<'a>,
    group: &PromiseCases<'a>,
) -> Option<FindingKind<'a>> {
    let leader = group.winner()?;
    let ranked = group.rank_levels(layout);
    let second = ranked.iter().copied().find(|level| *level != leader)?;
    let leads = group.ratios(layout, leader, second);
    if leads.is_empty() {
        return None;
    }
    // Than the fastest in each case.
    let is_behind = |level: &&str| group.cases.iter().all(|case| case.behind.contains(level));
    let others = ranked.into_iter().filter(|level| *level != second);
    let slower = others.filter(is_behind).collect();
    Some(FindingKind::Fastest { leader, second, leads, slower })
}

fn find_partly_fastest<'a>(
    layout: &DocumentLayout<'a>,
    group: &PromiseCases<'a>,
) -> Option<PartlyFastest<'a>> {
    let (won, open): (Vec<&OperationCase>, Vec<&OperationCase>) =
        group.cases.iter().partition(|case| case.outcome == LeaderOutcome::Won);
    let first = *won.first()?;
    let alike = won.iter().all(|case| case.next == first.next)
        && group.cases.iter().all(|case| case.leader == first.leader);
    let [open] = open.as_slice() else { return None };
    let is_open = matches!(open.outcome, LeaderOutcome::Open | LeaderOutcome::Noise);
    let is_by_time = layout.shared_rate(&group.cases).is_none();
    (alike && is_by_time && is_open).then(|| PartlyFastest {
        leader: first.leader,
        next: first.next,
        leads: won.iter().map(|case| (case.operation, case.contrast)).collect(),
        open: (*open).clone(),
    })
}

fn find_tied<'a>(layout: &DocumentLayout<'a>, group: &PromiseCases<'a>) -> Option<TiedLevels<'a>> {
    let is_even = group.cases.iter().all(|case| case.outcome == LeaderOutcome::Even);
    if is_even || !group.cases.iter().all(is_left_open) {
        return None;
    }
    let ranked = group.rank_levels(layout);
    let first = *ranked.first()?;
    let to = |than: &str, level: &str| group.contrasts(layout, than, level);
    let is_slower = |contrasts: &[Contrast]| {
        contrasts.len() == group.cases.len()
            && contrasts.iter().all(|it| it.verdict == Verdict::Slower)
    };
    let (far, tied): (Vec<&str>, Vec<&str>) =
        ranked.iter().copied().partition(|level| is_slower(&to(first, level)));
    let is_told = |level: &&str| {
        let contrasts = to(first, level);
        // The intervals may still show which is faster.
        let is_short = contrasts.iter().any(|it| it.verdict == Verdict::ShortOfProcessors);
        contrasts.len() == group.cases.len() && !is_short
    };
    let [_, rivals @ ..] = tied.as_slice() else { return None };
    if rivals.is_empty() || !rivals.iter().all(is_told) {
        return None;
    }
    let next = far.first().map(|level| {
        let open = rivals.iter().map(|rival| (*rival, to(rival, level)));
        SlowerThanTied {
            level,
            ratios: group.ratios(layout, first, level),
            open: open.filter(|(_, contrasts)| !is_slower(contrasts)).collect(),
        }
    });
    Some(TiedLevels { between: to(first, rivals[0]), next, levels: tied })
}

/// The interval of two repetitions or more leaves it open, and nothing else does.
fn is_left_open(case: &OperationCase<'_>) -> bool {
    let outcome =
        matches!(case.outcome, LeaderOutcome::Open | LeaderOutcome::Noise | LeaderOutcome::Even);
    let is_close = case.contrast.verdict != Verdict::ShortOfProcessors;
    outcome && is_close && case.contrast.blocks > 1 && case.contrast.is == RatioBound::Exact
}
