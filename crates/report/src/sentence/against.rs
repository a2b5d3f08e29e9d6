//! Words for each level of a factor other than the engine against the first one, over many cases.

use bakeoff_analysis::answer::{CaseContrast, FactorSplit, LevelAgainstFirst};
use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{Contrast, OperationCase, RatioBound, Verdict};
use bakeoff_results::FigureOfMerit;

use super::case_words::name_all;
use crate::amount;
use crate::ratio_words::format_ratios;
use crate::words;

/// A clause for each level but the first.
pub fn describe_levels<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    levels: &[LevelAgainstFirst<'a>],
) -> String {
    let rate = layout.shared_rate(cases);
    let clause = |(number, level): (usize, &LevelAgainstFirst<'a>)| match level.is_turned() {
        true => describe_turned(layout, level),
        false => one_way(layout, level, (rate, number == 0)),
    };
    levels.iter().enumerate().map(clause).collect::<Vec<_>>().join("; ")
}

fn name_both(layout: &DocumentLayout<'_>, level: &LevelAgainstFirst<'_>) -> [String; 2] {
    [level.level, level.first].map(|it| words::name_contender(layout.compare, it))
}

/// "step stub serves 1.0 to 39 times as many requests a second as step read+write (more in 22 of 30
/// comparisons, most with 500 clients and postgres)"; later clauses "step read 0.99 to 1.4 times
/// (undecided in all 30 comparisons)".
fn one_way<'a>(
    layout: &DocumentLayout<'a>,
    level: &LevelAgainstFirst<'a>,
    (rate, is_first): (Option<FigureOfMerit>, bool),
) -> String {
    let [name, other] = name_both(layout, level);
    let pairs = &level.pairs;
    let is_faster = level.count(Verdict::Faster) > 0;
    let (verb, what, [more, most]) = match (rate.map(amount::counted_noun), is_faster) {
        (Some(what), true) => ("serves ", format!(" as many {what} a second"), ["more", "most"]),
        (Some(what), false) => {
            ("serves ", format!(" as many {what} a second"), ["fewer", "fewest"])
        }
        (None, true) => ("is ", " as fast".to_owned(), ["faster", "fastest"]),
        (None, false) => ("takes ", " as long".to_owned(), ["slower", "slowest"]),
    };
    let turn = rate.is_some() || is_faster;
    let shown = |pair: &CaseContrast<'a>| {
        if turn { pair.contrast.with_inverse_ratio() } else { pair.contrast }
    };
    let contrasts: Vec<Contrast> = pairs.iter().map(shown).collect();
    let range = format_ratios(&contrasts).unwrap_or_default();
    // Of a rate, later clauses go on with the first one's words.
    let (verb, what) = if rate.is_some() && !is_first { ("", String::new()) } else { (verb, what) };
    let other = if is_first { format!(" as {other}") } else { String::new() };
    let by_ratio = |one: &&CaseContrast<'a>, next: &&CaseContrast<'a>| {
        one.contrast.ratio.total_cmp(&next.contrast.ratio)
    };
    let furthest = match is_faster {
        true => pairs.iter().min_by(by_ratio),
        false => pairs.iter().max_by(by_ratio),
    };
    let decided = level.count(Verdict::Faster) + level.count(Verdict::Slower);
    let place =
        furthest.filter(|_| decided > 0 && contrasts.iter().all(|it| it.is == RatioBound::Exact));
    let place = place.and_then(|it| place_of(layout, it, pairs));
    let place = place.map_or_else(String::new, |place| format!(", {most} {place}"));
    format!("{name} {verb}{range} times{what}{other} ({}{place})", count_verdicts(level, more))
}

/// "in create_issue with 4 clients and sqlite"; `None` for the only cell.
fn place_of<'a>(
    layout: &DocumentLayout<'a>,
    pair: &CaseContrast<'a>,
    all: &[CaseContrast<'a>],
) -> Option<String> {
    let OperationCase { operation, condition, .. } = &pair.case;
    let several = all.iter().any(|other| other.case.operation != *operation);
    let operation = several.then(|| format!("in {operation}"));
    let varies =
        |number: usize| all.iter().any(|other| other.case.condition[number] != condition[number]);
    let levels = layout.varying.iter().zip(condition).enumerate();
    let levels = levels.filter(|(number, _)| varies(*number));
    let levels: Vec<String> =
        levels.map(|(_, (factor, level))| words::phrase_level(factor, level)).collect();
    let levels = (!levels.is_empty()).then(|| format!("with {}", words::join_list(&levels)));
    let parts: Vec<String> = operation.into_iter().chain(levels).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// "more in 22 of 30 comparisons", "undecided in all 30 comparisons".
fn count_verdicts(level: &LevelAgainstFirst<'_>, word: &str) -> String {
    let all = level.pairs.len();
    let decided = level.count(Verdict::Faster) + level.count(Verdict::Slower);
    let (word, number) = match (decided, level.count(Verdict::Same)) {
        (0, 0) if level.count(Verdict::Void) == all => ("void", all),
        (0, 0) => ("undecided", all),
        (0, same) => ("the same within 5 %", same),
        (decided, _) => (word, decided),
    };
    match number == all {
        true => format!("{word} in {}", name_all(number)),
        false => format!("{word} in {number} of {all} comparisons"),
    }
}

/// "memory 1G against memory 256M depends on clients: faster with 64 clients (1.4 to 2.0 times as
/// fast), slower with 1 client (1.2 times as long)"; without such a factor, how often it is which.
fn describe_turned<'a>(layout: &DocumentLayout<'a>, level: &LevelAgainstFirst<'a>) -> String {
    let [name, other] = name_both(layout, level);
    let Some(split) = &level.split else {
        return format!(
            "{name} is faster than {other} in {} of {} comparisons and slower in {}",
            level.count(Verdict::Faster),
            level.pairs.len(),
            level.count(Verdict::Slower)
        );
    };
    let faster: Vec<Contrast> =
        level.contrasts_with(Verdict::Faster).map(Contrast::with_inverse_ratio).collect();
    let slower: Vec<Contrast> = level.contrasts_with(Verdict::Slower).collect();
    let [faster, slower] = [faster, slower].map(|it| format_ratios(&it).unwrap_or_default());
    format!(
        "{name} against {other} depends on {}: faster {} ({faster} times as fast), slower {} ({slower} times as long)",
        split.factor.unwrap_or("the operation"),
        name_places(split, &split.faster),
        name_places(split, &split.slower),
    )
}

fn name_places(split: &FactorSplit<'_>, levels: &[&str]) -> String {
    let place = |level: &&str| match split.factor {
        None => format!("in {level}"),
        Some(factor) => format!("with {}", words::phrase_level(factor, level)),
    };
    words::join_list(&levels.iter().map(place).collect::<Vec<_>>())
}
