//! The sentences of a run: one for each promise of durability, or one of all.

use bakeoff_analysis::{RatioBound, Verdict};
use bakeoff_results::OwnFactor;

use super::{capitalize_text, describe_finding, rate_of};
use crate::amount;
use crate::block::StyledText;
use crate::durability;
use crate::layout::DocumentLayout;
use crate::promise_cases::{
    PromiseCases, as_long, back_ratios, both_ends, bracket_of_times, explain_open, format_bracket,
    format_ratios, group_cases, name_level, open_word, without_operations,
};
use crate::promises;
use crate::verdict::{Contrast, LeaderOutcome, OperationCase};
use crate::words;

pub fn build_sentences<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    past: bool,
) -> Vec<StyledText> {
    let alone = too_few_kept(layout, cases);
    if cases.is_empty() && alone.is_empty() {
        return vec![StyledText::from(
            capitalize_text(layout.document, &describe_finding(layout, cases)) + ".",
        )];
    }
    let told = |group: &PromiseCases<'a>| -> (Option<&'a str>, StyledText) {
        let without =
            group.durability.and_then(|it| promises::describe_missing(layout.document, it));
        let sentence = build_sentence(group, layout, past);
        let sentence = match without {
            Some(without) => sentence.plain(format!(" {without}.")),
            None => sentence,
        };
        (group.durability, sentence)
    };
    let alone = alone.into_iter().map(|(level, words)| (Some(level), words));
    let mut all: Vec<_> = group_cases(layout, cases).iter().map(told).chain(alone).collect();
    all.sort_by_key(|(level, _)| level.map(durability::rank_level));
    all.into_iter().map(|(_, sentence)| sentence).collect()
}

/// "With every commit kept, nothing is compared: lmdb and fjall broke that promise."
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
        let Some(level) = layout.level_of(OwnFactor::Durability.as_str(), condition, first) else {
            continue;
        };
        let is_told = told.iter().any(|(known, _)| *known == level);
        if is_told || cases.iter().any(|case| case.condition == *condition) || kept.len() > 1 {
            continue;
        }
        let lead = StyledText::default().stressed(durability::begin_clause(level) + ",");
        let lead = lead.plain(" nothing is compared: ").then(list_levels(layout, &broken, " and "));
        told.push((level, lead.plain(" broke that promise.")));
    }
    told
}

/// The level was measured in these cases and broke its promise.
fn has_broken_promise(group: &PromiseCases<'_>, layout: &DocumentLayout<'_>) -> bool {
    let broken = |case: &OperationCase<'_>| {
        let contenders = layout.contenders();
        layout.contenders_at(&case.condition).len() < contenders.len()
    };
    group.cases.iter().any(broken)
}

fn build_sentence<'a>(
    group: &PromiseCases<'a>,
    layout: &DocumentLayout<'a>,
    past: bool,
) -> StyledText {
    let kept = if has_broken_promise(group, layout) { ", of those that kept it" } else { "" };
    let lead = group.durability.map(|level| durability::begin_clause(level) + kept);
    let answer = describe_won(group, layout, past)
        .or_else(|| undecided_which(group, layout, past))
        .or_else(|| describe_partly(group, layout, past));
    match (lead, answer) {
        (Some(lead), Some(answer)) => {
            StyledText::default().stressed(lead + ",").plain(" ").then(answer)
        }
        (Some(lead), None) => {
            let finding = continue_sentence(&describe_finding(layout, &group.cases));
            StyledText::default().stressed(lead + ",").plain(format!(" {finding}."))
        }
        (None, Some(answer)) if layout.compare == OwnFactor::Engine => answer,
        (None, Some(answer)) => answer.capital(),
        (None, None) => StyledText::from(
            capitalize_text(layout.document, &describe_finding(layout, &group.cases)) + ".",
        ),
    }
}

/// A name keeps its own letters.
fn continue_sentence(finding: &str) -> String {
    const OWN: [&str; 4] = ["Nothing ", "It depends ", "No level ", "Neither "];
    match OWN.iter().any(|start| finding.starts_with(start)) {
        true => finding[..1].to_lowercase() + &finding[1..],
        false => finding.to_owned(),
    }
}

/// At most this many levels are named that are only slower.
const NAMED: usize = 3;

/// "lmdb is fastest: sqlite takes 1.4 times as long (1.2–1.6); fjall is slower, too."
fn describe_won<'a>(
    group: &PromiseCases<'a>,
    layout: &DocumentLayout<'a>,
    past: bool,
) -> Option<StyledText> {
    let leader = group.winner()?;
    let ranked = group.rank_levels(layout);
    let second = ranked.iter().find(|level| **level != leader)?;
    let leads = group.ratios(layout, leader, second);
    let told = StyledText::default().then(name_level(layout, leader));
    let others: Vec<&str> = ranked.iter().copied().filter(|it| it != second).collect();
    let end = slower_too(group, layout, &others, past).plain(".");
    let Some(merit) = rate_of(layout, &group.cases.iter().collect::<Vec<_>>()) else {
        let (is, takes) =
            if past { (" was fastest: ", " took ") } else { (" is fastest: ", " takes ") };
        let told = told.plain(is).then(name_level(layout, second)).plain(takes);
        return Some(told.then(as_long(&leads, &StyledText::default())?).then(end));
    };
    let leads = without_operations(&leads);
    let told = told
        .plain(if past { " served " } else { " serves " })
        .stressed(format!("{} times", format_ratios(&leads)?))
        .plain(format!(" as many {} a second as ", amount::counted_noun(merit)));
    Some(told.then(name_level(layout, second)).plain(back_ratios(&leads)).then(end))
}

/// "; fjall is slower, too", than the fastest in each case.
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
            let names = list_levels(layout, &behind, " and ");
            StyledText::from("; ").then(names).plain(format!(" {verb} slower, too"))
        }
        number => StyledText::from(format!("; {number} others {verb} slower, too")),
    }
}

/// "sqlite, lmdb or fjall", each with its sign.
fn list_levels(layout: &DocumentLayout<'_>, levels: &[&str], last: &str) -> StyledText {
    let mut told = StyledText::default();
    for (number, level) in levels.iter().enumerate() {
        told = told.plain(match number {
            0 => "",
            n if n + 1 == levels.len() => last,
            _ => ", ",
        });
        told = told.then(name_level(layout, level));
    }
    told
}

/// "lmdb is fastest in create_issue: sqlite takes 1.4 times as long (1.2–1.6); in process_issues it
/// is undecided (0.9–1.3×)."
fn describe_partly<'a>(
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
        .then(name_level(layout, first.leader))
        .plain(format!("{is} fastest in {}: ", words::join_list(&operations)))
        .then(name_level(layout, first.next))
        .plain(takes)
        .then(as_long(&leads, &StyledText::default())?);
    let rest = |case: &&OperationCase| {
        let word = explain_open(&[case.contrast]).unwrap_or(Verdict::Undecided.word());
        format!("; in {} it{is} {word}{}", case.operation, bracket_of_times(&[case.contrast]))
    };
    Some(told.plain(open.iter().map(rest).collect::<String>() + "."))
}

/// "lmdb or sqlite is fastest, undecided which: sqlite takes 0.9–1.2 times as long as lmdb.", where
/// the intervals leave it open.
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
        outcome && is_close && case.contrast.blocks > 1 && case.contrast.is == RatioBound::Exact
    };
    let even = group.cases.iter().all(|case| case.outcome == LeaderOutcome::Even);
    if even || !group.cases.iter().all(is_open) {
        return None;
    }
    let ranked = group.rank_levels(layout);
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
    // The intervals may still show which is faster.
    let is_short = |level: &&str| {
        let contrasts = group.contrasts(layout, first, level);
        contrasts.iter().any(|it| it.verdict == Verdict::ShortOfProcessors)
    };
    if tied.len() < 2 || !rivals().all(held) || rivals().any(is_short) {
        return None;
    }
    let is = if past { "was" } else { "is" };
    let told = list_levels(layout, &tied, " or ").plain(format!(" {is} fastest"));
    let mut told = match tied.as_slice() {
        [first, second] => told.then(describe_between(group, layout, (*first, *second), past)),
        _ => told.plain(": undecided which"),
    };
    if let Some(next) = far.first() {
        let takes = if past { " took " } else { " takes " };
        let than = StyledText::from(" as ").then(name_level(layout, first));
        told = told.plain("; ").then(name_level(layout, next)).plain(takes);
        told = told.then(as_long(&group.ratios(layout, first, next), &than)?);
        told = told.then(not_behind(group, layout, next, &tied[1..]));
    }
    Some(told.plain("."))
}

/// ", undecided which: sqlite takes 0.9–1.2 times as long as lmdb", over all operations.
fn describe_between<'a>(
    group: &PromiseCases<'a>,
    layout: &DocumentLayout<'a>,
    (first, second): (&str, &str),
    past: bool,
) -> StyledText {
    let rate = rate_of(layout, &group.cases.iter().collect::<Vec<_>>()).map(amount::counted_noun);
    let contrasts = group.contrasts(layout, first, second).into_iter();
    let shown = |it: Contrast| if rate.is_some() { it.with_inverse_ratio() } else { it };
    let contrasts: Vec<Contrast> = contrasts.map(shown).collect();
    let Some(ends) = both_ends(&contrasts) else {
        return StyledText::from(format!(": undecided which{}", format_bracket(&contrasts)));
    };
    let (verb, how) = match (rate, past) {
        (None, true) => ("took", "as long".to_owned()),
        (None, false) => ("takes", "as long".to_owned()),
        (Some(what), true) => ("served", format!("as many {what} a second")),
        (Some(what), false) => ("serves", format!("as many {what} a second")),
    };
    let told = StyledText::from(", undecided which: ").then(name_level(layout, second));
    told.plain(format!(" {verb} {ends} times {how} as ")).then(name_level(layout, first))
}

/// "; fjall against sqlite: undecided", for each level that is not shown to be slower.
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
        told = told.plain("; ").then(name_level(layout, level)).plain(" against ");
        told = told.then(name_level(layout, other)).plain(format!(": {}", open_word(&contrasts)));
    }
    told
}
