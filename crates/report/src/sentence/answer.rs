//! The sentences of a run: one for each promise of durability, or one of all where that is no factor.

use bakeoff_analysis::{Contrast, RatioIs, Verdict};

use super::{capital, finding, rate_of};
use crate::amount;
use crate::block::Words;
use crate::durability;
use crate::layout::{Condition, Layout};
use crate::verdict::{Case, Outcome};
use crate::words;

/// The cases under one promise.
pub struct Group<'a> {
    /// The level of durability; `None` where the run has none, or compares it.
    pub durability: Option<&'a str>,
    /// The cases.
    pub cases: Vec<Case<'a>>,
}

/// The cases by the level of durability that they are of, the one that promises most first.
pub fn groups<'a>(layout: &Layout<'a>, cases: &[Case<'a>]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group> = Vec::new();
    for case in cases {
        let durability = level(layout, case);
        match groups.iter_mut().find(|group| group.durability == durability) {
            Some(group) => group.cases.push(case.clone()),
            None => groups.push(Group { durability, cases: vec![case.clone()] }),
        }
    }
    groups.sort_by_key(|group| group.durability.map(durability::rank));
    groups
}

/// The level of durability of a case, where engines are held together at one.
fn level<'a>(layout: &Layout<'a>, case: &Case<'a>) -> Option<&'a str> {
    let compared = layout.compare == durability::FACTOR;
    let level = layout.level_of(durability::FACTOR, &case.condition, case.leader);
    level.filter(|_| !compared && layout.has_engines())
}

/// A sentence for each promise; in the past where the answer is of low confidence.
pub fn sentences<'a>(layout: &Layout<'a>, cases: &[Case<'a>], past: bool) -> Vec<Words> {
    if cases.is_empty() {
        return vec![Words::from(capital(layout.document, &finding(layout, cases)) + ".")];
    }
    groups(layout, cases).iter().map(|group| group.sentence(layout, past)).collect()
}

impl<'a> Group<'a> {
    /// The condition of its cases, where they have one.
    pub fn condition(&self) -> Option<&Condition<'a>> {
        let first = &self.cases.first()?.condition;
        self.cases.iter().all(|case| case.condition == *first).then_some(first)
    }

    /// Who is faster than all others in each operation of its one condition.
    pub fn winner(&self) -> Option<&'a str> {
        self.condition()?;
        let first = self.cases.first()?.leader;
        let won = |case: &Case| case.outcome == Outcome::Won && case.leader == first;
        self.cases.iter().all(won).then_some(first)
    }

    fn sentence(&self, layout: &Layout<'a>, past: bool) -> Words {
        let lead = self.durability.map(durability::clause);
        let answer = self.won(layout, past).or_else(|| self.too_close(layout, past));
        match (lead, answer) {
            (Some(lead), Some(answer)) => {
                Words::default().stressed(lead + ",").plain(" ").then(answer)
            }
            (Some(lead), None) => {
                let finding = finding(layout, &self.cases);
                Words::default().stressed(lead + ":").plain(format!(" {finding}."))
            }
            (None, Some(answer)) if layout.compare == "engine" => answer,
            (None, Some(answer)) => answer.capital(),
            (None, None) => {
                Words::from(capital(layout.document, &finding(layout, &self.cases)) + ".")
            }
        }
    }

    /// "lmdb answers 1.4 to 1.6 times as fast as sqlite (1.2–1.8)."
    fn won(&self, layout: &Layout<'a>, past: bool) -> Option<Words> {
        let leader = self.winner()?;
        let ranked = self.ranked(layout);
        let second = ranked.iter().find(|level| **level != leader)?;
        let leads = self.contrasts(layout, leader, second);
        let told = Words::default().then(named(layout, leader));
        let told = match rate_of(layout, &self.cases.iter().collect::<Vec<_>>()) {
            None => told
                .plain(if past { " answered " } else { " answers " })
                .stressed(format!("{} times", figures(&leads)?))
                .plain(" as fast as "),
            Some(merit) => told
                .plain(if past { " served " } else { " serves " })
                .stressed(format!("{} times", figures(&leads)?))
                .plain(format!(" as many {} a second as ", amount::counted(merit))),
        };
        Some(told.then(named(layout, second)).plain(format!("{}.", bracket(&leads))))
    }

    /// "lmdb and sqlite are too close to call (0.9–1.2); fjall takes 1.4 times as long (1.2–1.6)":
    /// where the intervals leave it open who is fastest, and nothing else is amiss.
    fn too_close(&self, layout: &Layout<'a>, past: bool) -> Option<Words> {
        self.condition()?;
        let is_open = |case: &Case| {
            let outcome = matches!(case.outcome, Outcome::Open | Outcome::Noise | Outcome::Even);
            outcome && case.contrast.blocks > 1 && case.contrast.is == RatioIs::Exact
        };
        let even = self.cases.iter().all(|case| case.outcome == Outcome::Even);
        if even || !self.cases.iter().all(is_open) {
            return None;
        }
        let ranked = self.ranked(layout);
        let first = *ranked.first()?;
        let is_behind = |level: &&str| {
            let contrasts = self.contrasts(layout, first, level);
            contrasts.len() == self.cases.len()
                && contrasts.iter().all(|it| it.verdict == Verdict::Slower)
        };
        let (far, tied): (Vec<&str>, Vec<&str>) = ranked.iter().copied().partition(|level| is_behind(level));
        let rivals = || tied.iter().filter(|level| **level != first);
        let held = |level: &&str| self.contrasts(layout, first, level).len() == self.cases.len();
        if tied.len() < 2 || !rivals().all(held) {
            return None;
        }
        let mut told = Words::default();
        for (number, level) in tied.iter().enumerate() {
            told = told.plain(match number {
                0 => "",
                n if n + 1 == tied.len() => " and ",
                _ => ", ",
            });
            told = told.then(named(layout, level));
        }
        let interval = match tied.as_slice() {
            [first, second] => bracket(&self.contrasts(layout, first, second)),
            _ => String::new(),
        };
        told = told.plain(format!(" are too close to call{interval}"));
        if let Some(next) = far.first() {
            let contrasts = self.contrasts(layout, first, next);
            let takes = if past { " took " } else { " takes " };
            told = told.plain("; ").then(named(layout, next)).plain(takes);
            told = told.stressed(format!("{} times", figures(&contrasts)?));
            told = told.plain(format!(" as long{}", bracket(&contrasts)));
        }
        Some(told.plain("."))
    }

    /// The levels with figures of every case, the fastest first, by the mean over all operations.
    pub fn ranked(&self, layout: &Layout<'a>) -> Vec<&'a str> {
        let cost = |level: &&'a str| -> Option<f64> {
            let of = |case: &Case<'a>| {
                let amount = layout.amount(case.operation, &case.condition, *level)?;
                Some(if amount.merit.is_rate() { -amount.value.ln() } else { amount.value.ln() })
            };
            self.cases.iter().map(of).sum()
        };
        let contenders = layout.contenders().into_iter();
        let mut ranked: Vec<(f64, &str)> =
            contenders.filter_map(|level| Some((cost(&level)?, level))).collect();
        ranked.sort_by(|one, other| one.0.total_cmp(&other.0));
        ranked.into_iter().map(|(_, level)| level).collect()
    }

    /// How a level stands against another that is faster, in each case that has both.
    pub fn contrasts(&self, layout: &Layout<'a>, fast: &str, slow: &str) -> Vec<Contrast> {
        let of = |case: &Case<'a>| {
            Contrast::of(&layout.pair(case.operation, &case.condition, fast, slow)?)
        };
        self.cases.iter().filter_map(of).collect()
    }
}

/// A level of the compared factor with its sign.
pub fn named(layout: &Layout<'_>, level: &str) -> Words {
    Words::default().named(words::contender(layout.compare, level), layout.style(level))
}

/// "1.4", "1.4 to 1.6", "at least 2.1": the ratios, in one figure where all round alike; `None` without one.
pub fn figures(contrasts: &[Contrast]) -> Option<String> {
    let ratios = || contrasts.iter().map(|it| it.ratio);
    let (least, most) = (ratios().reduce(f64::min)?, ratios().reduce(f64::max)?);
    let has = |is| contrasts.iter().any(|it| it.is == is);
    if has(RatioIs::AtLeast) {
        return Some(format!("at least {}", words::two(least)));
    }
    if has(RatioIs::AtMost) {
        return Some(format!("at most {}", words::two(most)));
    }
    let [low, high] = [least, most].map(words::two);
    Some(if low == high { low } else { format!("{low} to {high}") })
}

/// " (1.2–1.8)": from the lowest end to the highest; nothing without an interval.
pub fn bracket(contrasts: &[Contrast]) -> String {
    let ends = |of: fn(&Contrast) -> Option<f64>| contrasts.iter().map(of).collect::<Option<Vec<_>>>();
    let low = ends(|it| it.ends.0).and_then(|all| all.into_iter().reduce(f64::min));
    let high = ends(|it| it.ends.1).and_then(|all| all.into_iter().reduce(f64::max));
    match (low, high) {
        (Some(low), Some(high)) if high / low > words::USEFUL * words::USEFUL => {
            format!(" ({} interval)", words::WIDE)
        }
        (Some(low), Some(high)) => format!(" ({})", words::outward((low, high))),
        (Some(low), None) => format!(" (from {})", words::below(low)),
        (None, Some(high)) => format!(" (up to {})", words::above(high)),
        (None, None) => String::new(),
    }
}
