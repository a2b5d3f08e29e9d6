//! Words for findings of one promise under one condition.

use bakeoff_analysis::answer::{
    AnswerFinding, FindingKind, PartlyFastest, SlowerThanTied, TiedLevels,
};
use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{Contrast, OperationCase, Verdict, find_open_reason};

use crate::amount;
use crate::block::StyledText;
use crate::ratio_words::{
    as_long, back_ratios, both_ends, bracket_of_times, format_bracket, format_ratios, name_level,
    open_word, without_operations,
};
use crate::words;

/// "With every commit kept, nothing is compared: lmdb and fjall broke that promise."
pub fn describe_broken(layout: &DocumentLayout<'_>, lead: &str, levels: &[&str]) -> StyledText {
    let told = StyledText::default().stressed(format!("{lead},")).plain(" nothing is compared: ");
    told.then(list_levels(layout, levels, " and ")).plain(" broke that promise.")
}

/// At most this many levels are named that are only slower.
const NAMED: usize = 3;

/// "lmdb is fastest: sqlite takes 1.4 times as long (1.2–1.6); fjall is slower, too."
pub fn describe_fastest(
    layout: &DocumentLayout<'_>,
    finding: &AnswerFinding<'_>,
    past: bool,
) -> StyledText {
    let FindingKind::Fastest { leader, second, leads, slower } = &finding.kind else {
        return StyledText::default();
    };
    let told = name_level(layout, leader);
    let end = slower_too(layout, slower, past).plain(".");
    let Some(merit) = layout.shared_rate(&finding.cases) else {
        let (is, takes) =
            if past { (" was fastest: ", " took ") } else { (" is fastest: ", " takes ") };
        let told = told.plain(is).then(name_level(layout, second)).plain(takes);
        return told.then(as_long(leads, &StyledText::default()).unwrap_or_default()).then(end);
    };
    let leads = without_operations(leads);
    let told = told
        .plain(if past { " served " } else { " serves " })
        .stressed(format!("{} times", format_ratios(&leads).unwrap_or_default()))
        .plain(format!(" as many {} a second as ", amount::counted_noun(merit)));
    told.then(name_level(layout, second)).plain(back_ratios(&leads)).then(end)
}

/// "; fjall is slower, too".
fn slower_too(layout: &DocumentLayout<'_>, slower: &[&str], past: bool) -> StyledText {
    let verb = match (slower.len(), past) {
        (1, true) => "was",
        (1, false) => "is",
        (_, true) => "were",
        (_, false) => "are",
    };
    match slower.len() {
        0 => StyledText::default(),
        1..=NAMED => {
            let names = list_levels(layout, slower, " and ");
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
pub fn describe_partly_fastest(
    layout: &DocumentLayout<'_>,
    PartlyFastest { leader, next, leads, open }: &PartlyFastest<'_>,
    past: bool,
) -> StyledText {
    let operations: Vec<&str> = leads.iter().map(|(operation, _)| *operation).collect();
    let (is, takes) = if past { (" was", " took ") } else { (" is", " takes ") };
    let reason = find_open_reason(&[open.contrast]).unwrap_or(Verdict::Undecided).word();
    let interval = bracket_of_times(&[open.contrast]);
    name_level(layout, leader)
        .plain(format!("{is} fastest in {}: ", words::join_list(&operations)))
        .then(name_level(layout, next))
        .plain(takes)
        .then(as_long(leads, &StyledText::default()).unwrap_or_default())
        .plain(format!("; in {} it{is} {reason}{interval}.", open.operation))
}

/// "lmdb or sqlite is fastest, undecided which: sqlite takes 0.9–1.2 times as long as lmdb."
pub fn describe_tied<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    tied: &TiedLevels<'a>,
    past: bool,
) -> StyledText {
    let is = if past { "was" } else { "is" };
    let mut told = list_levels(layout, &tied.levels, " or ").plain(format!(" {is} fastest"));
    told = match tied.levels.as_slice() {
        [_, _] => told.then(describe_between(layout, cases, tied, past)),
        _ => told.plain(": undecided which"),
    };
    if let Some(next) = &tied.next {
        told = told.plain("; ").then(describe_slower(layout, tied.levels[0], next, past));
    }
    told.plain(".")
}

/// "fjall takes 1.6 times as long as lmdb (1.4–1.8); fjall against sqlite: undecided".
fn describe_slower(
    layout: &DocumentLayout<'_>,
    first: &str,
    SlowerThanTied { level, ratios, open }: &SlowerThanTied<'_>,
    past: bool,
) -> StyledText {
    let takes = if past { " took " } else { " takes " };
    let than = StyledText::from(" as ").then(name_level(layout, first));
    let name = || name_level(layout, level);
    let mut told = name().plain(takes).then(as_long(ratios, &than).unwrap_or_default());
    for (other, contrasts) in open {
        told = told.plain("; ").then(name()).plain(" against ").then(name_level(layout, other));
        told = told.plain(format!(": {}", open_word(contrasts)));
    }
    told
}

/// ", undecided which: sqlite takes 0.9–1.2 times as long as lmdb", over all operations.
fn describe_between<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    TiedLevels { levels, between, .. }: &TiedLevels<'a>,
    past: bool,
) -> StyledText {
    let rate = layout.shared_rate(cases).map(amount::counted_noun);
    let shown = |it: &Contrast| if rate.is_some() { it.with_inverse_ratio() } else { *it };
    let contrasts: Vec<Contrast> = between.iter().map(shown).collect();
    let Some(ends) = both_ends(&contrasts) else {
        return StyledText::from(format!(": undecided which{}", format_bracket(&contrasts)));
    };
    let (verb, how) = match (rate, past) {
        (None, true) => ("took", "as long".to_owned()),
        (None, false) => ("takes", "as long".to_owned()),
        (Some(what), true) => ("served", format!("as many {what} a second")),
        (Some(what), false) => ("serves", format!("as many {what} a second")),
    };
    let told = StyledText::from(", undecided which: ").then(name_level(layout, levels[1]));
    told.plain(format!(" {verb} {ends} times {how} as ")).then(name_level(layout, levels[0]))
}
