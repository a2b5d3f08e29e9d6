//! How each level of a compared factor stands to the first one over many cells: what it takes away or adds.
//!
//! Of engines a reader asks which is fastest. Of the steps of a page, of memory or of disks that says little: the
//! one that does the least, or costs the most, often is. There the range of the ratios is told, and where its ends
//! are; or, of a level that is faster here and slower there, what that depends on.

use bakeoff_analysis::{RatioIs, Verdict};
use bakeoff_results::FigureOfMerit;

use super::{all, rate_of};
use crate::amount;
use crate::layout::DocumentLayout;
use crate::leads::figures;
use crate::verdict::{Contrast, LeaderOutcome, OperationCase};
use crate::words;

/// A level beside the first one, at the operation and condition of a case.
struct CaseContrast<'b, 'a> {
    case: &'b OperationCase<'a>,
    /// How many times slower the level is.
    contrast: Contrast,
}

/// A clause for each level but the first. `None` where engines are compared, where there are few cells, where one
/// of two levels is fastest throughout, and where no level is shown to be faster or slower than the first.
pub fn against<'a>(layout: &DocumentLayout<'a>, cases: &[OperationCase<'a>]) -> Option<String> {
    let contenders = layout.contenders();
    let leader = cases.first()?.leader;
    let won = |case: &OperationCase| case.outcome == LeaderOutcome::Won && case.leader == leader;
    let is_plain = contenders.len() == 2 && cases.iter().all(won);
    if layout.compare == "engine" || cases.len() < 2 || is_plain {
        return None;
    }
    let baseline = layout.document.run.run.baseline.as_str();
    let rate = rate_of(layout, &cases.iter().collect::<Vec<_>>());
    let mut clauses = Vec::new();
    let mut is_any_decided = false;
    for level in contenders.into_iter().filter(|level| *level != baseline) {
        let pair = |case| pair(layout, baseline, level, case);
        let pairs: Vec<CaseContrast> = cases.iter().filter_map(pair).collect();
        if pairs.is_empty() {
            continue;
        }
        let names = [level, baseline].map(|it| words::contender(layout.compare, it));
        let (faster, slower) =
            (pairs_with(&pairs, Verdict::Faster), pairs_with(&pairs, Verdict::Slower));
        is_any_decided |= !faster.is_empty() || !slower.is_empty();
        clauses.push(match (faster.is_empty(), slower.is_empty()) {
            (false, false) => turned(layout, &names, &pairs),
            _ => one_way(layout, &names, &pairs, (rate, clauses.is_empty())),
        });
    }
    is_any_decided.then(|| clauses.join("; "))
}

fn pair<'b, 'a>(
    layout: &DocumentLayout<'a>,
    baseline: &str,
    level: &str,
    case: &'b OperationCase<'a>,
) -> Option<CaseContrast<'b, 'a>> {
    let comparison = layout.pair(case.operation, &case.condition, baseline, level)?;
    Some(CaseContrast { case, contrast: Contrast::from_comparison(&comparison)? })
}

/// The pairs that have this verdict.
fn pairs_with<'p, 'b, 'a>(
    pairs: &'p [CaseContrast<'b, 'a>],
    verdict: Verdict,
) -> Vec<&'p CaseContrast<'b, 'a>> {
    pairs.iter().filter(|pair| pair.contrast.verdict == verdict).collect()
}

/// "step stub serves 1.0 to 39 times as many requests a second as step read+write (more in 22 of 30 comparisons, most
/// with 500 clients and postgres)"; of all but the first clause "step read 0.99 to 1.4 times (undecided in all 30
/// comparisons)".
fn one_way<'a>(
    layout: &DocumentLayout<'a>,
    [name, other]: &[String; 2],
    pairs: &[CaseContrast<'_, 'a>],
    (rate, is_first): (Option<FigureOfMerit>, bool),
) -> String {
    let is_faster = !pairs_with(pairs, Verdict::Faster).is_empty();
    let (verb, what, [more, most]) = match (rate.map(amount::counted), is_faster) {
        (Some(what), true) => ("serves ", format!(" as many {what} a second"), ["more", "most"]),
        (Some(what), false) => {
            ("serves ", format!(" as many {what} a second"), ["fewer", "fewest"])
        }
        (None, true) => ("is ", " as fast".to_owned(), ["faster", "fastest"]),
        (None, false) => ("takes ", " as long".to_owned(), ["slower", "slowest"]),
    };
    let turn = rate.is_some() || is_faster;
    let shown =
        |pair: &CaseContrast<'_, 'a>| if turn { pair.contrast.turned() } else { pair.contrast };
    let contrasts: Vec<Contrast> = pairs.iter().map(shown).collect();
    let range = figures(&contrasts).unwrap_or_default();
    // Of a rate each clause goes on with what the first one has said.
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
        furthest.filter(|_| decided > 0 && contrasts.iter().all(|it| it.is == RatioIs::Exact));
    let place = place.and_then(|it| place_of(layout, it, pairs));
    let place = place.map_or_else(String::new, |place| format!(", {most} {place}"));
    format!("{name} {verb}{range} times{what}{other} ({}{place})", tally(pairs, more))
}

/// "in create_issue with 4 clients and sqlite": what sets a pair's cell apart; `None` of the only one.
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
        levels.map(|(_, (factor, level))| words::level(factor, level)).collect();
    let levels = (!levels.is_empty()).then(|| format!("with {}", words::list(&levels)));
    let parts: Vec<String> = operation.into_iter().chain(levels).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// "more in 22 of 30 comparisons"; "more in all 6 comparisons"; of none that is decided "the same within 5 % in 9 of 30
/// comparisons", "undecided in all 30 comparisons" or "void in all 3 comparisons".
fn tally(pairs: &[CaseContrast<'_, '_>], word: &str) -> String {
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
        return format!("{word} in {}", all(number));
    }
    format!("{word} in {number} of {} comparisons", pairs.len())
}

/// "memory 1G against memory 256M depends on clients: faster with 64 clients (1.4 to 2.0 times as fast), slower with 1
/// client (1.2 times as long)"; where no single factor tells, how often it is which.
fn turned<'a>(
    layout: &DocumentLayout<'a>,
    [name, other]: &[String; 2],
    pairs: &[CaseContrast<'_, 'a>],
) -> String {
    // Two factors that explain the directions equally well explain nothing.
    let mut splits = splits(layout, pairs);
    if let (Some((factor, [faster, slower])), true) = (splits.pop(), splits.is_empty()) {
        let times = |verdict: Verdict, turn: bool| {
            let shown =
                |pair: &&CaseContrast| if turn { pair.contrast.turned() } else { pair.contrast };
            let contrasts: Vec<Contrast> = pairs_with(pairs, verdict).iter().map(shown).collect();
            figures(&contrasts).unwrap_or_default()
        };
        return format!(
            "{name} against {other} depends on {factor}: faster {} ({} times as fast), slower {} ({} times as long)",
            words::list(&faster),
            times(Verdict::Faster, true),
            words::list(&slower),
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

/// The factors, or the operation, at each of whose levels all decided pairs say the same; with the levels that are
/// faster, and those that are slower.
fn splits<'a>(
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
                _ => format!("with {}", words::level(factor, level)),
            });
        }
        let subject = if number == 0 { "the operation" } else { factor };
        Some((subject.to_owned(), sides))
    };
    factors.enumerate().filter_map(split).collect()
}
