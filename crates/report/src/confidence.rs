//! How sure the answer of a run is: by its warnings, by how often each block was run, and by whether the
//! leads are decided.

use bakeoff_analysis::{Unreached, Warning, WarningKind, Weight};
use serde::Serialize;

use crate::apart::OverMachines;
use crate::block::Badge;
use crate::layout::DocumentLayout;
use crate::leads::groups;
use crate::misleads;
use crate::verdict::{LeaderOutcome, OperationCase};
use crate::words;

/// Of fewer blocks an answer is of low confidence, and of fewer than that of fair.
const FEW: u32 = 3;
const ENOUGH: u32 = 5;
/// How many times its lower end the upper end of a lead's interval may be.
const WIDE: f64 = 1.5;
/// So many reasons are told.
const REASONS: usize = 2;

/// How sure an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfidenceGrade {
    /// The machines disagree on what is told, a warning voids figures, a block was run fewer than three times,
    /// a lead is undecided, or the limit that is compared was never reached.
    Low,
    /// A warning weakens figures, a block was run fewer than five times, a lead's interval is wide, or machines
    /// lie far apart on it.
    Fair,
    /// None of these.
    High,
}

/// How sure an answer is, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Confidence {
    /// How sure.
    pub level: ConfidenceGrade,
    /// The first reasons, two at most, and whose deferred writes are not paid for.
    pub reasons: Vec<String>,
}

impl Confidence {
    /// Of what the cases of a run say; `None` where nothing is compared.
    pub(crate) fn from_cases<'a>(
        layout: &DocumentLayout<'a>,
        cases: &[OperationCase<'a>],
    ) -> Option<Self> {
        let blocks = cases.iter().map(|case| case.contrast.blocks).min()?;
        let warnings = &layout.document.warnings;
        let of = |weight| {
            let warnings = warnings.iter().filter(move |it| it.kind.weight() == weight);
            warnings.map(move |it: &Warning| (level(weight), misleads::reason(it.kind)))
        };
        let trials = format!("{} of each", words::many(blocks as usize, "trial"));
        let open = open(layout, cases);
        let wide = cases.iter().any(|case| is_wide(case.contrast.ends));
        let OverMachines { disagree, far } = OverMachines::from_cases(layout, cases);
        let is_disputed = !disagree.is_empty();
        let disputed = is_disputed
            .then(|| (ConfidenceGrade::Low, misleads::reason(WarningKind::MachinesDisagree)));
        let is_unreached = is_never_tested(layout);
        let own = [
            is_unreached.then(|| {
                (ConfidenceGrade::Low, format!("{} was never put to the test", layout.compare))
            }),
            (blocks < FEW).then(|| (ConfidenceGrade::Low, format!("only {trials}"))),
            (open == ConfidenceGrade::Low)
                .then(|| (ConfidenceGrade::Low, "a lead is undecided".to_owned())),
            (open == ConfidenceGrade::Fair)
                .then(|| (ConfidenceGrade::Fair, "not every lead is decided".to_owned())),
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
        reasons.extend(unpaid(layout, cases));
        Some(Self { level, reasons })
    }

    /// "Low confidence".
    pub fn word(&self) -> &'static str {
        match self.level {
            ConfidenceGrade::Low => "Low confidence",
            ConfidenceGrade::Fair => "Fair confidence",
            ConfidenceGrade::High => "High confidence",
        }
    }

    /// What such an answer is good for.
    fn advice(&self) -> &'static str {
        match self.level {
            ConfidenceGrade::Low => "Don’t decide by this run alone.",
            ConfidenceGrade::Fair => "Good enough to rule a choice out.",
            ConfidenceGrade::High => "Good enough to decide by.",
        }
    }

    /// The reasons and the advice, in sentences.
    pub fn text(&self) -> String {
        format!("{}. {}", words::capital(&self.reasons.join(", ")), self.advice())
    }

    /// As a block has it.
    pub(crate) fn badge(&self) -> Badge {
        Badge { word: self.word(), rank: self.level as u32 + 1, text: self.text() }
    }
}

/// Whether no limit of the compared factor was reached: where all of its levels but the one without a limit
/// say nothing, so do their ratios. A rate that was kept is no such limit: response times are compared.
fn is_never_tested(layout: &DocumentLayout<'_>) -> bool {
    const WITHOUT_LIMIT: [&str; 3] = ["unlimited", "0", "host"];
    let is_unreached = |level: &str| {
        let unreached = layout.document.unreached.iter().filter(|it| it.factor() == layout.compare);
        unreached.map(Unreached::level).any(|known| known == level)
    };
    let mut levels = layout.levels.iter().filter(|level| !WITHOUT_LIMIT.contains(level)).peekable();
    layout.compare != "rate" && levels.peek().is_some() && levels.all(|level| is_unreached(level))
}

/// Those that lead, or may, in a cell that has written back nothing of what it deferred: "deferred writes not paid
/// for by fjall".
fn unpaid<'a>(layout: &DocumentLayout<'a>, cases: &[OperationCase<'a>]) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for case in cases {
        let next = (case.outcome != LeaderOutcome::Won).then_some(case.next);
        for level in [Some(case.leader), next].into_iter().flatten() {
            let debt = layout.cell(&case.condition, level).and_then(|cell| cell.debt);
            let name = words::contender(layout.compare, level);
            if debt.is_some_and(|debt| debt.fresh == Some(true)) && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    (!names.is_empty()).then(|| format!("deferred writes not paid for by {}", words::list(&names)))
}

/// What a warning of such a weight leaves.
fn level(weight: Weight) -> ConfidenceGrade {
    match weight {
        Weight::Voids => ConfidenceGrade::Low,
        Weight::Weakens => ConfidenceGrade::Fair,
        Weight::Notes => ConfidenceGrade::High,
    }
}

/// Whether leads are open: of a promise of one condition in any operation, of one of several conditions in
/// more than half of its comparisons.
fn open<'a>(layout: &DocumentLayout<'a>, cases: &[OperationCase<'a>]) -> ConfidenceGrade {
    let is_open =
        |case: &&OperationCase| !matches!(case.outcome, LeaderOutcome::Won | LeaderOutcome::Even);
    let too_many = groups(layout, cases).iter().any(|group| {
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
