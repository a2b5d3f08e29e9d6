//! The sentences of a run: one for each promise of durability, or one of all where that is no factor.

use bakeoff_analysis::{RatioIs, Verdict};

use super::{capital, finding, rate_of};
use crate::amount;
use crate::block::Words;
use crate::durability;
use crate::layout::Layout;
use crate::leads::{Group, as_long, backed, bare, bracket, figures, groups, named, wordless};
use crate::promises;
use crate::verdict::{Case, Outcome};
use crate::words;

/// A sentence for each promise; in the past where the answer is of low confidence.
pub fn sentences<'a>(layout: &Layout<'a>, cases: &[Case<'a>], past: bool) -> Vec<Words> {
    if cases.is_empty() {
        return vec![Words::from(capital(layout.document, &finding(layout, cases)) + ".")];
    }
    let told = |group: &Group<'a>| {
        let without = group.durability.and_then(|it| promises::without(layout.document, it));
        let sentence = sentence(group, layout, past);
        match without {
            Some(without) => sentence.plain(format!(" {without}.")),
            None => sentence,
        }
    };
    groups(layout, cases).iter().map(told).collect()
}

fn sentence<'a>(group: &Group<'a>, layout: &Layout<'a>, past: bool) -> Words {
    let lead = group.durability.map(durability::clause);
    let answer = won(group, layout, past)
        .or_else(|| undecided_which(group, layout, past))
        .or_else(|| partly(group, layout, past));
    match (lead, answer) {
        (Some(lead), Some(answer)) => Words::default().stressed(lead + ",").plain(" ").then(answer),
        (Some(lead), None) => {
            let finding = within(&finding(layout, &group.cases));
            Words::default().stressed(lead + ",").plain(format!(" {finding}."))
        }
        (None, Some(answer)) if layout.compare == "engine" => answer,
        (None, Some(answer)) => answer.capital(),
        (None, None) => Words::from(capital(layout.document, &finding(layout, &group.cases)) + "."),
    }
}

/// A finding as the rest of a sentence: a name keeps its own letters.
fn within(finding: &str) -> String {
    const OWN: [&str; 4] = ["Nothing ", "It depends ", "None ", "Neither "];
    match OWN.iter().any(|start| finding.starts_with(start)) {
        true => finding[..1].to_lowercase() + &finding[1..],
        false => finding.to_owned(),
    }
}

/// "lmdb is fastest: sqlite takes 1.4 times as long (1.2–1.6)."; by a rate "lmdb serves 1.4 times as many rows a
/// second as sqlite (1.2–1.6)."
fn won<'a>(group: &Group<'a>, layout: &Layout<'a>, past: bool) -> Option<Words> {
    let leader = group.winner()?;
    let ranked = group.ranked(layout);
    let second = ranked.iter().find(|level| **level != leader)?;
    let leads = group.ratios(layout, leader, second);
    let told = Words::default().then(named(layout, leader));
    let Some(merit) = rate_of(layout, &group.cases.iter().collect::<Vec<_>>()) else {
        let (is, takes) =
            if past { (" was fastest: ", " took ") } else { (" is fastest: ", " takes ") };
        let told = told.plain(is).then(named(layout, second)).plain(takes);
        return Some(told.then(as_long(&leads)?).plain("."));
    };
    let leads = bare(&leads);
    let told = told
        .plain(if past { " served " } else { " serves " })
        .stressed(format!("{} times", figures(&leads)?))
        .plain(format!(" as many {} a second as ", amount::counted(merit)));
    Some(told.then(named(layout, second)).plain(format!("{}.", backed(&leads))))
}

/// "lmdb is fastest in create_issue: sqlite takes 1.4 times as long (1.2–1.6); in process_issues it is undecided
/// (0.9–1.3).": where one level leads in all of a few operations, and wins some.
fn partly<'a>(group: &Group<'a>, layout: &Layout<'a>, past: bool) -> Option<Words> {
    group.condition()?;
    let (won, open): (Vec<&Case>, Vec<&Case>) =
        group.cases.iter().partition(|case| case.outcome == Outcome::Won);
    let first = *won.first()?;
    let alike = won.iter().all(|case| case.next == first.next)
        && group.cases.iter().all(|case| case.leader == first.leader);
    let is_open = |case: &&Case| matches!(case.outcome, Outcome::Open | Outcome::Noise);
    let by_time = rate_of(layout, &group.cases.iter().collect::<Vec<_>>()).is_none();
    if !alike || !by_time || open.len() != 1 || !open.iter().all(is_open) {
        return None;
    }
    let leads: Vec<_> = won.iter().map(|case| (case.operation, case.contrast)).collect();
    let operations: Vec<&str> = won.iter().map(|case| case.operation).collect();
    let (is, takes) = if past { (" was", " took ") } else { (" is", " takes ") };
    let told = Words::default()
        .then(named(layout, first.leader))
        .plain(format!("{is} fastest in {}: ", words::list(&operations)))
        .then(named(layout, first.next))
        .plain(takes)
        .then(as_long(&leads)?);
    let rest = |case: &&Case| {
        let word = wordless(&[case.contrast]).unwrap_or(Verdict::Undecided.word());
        format!("; in {} it{is} {word}{}", case.operation, bracket(&[case.contrast]))
    };
    Some(told.plain(open.iter().map(rest).collect::<String>() + "."))
}

/// "lmdb or sqlite is fastest: undecided which (0.9–1.2); fjall takes 1.4 times as long (1.2–1.6) as lmdb.": where the
/// intervals leave it open who is fastest, and nothing else is amiss.
fn undecided_which<'a>(group: &Group<'a>, layout: &Layout<'a>, past: bool) -> Option<Words> {
    group.condition()?;
    let is_open = |case: &Case| {
        let outcome = matches!(case.outcome, Outcome::Open | Outcome::Noise | Outcome::Even);
        let is_close = case.contrast.verdict != Verdict::ShortOfProcessors;
        outcome && is_close && case.contrast.blocks > 1 && case.contrast.is == RatioIs::Exact
    };
    let even = group.cases.iter().all(|case| case.outcome == Outcome::Even);
    if even || !group.cases.iter().all(is_open) {
        return None;
    }
    let ranked = group.ranked(layout);
    let first = *ranked.first()?;
    let is_behind = |level: &&str| {
        let contrasts = group.contrasts(layout, first, level);
        contrasts.len() == group.cases.len()
            && contrasts.iter().all(|it| it.verdict == Verdict::Slower)
    };
    let (far, tied): (Vec<&str>, Vec<&str>) =
        ranked.iter().copied().partition(|level| is_behind(level));
    let rivals = || tied.iter().filter(|level| **level != first);
    let held = |level: &&str| group.contrasts(layout, first, level).len() == group.cases.len();
    // Their intervals may well say who is faster.
    let is_short = |level: &&str| {
        let contrasts = group.contrasts(layout, first, level);
        contrasts.iter().any(|it| it.verdict == Verdict::ShortOfProcessors)
    };
    if tied.len() < 2 || !rivals().all(held) || rivals().any(is_short) {
        return None;
    }
    let mut told = Words::default();
    for (number, level) in tied.iter().enumerate() {
        told = told.plain(match number {
            0 => "",
            n if n + 1 == tied.len() => " or ",
            _ => ", ",
        });
        told = told.then(named(layout, level));
    }
    let interval = match tied.as_slice() {
        [first, second] => bracket(&group.contrasts(layout, first, second)),
        _ => String::new(),
    };
    let is = if past { "was" } else { "is" };
    told = told.plain(format!(" {is} fastest: undecided which{interval}"));
    if let Some(next) = far.first() {
        let takes = if past { " took " } else { " takes " };
        told = told.plain("; ").then(named(layout, next)).plain(takes);
        told = told.then(as_long(&group.ratios(layout, first, next))?);
        told = told.plain(" as ").then(named(layout, first));
    }
    Some(told.plain("."))
}
