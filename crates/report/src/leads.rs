//! The cases of a run by the promise that they are under, and their ratios in words.

use bakeoff_analysis::{Contrast, RatioIs, Verdict};

use crate::block::StyledText;
use crate::durability;
use crate::layout::{ConditionLevels, DocumentLayout};
use crate::verdict::{LeaderOutcome, OperationCase};
use crate::words;

/// An operation, and how one level stands against another at it.
pub type Ratio<'a> = (&'a str, Contrast);

/// So many ratios that don't round alike are told one by one, each with its operation; more as a range.
const ONE_BY_ONE: usize = 3;

/// The cases under one promise.
pub struct PromiseCases<'a> {
    /// The level of durability; `None` where the run has none, or compares it.
    pub durability: Option<&'a str>,
    /// The cases.
    pub cases: Vec<OperationCase<'a>>,
}

/// The cases by the level of durability that they are of, the one that promises most first.
pub fn groups<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
) -> Vec<PromiseCases<'a>> {
    let mut groups: Vec<PromiseCases> = Vec::new();
    for case in cases {
        let durability = level(layout, case);
        match groups.iter_mut().find(|group| group.durability == durability) {
            Some(group) => group.cases.push(case.clone()),
            None => groups.push(PromiseCases { durability, cases: vec![case.clone()] }),
        }
    }
    groups.sort_by_key(|group| group.durability.map(durability::rank));
    groups
}

/// The level of durability of a case, where engines are held together at one.
fn level<'a>(layout: &DocumentLayout<'a>, case: &OperationCase<'a>) -> Option<&'a str> {
    let compared = layout.compare == durability::FACTOR;
    let level = layout.level_of(durability::FACTOR, &case.condition, case.leader);
    level.filter(|_| !compared && layout.has_engines())
}

impl<'a> PromiseCases<'a> {
    /// The condition of its cases, where they have one.
    pub fn condition(&self) -> Option<&ConditionLevels<'a>> {
        let first = &self.cases.first()?.condition;
        self.cases.iter().all(|case| case.condition == *first).then_some(first)
    }

    /// Who is faster than all others in each operation of its one condition.
    pub fn winner(&self) -> Option<&'a str> {
        self.condition()?;
        let first = self.cases.first()?.leader;
        let won = |case: &OperationCase| case.outcome == LeaderOutcome::Won && case.leader == first;
        self.cases.iter().all(won).then_some(first)
    }

    /// The levels with figures of every case, the fastest first, by the mean over all operations.
    pub fn ranked(&self, layout: &DocumentLayout<'a>) -> Vec<&'a str> {
        let cost = |level: &&'a str| -> Option<f64> {
            self.cases.iter().map(|case| cost(layout, case, level)).sum()
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

    /// Whether no other level has a better mean in any of the cases.
    pub fn is_best_in_each(&self, layout: &DocumentLayout<'a>, level: &'a str) -> bool {
        let ranked = self.ranked(layout);
        self.cases.iter().all(|case| {
            let best = cost(layout, case, level);
            let others = ranked.iter().filter_map(|other| cost(layout, case, other));
            best.is_some_and(|best| others.into_iter().all(|other| best <= other))
        })
    }

    /// How a level stands against another that is faster, in each case that has both.
    pub fn contrasts(&self, layout: &DocumentLayout<'a>, fast: &str, slow: &str) -> Vec<Contrast> {
        bare(&self.ratios(layout, fast, slow))
    }

    /// The same, each with its operation.
    pub fn ratios(&self, layout: &DocumentLayout<'a>, fast: &str, slow: &str) -> Vec<Ratio<'a>> {
        let of = |case: &OperationCase<'a>| {
            let pair = layout.pair(case.operation, &case.condition, fast, slow)?;
            Some((case.operation, Contrast::from_comparison(&pair)?))
        };
        self.cases.iter().filter_map(of).collect()
    }
}

/// The logarithm of a level's mean time in a case, or of what stands for it at a rate.
fn cost<'a>(layout: &DocumentLayout<'a>, case: &OperationCase<'a>, level: &'a str) -> Option<f64> {
    let amount = layout.amount(case.operation, &case.condition, level)?;
    Some(if amount.merit.is_rate() { -amount.value.ln() } else { amount.value.ln() })
}

/// "both operations", "all 3 operations".
pub fn all_operations(number: usize) -> String {
    match number {
        2 => "both operations".to_owned(),
        number => format!("all {number} operations"),
    }
}

/// A level of the compared factor with its sign.
pub fn named(layout: &DocumentLayout<'_>, level: &str) -> StyledText {
    StyledText::default().named(words::contender(layout.compare, level), layout.style(level))
}

/// Ratios as they are told.
enum ToldRatios {
    /// "1.4", "at least 2.1".
    One(String),
    /// "1.4" and "1.6": they don't round alike.
    Range(String, String),
}

impl ToldRatios {
    /// `None` without a ratio.
    fn from_contrasts(contrasts: &[Contrast]) -> Option<Self> {
        let ratios = || contrasts.iter().map(|it| it.ratio);
        let (least, most) = (ratios().reduce(f64::min)?, ratios().reduce(f64::max)?);
        let has = |is| contrasts.iter().any(|it| it.is == is);
        if has(RatioIs::AtLeast) {
            return Some(Self::One(format!("at least {}", words::two(least))));
        }
        if has(RatioIs::AtMost) {
            return Some(Self::One(format!("at most {}", words::two(most))));
        }
        let [low, high] = [least, most].map(words::two);
        Some(if low == high { Self::One(low) } else { Self::Range(low, high) })
    }
}

/// "1.4", "1.4 to 1.6", "at least 2.1": the ratios, in one figure where all round alike; `None` without one.
pub fn figures(contrasts: &[Contrast]) -> Option<String> {
    Some(match ToldRatios::from_contrasts(contrasts)? {
        ToldRatios::One(figure) => figure,
        ToldRatios::Range(low, high) => format!("{low} to {high}"),
    })
}

/// Why the ratios have no verdict of which is faster, where it is not their intervals that leave it open.
pub fn wordless(contrasts: &[Contrast]) -> Option<&'static str> {
    let reasons = [
        Verdict::Void,
        Verdict::NeverSteady,
        Verdict::TooFew,
        Verdict::Spiky,
        Verdict::ShortOfProcessors,
    ];
    let has = |wanted: &Verdict| contrasts.iter().any(|it| it.verdict == *wanted);
    reasons.into_iter().find(has).map(Verdict::word)
}

/// The word of ratios of which not all are faster, nor all slower.
pub fn open_word(contrasts: &[Contrast]) -> &'static str {
    match wordless(contrasts) {
        _ if contrasts.is_empty() => "no pair",
        Some(reason) => reason,
        None if contrasts.iter().all(|it| it.verdict == Verdict::Same) => Verdict::Same.word(),
        None => Verdict::Undecided.word(),
    }
}

/// " (1.2–1.8)": from the lowest end to the highest; nothing without an interval.
pub fn bracket(contrasts: &[Contrast]) -> String {
    match ends(contrasts).as_deref() {
        None => String::new(),
        Some(words::WIDE) => format!(" ({} interval)", words::WIDE),
        Some(ends) => format!(" ({ends})"),
    }
}

/// " (0.96–1.8×)": the same where no ratio stands before it that says what it is of.
pub fn bracket_of_times(contrasts: &[Contrast]) -> String {
    match ends(contrasts).filter(|ends| ends != words::WIDE) {
        Some(ends) => format!(" ({ends}×)"),
        None => bracket(contrasts),
    }
}

/// "0.96–1.8": from the lowest end to the highest; `None` where there are not both, and of a wide interval.
pub fn both_ends(contrasts: &[Contrast]) -> Option<String> {
    ends(contrasts).filter(|ends| ends.contains('–'))
}

/// Ratios without their operations.
pub fn bare(ratios: &[Ratio<'_>]) -> Vec<Contrast> {
    ratios.iter().map(|(_, contrast)| *contrast).collect()
}

/// Whether each ratio is of an operation of its own.
fn are_of_their_own(ratios: &[Ratio<'_>]) -> bool {
    let of_its_own = |(number, ratio): (usize, &Ratio<'_>)| {
        ratios[..number].iter().all(|(operation, _)| *operation != ratio.0)
    };
    ratios.iter().enumerate().all(of_its_own)
}

/// Whether ratios are told one by one: a few that don't round alike, each of an operation of its own.
fn are_told_one_by_one(ratios: &[Ratio<'_>]) -> bool {
    ratios.len() <= ONE_BY_ONE
        && matches!(ToldRatios::from_contrasts(&bare(ratios)), Some(ToldRatios::Range(..)))
        && are_of_their_own(ratios)
}

/// "in both operations", where one figure stands for each of several.
pub fn in_all(ratios: &[Ratio<'_>]) -> Option<String> {
    let is_one = matches!(ToldRatios::from_contrasts(&bare(ratios)), Some(ToldRatios::One(_)));
    match ratios.len() {
        2.. if !is_one || !are_of_their_own(ratios) => None,
        2.. => Some(format!("in {}", all_operations(ratios.len()))),
        _ => None,
    }
}

/// "**5.6 times** as long in create_issue (1.9–17) and **3.6 times** in process_issues (1.6–8.1)"; `None` where
/// the ratios are not told one by one.
pub fn one_by_one(ratios: &[Ratio<'_>]) -> Option<StyledText> {
    one_by_one_as(ratios, &StyledText::default())
}

/// The same with what it is as long as: "**5.6 times** as long as sqlite in create_issue (1.9–17) and …".
fn one_by_one_as(ratios: &[Ratio<'_>], than: &StyledText) -> Option<StyledText> {
    if !are_told_one_by_one(ratios) {
        return None;
    }
    let last = ratios.len() - 1;
    let mut told = StyledText::default();
    for (number, (operation, contrast)) in ratios.iter().enumerate() {
        let before = match number {
            0 => "",
            number if number == last => " and ",
            _ => ", ",
        };
        let interval = bracket(&[*contrast]);
        told = told.plain(before).stressed(format!("{} times", figures(&[*contrast])?));
        if number == 0 {
            told = told.plain(" as long").then(than.clone());
        }
        told = told.plain(format!(" in {operation}{interval}"));
    }
    Some(told)
}

/// The same for a cell of a table, "5.6× and 3.6×", and what stands below it, "create_issue (1.9–17),
/// process_issues (1.6–8.1)".
pub fn one_by_one_in_a_cell(ratios: &[Ratio<'_>]) -> Option<(String, String)> {
    if !are_told_one_by_one(ratios) {
        return None;
    }
    let times = ratios.iter().filter_map(|(_, it)| Some(format!("{}×", figures(&[*it])?)));
    let intervals = ratios.iter().map(|(operation, it)| format!("{operation}{}", bracket(&[*it])));
    let times: Vec<String> = times.collect();
    let intervals: Vec<String> = intervals.collect();
    Some((words::list(&times), intervals.join(", ")))
}

/// How many times as long the operations of one condition take: "**1.4 times** as long in both operations
/// (1.2–1.6)", a few that don't round alike one by one, and of more "**2.0 to 3.0 times** as long, depending on the
/// operation (all 95 % intervals lie within 1.8–3.3)". `than` follows "as long": " as sqlite". `None` without a
/// ratio.
pub fn as_long(ratios: &[Ratio<'_>], than: &StyledText) -> Option<StyledText> {
    one_by_one_as(ratios, than).or_else(|| {
        let contrasts = bare(ratios);
        let times = format!("{} times", figures(&contrasts)?);
        let told = StyledText::default().stressed(times).plain(" as long").then(than.clone());
        Some(told.plain(in_all_of(ratios) + &by_operation(&contrasts)))
    })
}

/// " in both operations", or nothing.
pub fn in_all_of(ratios: &[Ratio<'_>]) -> String {
    in_all(ratios).map_or_else(String::new, |all| format!(" {all}"))
}

/// "all 95 % intervals lie within 1.8–3.3", of ratios that are told as a range: of two ranges beside each
/// other each says what it is. `None` where the ratios are one figure, and without an interval.
pub fn intervals(contrasts: &[Contrast]) -> Option<String> {
    let ToldRatios::Range(..) = ToldRatios::from_contrasts(contrasts)? else { return None };
    let ends = ends(contrasts)?;
    Some(match ends.contains('–') {
        true => format!("all 95 % intervals lie within {ends}"),
        false => format!("95 % intervals: {ends}"),
    })
}

/// What stands behind ratios: " (1.2–1.6)", of a range " (all 95 % intervals lie within 1.8–3.3)".
pub fn backed(contrasts: &[Contrast]) -> String {
    intervals(contrasts).map_or_else(|| bracket(contrasts), |it| format!(" ({it})"))
}

/// The same of the operations of one condition: ", depending on the operation (all 95 % intervals lie within
/// 1.8–3.3)".
fn by_operation(contrasts: &[Contrast]) -> String {
    let depends = match ToldRatios::from_contrasts(contrasts) {
        Some(ToldRatios::Range(..)) => ", depending on the operation",
        _ => "",
    };
    format!("{depends}{}", backed(contrasts))
}

/// "1.2–1.8", "from 1.2", that they are wide; `None` without an interval.
fn ends(contrasts: &[Contrast]) -> Option<String> {
    let all =
        |of: fn(&Contrast) -> Option<f64>| contrasts.iter().map(of).collect::<Option<Vec<_>>>();
    let low = all(|it| it.ends.0).and_then(|all| all.into_iter().reduce(f64::min));
    let high = all(|it| it.ends.1).and_then(|all| all.into_iter().reduce(f64::max));
    match (low, high) {
        (Some(low), Some(high)) if high / low > words::USEFUL * words::USEFUL => {
            Some(words::WIDE.to_owned())
        }
        (Some(low), Some(high)) => Some(words::outward((low, high))),
        (Some(low), None) => Some(format!("from {}", words::below(low))),
        (None, Some(high)) => Some(format!("up to {}", words::above(high))),
        (None, None) => None,
    }
}
