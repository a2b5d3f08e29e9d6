//! Compares a level of the first chart with another, in words.

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{Contrast, LeaderOutcome, PromiseCases, Ratio, Verdict, find_open_reason};
use bakeoff_results::FigureOfMerit;

use crate::block::ReportCell;
use crate::figures::NONE;
use crate::ratio_words::{
    all_operations, bracket_of_times, describe_intervals, format_bracket, format_ratios, in_all,
    one_by_one_in_a_cell, open_word, without_operations,
};

const EVEN: &str = "as fast, within 5 %";

/// Against the fastest of its condition, and the one above it.
pub fn describe_level<'a>(
    layout: &DocumentLayout<'a>,
    group: &PromiseCases<'a>,
    level: &'a str,
) -> ReportCell {
    let ranked = group.rank_levels(layout);
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
    let (text, intervals) = compare_levels(layout, group, first, level);
    let asides: Vec<String> = intervals.into_iter().chain(close).collect();
    let aside = (!asides.is_empty()).then(|| asides.join("; "));
    ReportCell { aside, ..text.into() }
}

/// "best mean", or "best mean over both operations" where another level is better in one.
fn best_mean<'a>(layout: &DocumentLayout<'a>, group: &PromiseCases<'a>, first: &'a str) -> String {
    match group.is_best_in_each(layout, first) {
        true => "best mean".into(),
        false => format!("best mean over {}", all_operations(group.cases.len())),
    }
}

fn why_no_winner<'a>(
    layout: &DocumentLayout<'a>,
    group: &PromiseCases<'a>,
    first: &str,
    ranked: &[&'a str],
) -> &'static str {
    let pair = ranked.get(1).map(|second| group.contrasts(layout, first, second));
    pair.and_then(|it| find_open_reason(&it)).unwrap_or(Verdict::Undecided).word()
}

fn is_by_rate<'a>(layout: &DocumentLayout<'a>, group: &PromiseCases<'a>) -> bool {
    let merit = group.cases.first().and_then(|it| layout.merit(it.operation, &it.condition));
    merit.is_some_and(FigureOfMerit::is_rate)
}

fn is_slower(contrasts: &[Contrast], group: &PromiseCases<'_>) -> bool {
    contrasts.len() == group.cases.len() && contrasts.iter().all(|it| it.verdict == Verdict::Slower)
}

/// "1.4× as long (1.2–1.6)", and apart from it "in both operations". "undecided: 1.4× as long
/// (1.1–1.7)" if it would be decided alone, but not among all comparisons. For a rate "0.42× as
/// much (0.37–0.48)".
pub fn compare_levels<'a>(
    layout: &DocumentLayout<'a>,
    group: &PromiseCases<'a>,
    other: &str,
    level: &str,
) -> (String, Option<String>) {
    let by_rate = is_by_rate(layout, group);
    let ratios = group.ratios(layout, other, level);
    let contrasts = &without_operations(&ratios)[..];
    if let Some(reason) = find_open_reason(contrasts) {
        return (reason.word().to_owned(), None);
    }
    if ratios.is_empty() {
        return ("no pair".into(), None);
    }
    let turned = ratios.iter().map(|(operation, it)| (*operation, it.with_inverse_ratio()));
    let turned: Vec<Ratio<'_>> = turned.collect();
    let slower =
        || if by_rate { format_times("much", &turned) } else { format_times("long", &ratios) };
    let of_all = contrasts.len() == group.cases.len();
    if of_all && contrasts.iter().all(|it| it.verdict == Verdict::Faster) {
        return format_times(if by_rate { "much" } else { "fast" }, &turned);
    }
    if is_slower(contrasts, group) {
        return slower();
    }
    // Each would be decided alone, but not among all comparisons.
    let apart = |it: &Contrast| {
        it.blocks > 1 && matches!(it.ends, (Some(low), Some(high)) if low > 1.0 || high < 1.0)
    };
    if of_all && contrasts.iter().all(apart) {
        let (text, intervals) = slower();
        return (format!("undecided: {text}"), intervals);
    }
    let shown = &without_operations(if by_rate { &turned } else { &ratios })[..];
    let text = if contrasts.iter().all(|it| it.verdict == Verdict::Same) {
        format!("{EVEN}{}", format_bracket(shown))
    } else if contrasts.iter().all(|it| it.blocks < 2) {
        "run once".to_owned()
    } else {
        format!("undecided{}", bracket_of_times(shown))
    };
    (text, None)
}

/// With the intervals, where they don't follow one figure.
fn format_times(how: &str, ratios: &[Ratio<'_>]) -> (String, Option<String>) {
    if let Some((times, intervals)) = one_by_one_in_a_cell(ratios) {
        return (format!("{times} as {how}"), Some(intervals));
    }
    let contrasts = &without_operations(ratios)[..];
    match (format_ratios(contrasts).unwrap_or_default(), describe_intervals(contrasts)) {
        (times, None) => {
            (format!("{times}× as {how}{}", format_bracket(contrasts)), in_all(ratios))
        }
        (times, intervals) => (format!("{times}× as {how}"), intervals),
    }
}
