//! Compares each level of a factor other than the engine with the first one, over many cells.
//!
//! For engines, a reader asks which is fastest. For memory or disks that says little: these
//! sentences give the range of the ratios and the places of its ends, or the factor that decides
//! between faster and slower.

use bakeoff_analysis::{RatioBound, Verdict};
use bakeoff_results::{FigureOfMerit, OwnFactor};

use super::{name_all, rate_of};
use crate::amount;
use crate::layout::DocumentLayout;
use crate::promise_cases::format_ratios;
use crate::verdict::{Contrast, LeaderOutcome, OperationCase};
use crate::words;

struct CaseContrast<'b, 'a> {
    case: &'b OperationCase<'a>,
    contrast: Contrast,
}

/// A clause for each level but the first. `None` where engines are compared, cells are few, one of
/// two levels is always fastest, or no level is shown to differ.
pub fn describe_levels<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
) -> Option<String> {
    let contenders = layout.contenders();
    let leader = cases.first()?.leader;
    let won = |case: &OperationCase| case.outcome == LeaderOutcome::Won && case.leader == leader;
    let is_plain = contenders.len() == 2 && cases.iter().all(won);
    if layout.compare == OwnFactor::Engine || cases.len() < 2 || is_plain {
        return None;
    }
    let baseline = layout.document.run.run.baseline.as_str();
    let rate = rate_of(layout, &cases.iter().collect::<Vec<_>>());
    let mut clauses = Vec::new();
    let mut is_any_decided = false;
    for level in contenders.into_iter().filter(|level| *level != baseline) {
        let pair = |case| find_pair(layout, baseline, level, case);
        let pairs: Vec<CaseContrast> = cases.iter().filter_map(pair).collect();
        if pairs.is_empty() {
            continue;
        }
        let names = [level, baseline].map(|it| words::name_contender(layout.compare, it));
        let (faster, slower) =
            (pairs_with(&pairs, Verdict::Faster), pairs_with(&pairs, Verdict::Slower));
        is_any_decided |= !faster.is_empty() || !slower.is_empty();
        clauses.push(match (faster.is_empty(), slower.is_empty()) {
            (false, false) => describe_turned(layout, &names, &pairs),
            _ => one_way(layout, &names, &pairs, (rate, clauses.is_empty())),
        });
    }
    is_any_decided.then(|| clauses.join("; "))
}

fn find_pair<'b, 'a>(
    layout: &DocumentLayout<'a>,
    baseline: &str,
    level: &str,
    case: &'b OperationCase<'a>,
) -> Option<CaseContrast<'b, 'a>> {
    let comparison = layout.pair(case.operation, &case.condition, baseline, level)?;
    Some(CaseContrast { case, contrast: Contrast::from_comparison(&comparison)? })
}

fn pairs_with<'p, 'b, 'a>(
    pairs: &'p [CaseContrast<'b, 'a>],
    verdict: Verdict,
) -> Vec<&'p CaseContrast<'b, 'a>> {
    pairs.iter().filter(|pair| pair.contrast.verdict == verdict).collect()
}

/// "step stub serves 1.0 to 39 times as many requests a second as step read+write (more in 22 of 30
/// comparisons, most with 500 clients and postgres)"; later clauses "step read 0.99 to 1.4 times
/// (undecided in all 30 comparisons)".
fn one_way<'a>(
    layout: &DocumentLayout<'a>,
    [name, other]: &[String; 2],
    pairs: &[CaseContrast<'_, 'a>],
    (rate, is_first): (Option<FigureOfMerit>, bool),
) -> String {
    let is_faster = !pairs_with(pairs, Verdict::Faster).is_empty();
    let (verb, what, [more, most]) = match (rate.map(amount::counted_noun), is_faster) {
        (Some(what), true) => ("serves ", format!(" as many {what} a second"), ["more", "most"]),
        (Some(what), false) => {
            ("serves ", format!(" as many {what} a second"), ["fewer", "fewest"])
        }
        (None, true) => ("is ", " as fast".to_owned(), ["faster", "fastest"]),
        (None, false) => ("takes ", " as long".to_owned(), ["slower", "slowest"]),
    };
    let turn = rate.is_some() || is_faster;
    let shown = |pair: &CaseContrast<'_, 'a>| {
        if turn { pair.contrast.with_inverse_ratio() } else { pair.contrast }
    };
    let contrasts: Vec<Contrast> = pairs.iter().map(shown).collect();
    let range = format_ratios(&contrasts).unwrap_or_default();
    // Of a rate, later clauses go on with the first one's words.
    let (verb, what) = if rate.is_some() && !is_first { ("", String::new()) } else { (verb, what) };
    let other = if is_first { format!(" as {other}") } else { String::new() };
    let by_ratio = |one: &&CaseContrast<'_, 'a>, next: &&CaseContrast<'_, 'a>| {
        one.contrast.ratio.total_cmp(&next.contrast.ratio)
    };
    let furthest = match is_faster {
        true => pairs.iter().min_by(by_ratio),
        false => pairs.iter().max_by(by_ratio),
    };
    let decided =
        pairs_with(pairs, Verdict::Faster).len() + pairs_with(pairs, Verdict::Slower).len();
    let place =
        furthest.filter(|_| decided > 0 && contrasts.iter().all(|it| it.is == RatioBound::Exact));
    let place = place.and_then(|it| place_of(layout, it, pairs));
    let place = place.map_or_else(String::new, |place| format!(", {most} {place}"));
    format!("{name} {verb}{range} times{what}{other} ({}{place})", count_verdicts(pairs, more))
}

/// "in create_issue with 4 clients and sqlite"; `None` for the only cell.
fn place_of<'a>(
    layout: &DocumentLayout<'a>,
    pair: &CaseContrast<'_, 'a>,
    all: &[CaseContrast<'_, 'a>],
) -> Option<String> {
    let OperationCase { operation, condition, .. } = pair.case;
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
fn count_verdicts(pairs: &[CaseContrast<'_, '_>], word: &str) -> String {
    let decided =
        pairs_with(pairs, Verdict::Faster).len() + pairs_with(pairs, Verdict::Slower).len();
    let same = pairs_with(pairs, Verdict::Same).len();
    let (word, number) = match (decided, same) {
        (0, 0) if pairs_with(pairs, Verdict::Void).len() == pairs.len() => ("void", pairs.len()),
        (0, 0) => ("undecided", pairs.len()),
        (0, same) => ("the same within 5 %", same),
        (decided, _) => (word, decided),
    };
    if number == pairs.len() {
        return format!("{word} in {}", name_all(number));
    }
    format!("{word} in {number} of {} comparisons", pairs.len())
}

/// "memory 1G against memory 256M depends on clients: faster with 64 clients (1.4 to 2.0 times as
/// fast), slower with 1 client (1.2 times as long)"; without such a factor, how often it is which.
fn describe_turned<'a>(
    layout: &DocumentLayout<'a>,
    [name, other]: &[String; 2],
    pairs: &[CaseContrast<'_, 'a>],
) -> String {
    // Two factors that explain it equally well explain nothing.
    let mut splits = find_splits(layout, pairs);
    if let (Some((factor, [faster, slower])), true) = (splits.pop(), splits.is_empty()) {
        let times = |verdict: Verdict, turn: bool| {
            let shown = |pair: &&CaseContrast| {
                if turn { pair.contrast.with_inverse_ratio() } else { pair.contrast }
            };
            let contrasts: Vec<Contrast> = pairs_with(pairs, verdict).iter().map(shown).collect();
            format_ratios(&contrasts).unwrap_or_default()
        };
        return format!(
            "{name} against {other} depends on {factor}: faster {} ({} times as fast), slower {} ({} times as long)",
            words::join_list(&faster),
            times(Verdict::Faster, true),
            words::join_list(&slower),
            times(Verdict::Slower, false)
        );
    }
    format!(
        "{name} is faster than {other} in {} of {} comparisons and slower in {}",
        pairs_with(pairs, Verdict::Faster).len(),
        pairs.len(),
        pairs_with(pairs, Verdict::Slower).len()
    )
}

/// Factors, or the operation, at each of whose levels all decided pairs agree; with the levels that
/// are faster and slower.
fn find_splits<'a>(
    layout: &DocumentLayout<'a>,
    pairs: &[CaseContrast<'_, 'a>],
) -> Vec<(String, [Vec<String>; 2])> {
    let factors = std::iter::once("operation").chain(layout.varying.iter().copied());
    let split = |(number, factor): (usize, &'a str)| {
        let level_of = |pair: &CaseContrast<'_, 'a>| match number {
            0 => pair.case.operation,
            number => pair.case.condition[number - 1],
        };
        let mut levels: Vec<&'a str> = Vec::new();
        for level in pairs.iter().map(level_of) {
            if !levels.contains(&level) {
                levels.push(level);
            }
        }
        let mut sides = [Vec::new(), Vec::new()];
        for level in levels {
            let here = || pairs.iter().filter(|pair| level_of(pair) == level);
            let says = |wanted: Verdict| here().any(|pair| pair.contrast.verdict == wanted);
            let side = match (says(Verdict::Faster), says(Verdict::Slower)) {
                (true, false) => &mut sides[0],
                (false, true) => &mut sides[1],
                _ => return None,
            };
            side.push(match number {
                0 => format!("in {level}"),
                _ => format!("with {}", words::phrase_level(factor, level)),
            });
        }
        let subject = if number == 0 { "the operation" } else { factor };
        Some((subject.to_owned(), sides))
    };
    factors.enumerate().filter_map(split).collect()
}
