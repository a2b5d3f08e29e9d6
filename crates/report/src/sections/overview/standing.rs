//! How a level of the first chart stands against another, in words.

use bakeoff_analysis::{Contrast, Verdict};
use bakeoff_results::FigureOfMerit;

use crate::block::ReportCell;
use crate::figures::NONE;
use crate::layout::DocumentLayout;
use crate::leads::{
    PromiseCases, Ratio, all_operations, bare, bracket, bracket_of_times, figures, in_all,
    intervals, one_by_one_in_a_cell, open_word, wordless,
};
use crate::verdict::LeaderOutcome;

/// What stands beside levels that are the same.
const EVEN: &str = "as fast, within 5 %";

/// How a level stands against the fastest of its condition, and against the one above it.
pub fn against<'a>(
    layout: &DocumentLayout<'a>,
    group: &PromiseCases<'a>,
    level: &'a str,
) -> ReportCell {
    let ranked = group.ranked(layout);
    let place = ranked.iter().position(|it| *it == level).filter(|_| !group.cases.is_empty());
    let Some((place, first)) = place.zip(ranked.first().copied()) else { return NONE.into() };
    if place == 0 {
        return match group.winner() {
            Some(winner) if winner == level => "fastest".into(),
            _ if group.cases.iter().all(|case| case.outcome == LeaderOutcome::Even) => EVEN.into(),
            _ => {
                let why = why_no_winner(layout, group, first, &ranked);
                format!("{}, {why}", best_mean(layout, group, first)).into()
            }
        };
    }
    let above = ranked[place - 1];
    let to = |other| group.contrasts(layout, other, level);
    let is_slower_than = |other| is_slower(&to(other), group);
    let close = (above != first && is_slower_than(first) && !is_slower_than(above))
        .then(|| format!("{} against {above}", open_word(&to(above))));
    let (text, intervals) = standing(layout, group, first, level);
    let asides: Vec<String> = intervals.into_iter().chain(close).collect();
    let aside = (!asides.is_empty()).then(|| asides.join("; "));
    ReportCell { aside, ..text.into() }
}

/// "best mean"; "best mean over both operations" where another level has a better one in one of them.
fn best_mean<'a>(layout: &DocumentLayout<'a>, group: &PromiseCases<'a>, first: &'a str) -> String {
    match group.is_best_in_each(layout, first) {
        true => "best mean".into(),
        false => format!("best mean over {}", all_operations(group.cases.len())),
    }
}

/// The word of the pair of the first two, which is no winner's.
fn why_no_winner<'a>(
    layout: &DocumentLayout<'a>,
    group: &PromiseCases<'a>,
    first: &str,
    ranked: &[&'a str],
) -> &'static str {
    let pair = ranked.get(1).map(|second| group.contrasts(layout, first, second));
    pair.and_then(|it| wordless(&it)).unwrap_or(Verdict::Undecided.word())
}

/// Whether the levels of a group are compared by a rate.
fn is_by_rate<'a>(layout: &DocumentLayout<'a>, group: &PromiseCases<'a>) -> bool {
    let merit = group.cases.first().and_then(|it| layout.merit(it.operation, &it.condition));
    merit.is_some_and(FigureOfMerit::is_rate)
}

fn is_slower(contrasts: &[Contrast], group: &PromiseCases<'_>) -> bool {
    contrasts.len() == group.cases.len() && contrasts.iter().all(|it| it.verdict == Verdict::Slower)
}

/// "1.4× as long (1.2–1.6)", and of several operations apart from it "in both operations"; "undecided (0.96–1.1×)",
/// "undecided: 1.4× as long (1.1–1.7)" where it would be told by itself and is not among so many comparisons; of a
/// few operations that don't round alike "5.6× and 3.6× as long", and
/// apart from it "create_issue (1.9–17), process_issues (1.6–8.1)"; of more "2.0 to 3.0× as long", and apart from it
/// "all 95 % intervals lie within 1.8–3.3". Of a rate "0.42× as much
/// (0.37–0.48)".
pub fn standing<'a>(
    layout: &DocumentLayout<'a>,
    group: &PromiseCases<'a>,
    other: &str,
    level: &str,
) -> (String, Option<String>) {
    let by_rate = is_by_rate(layout, group);
    let ratios = group.ratios(layout, other, level);
    let contrasts = &bare(&ratios)[..];
    if let Some(reason) = wordless(contrasts) {
        return (reason.to_owned(), None);
    }
    if ratios.is_empty() {
        return ("no pair".into(), None);
    }
    let turned = ratios.iter().map(|(operation, it)| (*operation, it.turned()));
    let turned: Vec<Ratio<'_>> = turned.collect();
    let slower = || if by_rate { times("much", &turned) } else { times("long", &ratios) };
    let of_all = contrasts.len() == group.cases.len();
    if of_all && contrasts.iter().all(|it| it.verdict == Verdict::Faster) {
        return times(if by_rate { "much" } else { "fast" }, &turned);
    }
    if is_slower(contrasts, group) {
        return slower();
    }
    // Each would be told by itself, and not among so many.
    let apart = |it: &Contrast| {
        it.blocks > 1 && matches!(it.ends, (Some(low), Some(high)) if low > 1.0 || high < 1.0)
    };
    if of_all && contrasts.iter().all(apart) {
        let (text, intervals) = slower();
        return (format!("undecided: {text}"), intervals);
    }
    let shown = &bare(if by_rate { &turned } else { &ratios })[..];
    let text = if contrasts.iter().all(|it| it.verdict == Verdict::Same) {
        format!("{EVEN}{}", bracket(shown))
    } else if contrasts.iter().all(|it| it.blocks < 2) {
        "one block alone".to_owned()
    } else {
        format!("undecided{}", bracket_of_times(shown))
    };
    (text, None)
}

/// How many times as much, and the intervals where they don't stand behind one figure; or that it is of each operation.
fn times(how: &str, ratios: &[Ratio<'_>]) -> (String, Option<String>) {
    if let Some((times, intervals)) = one_by_one_in_a_cell(ratios) {
        return (format!("{times} as {how}"), Some(intervals));
    }
    let contrasts = &bare(ratios)[..];
    match (figures(contrasts).unwrap_or_default(), intervals(contrasts)) {
        (times, None) => (format!("{times}× as {how}{}", bracket(contrasts)), in_all(ratios)),
        (times, intervals) => (format!("{times}× as {how}"), intervals),
    }
}
