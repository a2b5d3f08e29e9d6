//! Confidence in the answer: by warnings, blocks, and decided leads.

use bakeoff_analysis::{UnreachedLimit, Warning, WarningKind, Weight};
use bakeoff_results::OwnFactor;
use serde::Serialize;

use crate::block::Badge;
use crate::layout::DocumentLayout;
use crate::machine_differences::MachineDifferences;
use crate::promise_cases::group_cases;
use crate::verdict::{LeaderOutcome, OperationCase};
use crate::warning_names;
use crate::words;

/// Fewer blocks give low confidence, and fair confidence.
const FEW: u32 = 3;
const ENOUGH: u32 = 5;
/// A lead's interval is wide if its upper end is more than this many times its lower.
const WIDE: f64 = 1.5;
const REASONS: usize = 2;

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

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Confidence {
    pub level: ConfidenceGrade,
    /// The first two reasons, and levels with unpaid deferred writes.
    pub reasons: Vec<String>,
}

impl Confidence {
    /// `None` where nothing is compared.
    pub(crate) fn from_cases<'a>(
        layout: &DocumentLayout<'a>,
        cases: &[OperationCase<'a>],
    ) -> Option<Self> {
        let blocks = cases.iter().map(|case| case.contrast.blocks).min()?;
        let warnings = &layout.document.warnings;
        let of = |weight| {
            let warnings = warnings.iter().filter(move |it| it.kind.weight() == weight);
            warnings.map(move |it: &Warning| {
                (grade_weight(weight), warning_names::phrase_kind(it.kind))
            })
        };
        let trials = format!("{} of each", words::count_nouns(blocks as usize, "trial"));
        let open = grade_leads(layout, cases);
        let wide = cases.iter().any(|case| is_wide(case.contrast.ends));
        let MachineDifferences { disagree, far } = MachineDifferences::from_cases(layout, cases);
        let is_disputed = !disagree.is_empty();
        let disputed = is_disputed.then(|| {
            (ConfidenceGrade::Low, warning_names::phrase_kind(WarningKind::MachinesDisagree))
        });
        let is_unreached = is_never_tested(layout);
        let own = [
            is_unreached.then(|| {
                (ConfidenceGrade::Low, format!("{} was never put to the test", layout.compare))
            }),
            (blocks < FEW).then(|| (ConfidenceGrade::Low, format!("only {trials}"))),
            (open == ConfidenceGrade::Low)
                .then(|| (ConfidenceGrade::Low, "a comparison has no winner yet".to_owned())),
            (open == ConfidenceGrade::Fair)
                .then(|| (ConfidenceGrade::Fair, "some comparisons have no winner yet".to_owned())),
            (FEW..ENOUGH).contains(&blocks).then(|| (ConfidenceGrade::Fair, trials.clone())),
            (!far.is_empty()).then(|| (ConfidenceGrade::Fair, "machines far apart".to_owned())),
            wide.then(|| (ConfidenceGrade::Fair, "wide intervals".to_owned())),
        ];
        let others = of(Weight::Voids).chain(own.into_iter().flatten()).chain(of(Weight::Weakens));
        let mut reasons: Vec<(ConfidenceGrade, String)> =
            disputed.into_iter().chain(others).collect();
        reasons.sort_by_key(|(level, _)| *level);
        let level = reasons.first().map_or(ConfidenceGrade::High, |(level, _)| *level);
        let mut reasons: Vec<String> = reasons.into_iter().map(|(_, reason)| reason).collect();
        if reasons.is_empty() {
            reasons.push(trials);
        }
        reasons.dedup();
        reasons.truncate(REASONS);
        reasons.extend(describe_unpaid(layout, cases));
        Some(Self { level, reasons })
    }

    pub fn word(&self) -> &'static str {
        match self.level {
            ConfidenceGrade::Low => "Low confidence",
            ConfidenceGrade::Fair => "Fair confidence",
            ConfidenceGrade::High => "High confidence",
        }
    }

    fn give_advice(&self) -> &'static str {
        match self.level {
            ConfidenceGrade::Low => "Don’t decide by this run alone.",
            ConfidenceGrade::Fair => "Good enough to drop what is far behind.",
            ConfidenceGrade::High => "Good enough to decide by.",
        }
    }

    pub fn text(&self) -> String {
        format!("{}. {}", words::capitalize(&self.reasons.join(", ")), self.give_advice())
    }

    pub(crate) fn badge(&self) -> Badge {
        Badge { word: self.word(), rank: self.level as u32 + 1, text: self.text() }
    }
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

/// Leading levels that wrote back nothing they deferred: "fjall still had writes to do at the end".
fn describe_unpaid<'a>(layout: &DocumentLayout<'a>, cases: &[OperationCase<'a>]) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for case in cases {
        let next = (case.outcome != LeaderOutcome::Won).then_some(case.next);
        for level in [Some(case.leader), next].into_iter().flatten() {
            let debt = layout.cell(&case.condition, level).and_then(|cell| cell.debt);
            let name = words::name_contender(layout.compare, level);
            if debt.is_some_and(|debt| debt.fresh == Some(true)) && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    (!names.is_empty())
        .then(|| format!("{} still had writes to do at the end", words::join_list(&names)))
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
