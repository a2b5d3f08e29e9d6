//! Confidence in the answer: by warnings, blocks, and decided leads.

use bakeoff_results::OwnFactor;
use serde::Serialize;

use crate::layout::DocumentLayout;
use crate::leader::LeaderOutcome;
use crate::machine_differences::MachineDifferences;
use crate::operation_case::OperationCase;
use crate::promise_cases::group_cases;
use crate::unreached::UnreachedLimit;
use crate::warning::{WarningKind, Weight};

/// Fewer blocks give low confidence, and fair confidence.
const FEW: u32 = 3;
const ENOUGH: u32 = 5;
/// A lead's interval is wide if its upper end is more than this many times its lower.
const WIDE: f64 = 1.5;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfidenceGrade {
    /// Machines disagree, a warning voids figures, a block ran fewer than three times, a lead is
    /// undecided, or the compared limit was never reached.
    Low,
    /// A warning weakens figures, a block ran fewer than five times, a lead's interval is wide, or
    /// machines lie far apart.
    Fair,
    High,
}

pub struct AnswerConfidence<'a> {
    pub grade: ConfidenceGrade,
    /// What lowers it, the worst first.
    pub reasons: Vec<ConfidenceReason<'a>>,
    /// How often the least repeated block ran.
    pub blocks: u32,
    /// Leading levels that wrote back nothing of what they deferred.
    pub unpaid: Vec<&'a str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfidenceReason<'a> {
    Warned(WarningKind),
    /// The compared factor's limit was never reached.
    NeverTested(&'a str),
    /// Fewer than three repetitions.
    VeryFewBlocks,
    FewBlocks,
    NoWinner,
    SomeWithoutWinner,
    MachinesApart,
    WideIntervals,
}

impl<'a> AnswerConfidence<'a> {
    /// `None` where nothing is compared.
    pub(crate) fn from_cases(
        layout: &DocumentLayout<'a>,
        cases: &[OperationCase<'a>],
    ) -> Option<Self> {
        let blocks = cases.iter().map(|case| case.contrast.blocks).min()?;
        let warnings = &layout.document.warnings;
        let of = |weight| {
            let warnings = warnings.iter().filter(move |it| it.kind.weight() == weight);
            warnings.map(move |it| (grade_weight(weight), ConfidenceReason::Warned(it.kind)))
        };
        let disputed = !MachineDifferences::from_cases(layout, cases).disagree.is_empty();
        let disputed = disputed.then_some((
            ConfidenceGrade::Low,
            ConfidenceReason::Warned(WarningKind::MachinesDisagree),
        ));
        let own = list_own_reasons(layout, cases, blocks);
        let others = of(Weight::Voids).chain(own).chain(of(Weight::Weakens));
        let mut reasons: Vec<_> = disputed.into_iter().chain(others).collect();
        reasons.sort_by_key(|(grade, _)| *grade);
        let grade = reasons.first().map_or(ConfidenceGrade::High, |(grade, _)| *grade);
        let reasons = reasons.into_iter().map(|(_, reason)| reason).collect();
        Some(Self { grade, reasons, blocks, unpaid: list_unpaid(layout, cases) })
    }
}

fn list_own_reasons<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    blocks: u32,
) -> Vec<(ConfidenceGrade, ConfidenceReason<'a>)> {
    use ConfidenceGrade::{Fair, Low};
    let open = grade_leads(layout, cases);
    let is_far = !MachineDifferences::from_cases(layout, cases).far.is_empty();
    let is_wide = cases.iter().any(|case| is_wide(case.contrast.ends));
    let all = [
        (is_never_tested(layout), Low, ConfidenceReason::NeverTested(layout.compare)),
        (blocks < FEW, Low, ConfidenceReason::VeryFewBlocks),
        (open == Low, Low, ConfidenceReason::NoWinner),
        (open == Fair, Fair, ConfidenceReason::SomeWithoutWinner),
        ((FEW..ENOUGH).contains(&blocks), Fair, ConfidenceReason::FewBlocks),
        (is_far, Fair, ConfidenceReason::MachinesApart),
        (is_wide, Fair, ConfidenceReason::WideIntervals),
    ];
    let holding = all.into_iter().filter(|(holds, ..)| *holds);
    holding.map(|(_, grade, reason)| (grade, reason)).collect()
}

/// All levels except the unlimited one never reached the compared limit, so their ratios mean
/// nothing. A kept rate is no such limit: response times are compared.
fn is_never_tested(layout: &DocumentLayout<'_>) -> bool {
    const WITHOUT_LIMIT: [&str; 3] = ["unlimited", "0", "host"];
    let is_unreached = |level: &str| {
        let unreached = layout.document.unreached.iter().filter(|it| layout.compare == it.factor());
        unreached.map(UnreachedLimit::level).any(|known| known == level)
    };
    let mut levels = layout.levels.iter().filter(|level| !WITHOUT_LIMIT.contains(level)).peekable();
    layout.compare != OwnFactor::Rate
        && levels.peek().is_some()
        && levels.all(|level| is_unreached(level))
}

fn list_unpaid<'a>(layout: &DocumentLayout<'a>, cases: &[OperationCase<'a>]) -> Vec<&'a str> {
    let mut unpaid: Vec<&str> = Vec::new();
    for case in cases {
        let next = (case.outcome != LeaderOutcome::Won).then_some(case.next);
        for level in [Some(case.leader), next].into_iter().flatten() {
            let debt = layout.cell(&case.condition, level).and_then(|cell| cell.debt);
            if debt.is_some_and(|debt| debt.fresh == Some(true)) && !unpaid.contains(&level) {
                unpaid.push(level);
            }
        }
    }
    unpaid
}

fn grade_weight(weight: Weight) -> ConfidenceGrade {
    match weight {
        Weight::Voids => ConfidenceGrade::Low,
        Weight::Weakens => ConfidenceGrade::Fair,
        Weight::Notes => ConfidenceGrade::High,
    }
}

/// Leads are open in any operation of a promise of one condition, or in more than half of the
/// comparisons of several.
fn grade_leads<'a>(layout: &DocumentLayout<'a>, cases: &[OperationCase<'a>]) -> ConfidenceGrade {
    let is_open =
        |case: &&OperationCase| !matches!(case.outcome, LeaderOutcome::Won | LeaderOutcome::Even);
    let too_many = group_cases(layout, cases).iter().any(|group| {
        let open = group.cases.iter().filter(is_open).count();
        if group.condition().is_some() { open > 0 } else { 2 * open > group.cases.len() }
    });
    match cases.iter().any(|case| is_open(&case)) {
        _ if too_many => ConfidenceGrade::Low,
        true => ConfidenceGrade::Fair,
        false => ConfidenceGrade::High,
    }
}

fn is_wide((low, high): (Option<f64>, Option<f64>)) -> bool {
    low.zip(high).is_some_and(|(low, high)| high / low > WIDE)
}
