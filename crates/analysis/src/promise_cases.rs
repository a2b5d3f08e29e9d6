//! Cases grouped by the promise of durability that they share.

use bakeoff_results::{DurabilityLevel, OwnFactor};

use crate::comparison::{Contrast, Verdict};
use crate::layout::{ConditionLevels, DocumentLayout};
use crate::leader::LeaderOutcome;
use crate::operation_case::OperationCase;

/// An operation, and the ratio of two levels in it.
pub type Ratio<'a> = (&'a str, Contrast);

pub struct PromiseCases<'a> {
    /// `None` where the run has none, or compares it.
    pub durability: Option<&'a str>,
    pub cases: Vec<OperationCase<'a>>,
}

/// The strongest promise first.
pub fn group_cases<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
) -> Vec<PromiseCases<'a>> {
    let mut groups: Vec<PromiseCases> = Vec::new();
    for case in cases {
        let durability = find_level(layout, case);
        match groups.iter_mut().find(|group| group.durability == durability) {
            Some(group) => group.cases.push(case.clone()),
            None => groups.push(PromiseCases { durability, cases: vec![case.clone()] }),
        }
    }
    groups.sort_by_key(|group| group.durability.map(rank_durability));
    groups
}

/// `None` unless engines are compared at one level.
fn find_level<'a>(layout: &DocumentLayout<'a>, case: &OperationCase<'a>) -> Option<&'a str> {
    let compared = layout.compare == OwnFactor::Durability;
    let level = layout.level_of(OwnFactor::Durability.as_str(), &case.condition, case.leader);
    level.filter(|_| !compared && layout.has_engines())
}

impl<'a> PromiseCases<'a> {
    pub fn condition(&self) -> Option<&ConditionLevels<'a>> {
        let first = &self.cases.first()?.condition;
        self.cases.iter().all(|case| case.condition == *first).then_some(first)
    }

    /// The fastest in each operation of its one condition.
    pub fn winner(&self) -> Option<&'a str> {
        self.condition()?;
        let first = self.cases.first()?.leader;
        let won = |case: &OperationCase| case.outcome == LeaderOutcome::Won && case.leader == first;
        self.cases.iter().all(won).then_some(first)
    }

    /// Levels with figures of every case, the fastest mean over all operations first.
    pub fn rank_levels(&self, layout: &DocumentLayout<'a>) -> Vec<&'a str> {
        let cost = |level: &&'a str| -> Option<f64> {
            self.cases.iter().map(|case| find_cost(layout, case, level)).sum()
        };
        let kept = |level: &&'a str| {
            self.cases.iter().all(|case| layout.keeps_promise(&case.condition, level))
        };
        let contenders = layout.contenders().into_iter().filter(kept);
        let mut ranked: Vec<(f64, &str)> =
            contenders.filter_map(|level| Some((cost(&level)?, level))).collect();
        ranked.sort_by(|one, other| one.0.total_cmp(&other.0));
        ranked.into_iter().map(|(_, level)| level).collect()
    }

    /// No other level has a better mean in any case.
    pub fn is_best_in_each(&self, layout: &DocumentLayout<'a>, level: &'a str) -> bool {
        let ranked = self.rank_levels(layout);
        self.cases.iter().all(|case| {
            let best = find_cost(layout, case, level);
            let others = ranked.iter().filter_map(|other| find_cost(layout, case, other));
            best.is_some_and(|best| others.into_iter().all(|other| best <= other))
        })
    }

    pub fn contrasts(&self, layout: &DocumentLayout<'a>, fast: &str, slow: &str) -> Vec<Contrast> {
        self.ratios(layout, fast, slow).into_iter().map(|(_, contrast)| contrast).collect()
    }

    pub fn ratios(&self, layout: &DocumentLayout<'a>, fast: &str, slow: &str) -> Vec<Ratio<'a>> {
        let of = |case: &OperationCase<'a>| {
            let pair = layout.pair(case.operation, &case.condition, fast, slow)?;
            Some((case.operation, Contrast::from_comparison(&pair)?))
        };
        self.cases.iter().filter_map(of).collect()
    }
}

/// Logarithm of the mean time, or minus that of the rate: logarithms add up over cases.
fn find_cost<'a>(
    layout: &DocumentLayout<'a>,
    case: &OperationCase<'a>,
    level: &'a str,
) -> Option<f64> {
    let amount = layout.amount(case.operation, &case.condition, level)?;
    Some(if amount.merit.is_rate() { -amount.value.ln() } else { amount.value.ln() })
}

/// 0 promises most.
pub fn rank_durability(level: &str) -> usize {
    let known = DurabilityLevel::ALL;
    known.iter().position(|it| it.as_str() == level).unwrap_or(known.len())
}

/// Why two levels have no verdict, if the reason is not their intervals.
pub fn find_open_reason(contrasts: &[Contrast]) -> Option<Verdict> {
    let reasons = [
        Verdict::Void,
        Verdict::NeverSteady,
        Verdict::TooFew,
        Verdict::Spiky,
        Verdict::ShortOfProcessors,
    ];
    reasons.into_iter().find(|wanted| contrasts.iter().any(|it| it.verdict == *wanted))
}
