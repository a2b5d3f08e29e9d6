//! The sentences of a run: one for each promise of durability, or one of all where that is no factor.

use bakeoff_analysis::{RatioIs, Verdict};

use super::{capital, finding, rate_of};
use crate::amount;
use crate::block::StyledText;
use crate::durability;
use crate::layout::DocumentLayout;
use crate::leads::{
    PromiseCases, as_long, backed, bare, both_ends, bracket, bracket_of_times, figures, groups,
    named, open_word, wordless,
};
use crate::promises;
use crate::verdict::{Contrast, LeaderOutcome, OperationCase};
use crate::words;

/// A sentence for each promise; in the past where the answer is of low confidence.
pub fn sentences<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    past: bool,
) -> Vec<StyledText> {
    let alone = too_few_kept(layout, cases);
    if cases.is_empty() && alone.is_empty() {
        return vec![StyledText::from(capital(layout.document, &finding(layout, cases)) + ".")];
    }
    let told = |group: &PromiseCases<'a>| -> (Option<&'a str>, StyledText) {
        let without = group.durability.and_then(|it| promises::without(layout.document, it));
        let sentence = sentence(group, layout, past);
        let sentence = match without {
            Some(without) => sentence.plain(format!(" {without}.")),
            None => sentence,
        };
        (group.durability, sentence)
    };
    let alone = alone.into_iter().map(|(level, words)| (Some(level), words));
    let mut all: Vec<_> = groups(layout, cases).iter().map(told).chain(alone).collect();
    all.sort_by_key(|(level, _)| level.map(durability::rank));
    all.into_iter().map(|(_, sentence)| sentence).collect()
}

/// "With every commit kept, nothing is compared: lmdb and fjall broke that promise.": of each level of
/// durability that all but one broke, or all.
fn too_few_kept<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
) -> Vec<(&'a str, StyledText)> {
    let mut told: Vec<(&str, StyledText)> = Vec::new();
    for condition in &layout.conditions {
        let measured =
            layout.contenders().into_iter().filter(|it| layout.cell(condition, it).is_some());
        let (kept, broken): (Vec<&str>, Vec<&str>) =
            measured.partition(|level| layout.keeps_promise(condition, level));
        let Some(first) = broken.first() else { continue };
        let Some(level) = layout.level_of(durability::FACTOR, condition, first) else { continue };
        let is_told = told.iter().any(|(known, _)| *known == level);
        if is_told || cases.iter().any(|case| case.condition == *condition) || kept.len() > 1 {
            continue;
        }
        let lead = StyledText::default().stressed(durability::clause(level) + ",");
        let lead = lead.plain(" nothing is compared: ").then(listed(layout, &broken, " and "));
        told.push((level, lead.plain(" broke that promise.")));
    }
    told
}

/// Whether a level was measured where these cases are, and broke its promise there.
fn has_broken_promise(group: &PromiseCases<'_>, layout: &DocumentLayout<'_>) -> bool {
    let broken = |case: &OperationCase<'_>| {
        let contenders = layout.contenders();
        layout.contenders_at(&case.condition).len() < contenders.len()
    };
    group.cases.iter().any(broken)
}

fn sentence<'a>(group: &PromiseCases<'a>, layout: &DocumentLayout<'a>, past: bool) -> StyledText {
    let kept = if has_broken_promise(group, layout) { ", of those that kept it" } else { "" };
    let lead = group.durability.map(|level| durability::clause(level) + kept);
    let answer = won(group, layout, past)
        .or_else(|| undecided_which(group, layout, past))
        .or_else(|| partly(group, layout, past));
    match (lead, answer) {
        (Some(lead), Some(answer)) => {
            StyledText::default().stressed(lead + ",").plain(" ").then(answer)
        }
        (Some(lead), None) => {
            let finding = within(&finding(layout, &group.cases));
            StyledText::default().stressed(lead + ",").plain(format!(" {finding}."))
        }
        (None, Some(answer)) if layout.compare == "engine" => answer,
        (None, Some(answer)) => answer.capital(),
        (None, None) => {
            StyledText::from(capital(layout.document, &finding(layout, &group.cases)) + ".")
        }
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

/// So many levels are named, of which nothing but that they are slower is told.
const NAMED: usize = 3;

/// "lmdb is fastest: sqlite takes 1.4 times as long (1.2–1.6); fjall is slower, too."; by a rate "lmdb serves 1.4
/// times as many rows a second as sqlite (1.2–1.6)."
fn won<'a>(
    group: &PromiseCases<'a>,
    layout: &DocumentLayout<'a>,
    past: bool,
) -> Option<StyledText> {
    let leader = group.winner()?;
    let ranked = group.ranked(layout);
    let second = ranked.iter().find(|level| **level != leader)?;
    let leads = group.ratios(layout, leader, second);
    let told = StyledText::default().then(named(layout, leader));
    let others: Vec<&str> = ranked.iter().copied().filter(|it| it != second).collect();
    let end = slower_too(group, layout, &others, past).plain(".");
    let Some(merit) = rate_of(layout, &group.cases.iter().collect::<Vec<_>>()) else {
        let (is, takes) =
            if past { (" was fastest: ", " took ") } else { (" is fastest: ", " takes ") };
        let told = told.plain(is).then(named(layout, second)).plain(takes);
        return Some(told.then(as_long(&leads, &StyledText::default())?).then(end));
    };
    let leads = bare(&leads);
    let told = told
        .plain(if past { " served " } else { " serves " })
        .stressed(format!("{} times", figures(&leads)?))
        .plain(format!(" as many {} a second as ", amount::counted(merit)));
    Some(told.then(named(layout, second)).plain(backed(&leads)).then(end))
}

/// "; fjall is slower, too": those of some levels that are slower than the fastest in each case.
fn slower_too<'a>(
    group: &PromiseCases<'a>,
    layout: &DocumentLayout<'a>,
    levels: &[&str],
    past: bool,
) -> StyledText {
    let is_behind = |level: &&str| group.cases.iter().all(|case| case.behind.contains(level));
    let behind: Vec<&str> = levels.iter().copied().filter(is_behind).collect();
    let verb = match (behind.len(), past) {
        (1, true) => "was",
        (1, false) => "is",
        (_, true) => "were",
        (_, false) => "are",
    };
    match behind.len() {
        0 => StyledText::default(),
        1..=NAMED => {
            let names = listed(layout, &behind, " and ");
            StyledText::from("; ").then(names).plain(format!(" {verb} slower, too"))
        }
        number => StyledText::from(format!("; {number} others {verb} slower, too")),
    }
}

/// "sqlite, lmdb or fjall", each with its sign.
fn listed(layout: &DocumentLayout<'_>, levels: &[&str], last: &str) -> StyledText {
    let mut told = StyledText::default();
    for (number, level) in levels.iter().enumerate() {
        told = told.plain(match number {
            0 => "",
            n if n + 1 == levels.len() => last,
            _ => ", ",
        });
        told = told.then(named(layout, level));
    }
    told
}

/// "lmdb is fastest in create_issue: sqlite takes 1.4 times as long (1.2–1.6); in process_issues it is undecided
/// (0.9–1.3×).": where one level leads in all of a few operations, and wins some.
fn partly<'a>(
    group: &PromiseCases<'a>,
    layout: &DocumentLayout<'a>,
    past: bool,
) -> Option<StyledText> {
    group.condition()?;
    let (won, open): (Vec<&OperationCase>, Vec<&OperationCase>) =
        group.cases.iter().partition(|case| case.outcome == LeaderOutcome::Won);
    let first = *won.first()?;
    let alike = won.iter().all(|case| case.next == first.next)
        && group.cases.iter().all(|case| case.leader == first.leader);
    let is_open =
        |case: &&OperationCase| matches!(case.outcome, LeaderOutcome::Open | LeaderOutcome::Noise);
    let by_time = rate_of(layout, &group.cases.iter().collect::<Vec<_>>()).is_none();
    if !alike || !by_time || open.len() != 1 || !open.iter().all(is_open) {
        return None;
    }
    let leads: Vec<_> = won.iter().map(|case| (case.operation, case.contrast)).collect();
    let operations: Vec<&str> = won.iter().map(|case| case.operation).collect();
    let (is, takes) = if past { (" was", " took ") } else { (" is", " takes ") };
    let told = StyledText::default()
        .then(named(layout, first.leader))
        .plain(format!("{is} fastest in {}: ", words::list(&operations)))
        .then(named(layout, first.next))
        .plain(takes)
        .then(as_long(&leads, &StyledText::default())?);
    let rest = |case: &&OperationCase| {
        let word = wordless(&[case.contrast]).unwrap_or(Verdict::Undecided.word());
        format!("; in {} it{is} {word}{}", case.operation, bracket_of_times(&[case.contrast]))
    };
    Some(told.plain(open.iter().map(rest).collect::<String>() + "."))
}

/// "lmdb or sqlite is fastest, undecided which: sqlite takes 0.9–1.2 times as long as lmdb; fjall takes 1.4 times as
/// long as lmdb (1.2–1.6).": where the intervals leave it open who is fastest, and nothing else is amiss.
fn undecided_which<'a>(
    group: &PromiseCases<'a>,
    layout: &DocumentLayout<'a>,
    past: bool,
) -> Option<StyledText> {
    group.condition()?;
    let is_open = |case: &OperationCase| {
        let outcome = matches!(
            case.outcome,
            LeaderOutcome::Open | LeaderOutcome::Noise | LeaderOutcome::Even
        );
        let is_close = case.contrast.verdict != Verdict::ShortOfProcessors;
        outcome && is_close && case.contrast.blocks > 1 && case.contrast.is == RatioIs::Exact
    };
    let even = group.cases.iter().all(|case| case.outcome == LeaderOutcome::Even);
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
    let is = if past { "was" } else { "is" };
    let told = listed(layout, &tied, " or ").plain(format!(" {is} fastest"));
    let mut told = match tied.as_slice() {
        [first, second] => told.then(between(group, layout, (*first, *second), past)),
        _ => told.plain(": undecided which"),
    };
    if let Some(next) = far.first() {
        let takes = if past { " took " } else { " takes " };
        let than = StyledText::from(" as ").then(named(layout, first));
        told = told.plain("; ").then(named(layout, next)).plain(takes);
        told = told.then(as_long(&group.ratios(layout, first, next), &than)?);
        told = told.then(not_behind(group, layout, next, &tied[1..]));
    }
    Some(told.plain("."))
}

/// ", undecided which: sqlite takes 0.9–1.2 times as long as lmdb"; by a rate ", undecided which: sqlite serves
/// 0.8–1.1 times as many rows a second as lmdb". From the lowest end of all operations to the highest.
fn between<'a>(
    group: &PromiseCases<'a>,
    layout: &DocumentLayout<'a>,
    (first, second): (&str, &str),
    past: bool,
) -> StyledText {
    let rate = rate_of(layout, &group.cases.iter().collect::<Vec<_>>()).map(amount::counted);
    let contrasts = group.contrasts(layout, first, second).into_iter();
    let shown = |it: Contrast| if rate.is_some() { it.turned() } else { it };
    let contrasts: Vec<Contrast> = contrasts.map(shown).collect();
    let Some(ends) = both_ends(&contrasts) else {
        return StyledText::from(format!(": undecided which{}", bracket(&contrasts)));
    };
    let (verb, how) = match (rate, past) {
        (None, true) => ("took", "as long".to_owned()),
        (None, false) => ("takes", "as long".to_owned()),
        (Some(what), true) => ("served", format!("as many {what} a second")),
        (Some(what), false) => ("serves", format!("as many {what} a second")),
    };
    let told = StyledText::from(", undecided which: ").then(named(layout, second));
    told.plain(format!(" {verb} {ends} times {how} as ")).then(named(layout, first))
}

/// "; fjall against sqlite: undecided", of each level that another one is not shown to be slower than.
fn not_behind<'a>(
    group: &PromiseCases<'a>,
    layout: &DocumentLayout<'a>,
    level: &str,
    than: &[&str],
) -> StyledText {
    let mut told = StyledText::default();
    for other in than {
        let contrasts = group.contrasts(layout, other, level);
        let is_whole = contrasts.len() == group.cases.len();
        if is_whole && contrasts.iter().all(|it| it.verdict == Verdict::Slower) {
            continue;
        }
        told = told.plain("; ").then(named(layout, level)).plain(" against ");
        told = told.then(named(layout, other)).plain(format!(": {}", open_word(&contrasts)));
    }
    told
}
