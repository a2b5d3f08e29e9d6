//! Ratios and their intervals in words.

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{Contrast, Ratio, RatioBound, Verdict, find_open_reason};

use crate::block::StyledText;
use crate::chart::find_style;
use crate::words;

/// At most this many different ratios are listed; more become a range.
const ONE_BY_ONE: usize = 3;

/// "both operations", "all 3 operations".
pub fn all_operations(number: usize) -> String {
    match number {
        2 => "both operations".to_owned(),
        number => format!("all {number} operations"),
    }
}

pub fn name_level(layout: &DocumentLayout<'_>, level: &str) -> StyledText {
    StyledText::default()
        .named(words::name_contender(layout.compare, level), find_style(layout, level))
}

enum RatioText {
    /// "1.4", "at least 2.1".
    One(String),
    /// "1.4" and "1.6", which don't round alike.
    Range(String, String),
}

impl RatioText {
    fn from_contrasts(contrasts: &[Contrast]) -> Option<Self> {
        let ratios = || contrasts.iter().map(|it| it.ratio);
        let (least, most) = (ratios().reduce(f64::min)?, ratios().reduce(f64::max)?);
        let has = |is| contrasts.iter().any(|it| it.is == is);
        if has(RatioBound::AtLeast) {
            return Some(Self::One(format!("at least {}", words::format_two(least))));
        }
        if has(RatioBound::AtMost) {
            return Some(Self::One(format!("at most {}", words::format_two(most))));
        }
        let [low, high] = [least, most].map(words::format_two);
        Some(if low == high { Self::One(low) } else { Self::Range(low, high) })
    }
}

/// "1.4", "1.4 to 1.6", "at least 2.1"; one figure where all round alike.
pub fn format_ratios(contrasts: &[Contrast]) -> Option<String> {
    Some(match RatioText::from_contrasts(contrasts)? {
        RatioText::One(figure) => figure,
        RatioText::Range(low, high) => format!("{low} to {high}"),
    })
}

/// For ratios that are neither all faster nor all slower.
pub fn open_word(contrasts: &[Contrast]) -> &'static str {
    match find_open_reason(contrasts) {
        _ if contrasts.is_empty() => "no pair",
        Some(reason) => reason.word(),
        None if contrasts.iter().all(|it| it.verdict == Verdict::Same) => Verdict::Same.word(),
        None => Verdict::Undecided.word(),
    }
}

/// " (1.2–1.8)", from the lowest to the highest end; may be empty.
pub fn format_bracket(contrasts: &[Contrast]) -> String {
    match format_ends(contrasts).as_deref() {
        None => String::new(),
        Some(words::WIDE) => format!(" ({} interval)", words::WIDE),
        Some(ends) => format!(" ({ends})"),
    }
}

/// " (0.96–1.8×)", for use without a ratio before it.
pub fn bracket_of_times(contrasts: &[Contrast]) -> String {
    match format_ends(contrasts).filter(|ends| ends != words::WIDE) {
        Some(ends) => format!(" ({ends}×)"),
        None => format_bracket(contrasts),
    }
}

/// "0.96–1.8"; `None` where an end is open or the interval is wide.
pub fn both_ends(contrasts: &[Contrast]) -> Option<String> {
    format_ends(contrasts).filter(|ends| ends.contains('–'))
}

pub fn without_operations(ratios: &[Ratio<'_>]) -> Vec<Contrast> {
    ratios.iter().map(|(_, contrast)| *contrast).collect()
}

fn are_of_their_own(ratios: &[Ratio<'_>]) -> bool {
    let of_its_own = |(number, ratio): (usize, &Ratio<'_>)| {
        ratios[..number].iter().all(|(operation, _)| *operation != ratio.0)
    };
    ratios.iter().enumerate().all(of_its_own)
}

/// A few ratios that don't round alike, each of its own operation.
fn are_told_one_by_one(ratios: &[Ratio<'_>]) -> bool {
    ratios.len() <= ONE_BY_ONE
        && matches!(
            RatioText::from_contrasts(&without_operations(ratios)),
            Some(RatioText::Range(..))
        )
        && are_of_their_own(ratios)
}

/// "in both operations", where one figure stands for several.
pub fn in_all(ratios: &[Ratio<'_>]) -> Option<String> {
    let is_one =
        matches!(RatioText::from_contrasts(&without_operations(ratios)), Some(RatioText::One(_)));
    match ratios.len() {
        2.. if !is_one || !are_of_their_own(ratios) => None,
        2.. => Some(format!("in {}", all_operations(ratios.len()))),
        _ => None,
    }
}

/// "**5.6 times** as long in create_issue (1.9–17) and **3.6 times** in process_issues (1.6–8.1)".
pub fn one_by_one(ratios: &[Ratio<'_>]) -> Option<StyledText> {
    one_by_one_as(ratios, &StyledText::default())
}

/// `than` follows "as long": " as sqlite".
fn one_by_one_as(ratios: &[Ratio<'_>], than: &StyledText) -> Option<StyledText> {
    if !are_told_one_by_one(ratios) {
        return None;
    }
    let last = ratios.len() - 1;
    let mut told = StyledText::default();
    for (number, (operation, contrast)) in ratios.iter().enumerate() {
        let before = match number {
            0 => "",
            number if number == last => " and ",
            _ => ", ",
        };
        let interval = format_bracket(&[*contrast]);
        told = told.plain(before).stressed(format!("{} times", format_ratios(&[*contrast])?));
        if number == 0 {
            told = told.plain(" as long").then(than.clone());
        }
        told = told.plain(format!(" in {operation}{interval}"));
    }
    Some(told)
}

/// "5.6× and 3.6×" for a cell, and below it "create_issue (1.9–17), process_issues (1.6–8.1)".
pub fn one_by_one_in_a_cell(ratios: &[Ratio<'_>]) -> Option<(String, String)> {
    if !are_told_one_by_one(ratios) {
        return None;
    }
    let times = ratios.iter().filter_map(|(_, it)| Some(format!("{}×", format_ratios(&[*it])?)));
    let intervals =
        ratios.iter().map(|(operation, it)| format!("{operation}{}", format_bracket(&[*it])));
    let times: Vec<String> = times.collect();
    let intervals: Vec<String> = intervals.collect();
    Some((words::join_list(&times), intervals.join(", ")))
}

/// "**1.4 times** as long in both operations (1.2–1.6)", a few by operation, more as "**2.0 to 3.0
/// times** as long, depending on the operation (all 95 % intervals lie within 1.8–3.3)".
pub fn as_long(ratios: &[Ratio<'_>], than: &StyledText) -> Option<StyledText> {
    one_by_one_as(ratios, than).or_else(|| {
        let contrasts = without_operations(ratios);
        let times = format!("{} times", format_ratios(&contrasts)?);
        let told = StyledText::default().stressed(times).plain(" as long").then(than.clone());
        Some(told.plain(in_all_of(ratios) + &by_operation(&contrasts)))
    })
}

pub fn in_all_of(ratios: &[Ratio<'_>]) -> String {
    in_all(ratios).map_or_else(String::new, |all| format!(" {all}"))
}

/// "all 95 % intervals lie within 1.8–3.3", of ratios given as a range alone.
pub fn describe_intervals(contrasts: &[Contrast]) -> Option<String> {
    let RatioText::Range(..) = RatioText::from_contrasts(contrasts)? else { return None };
    let ends = format_ends(contrasts)?;
    Some(match ends.contains('–') {
        true => format!("all 95 % intervals lie within {ends}"),
        false => format!("95 % intervals: {ends}"),
    })
}

/// " (1.2–1.6)", of a range " (all 95 % intervals lie within 1.8–3.3)".
pub fn back_ratios(contrasts: &[Contrast]) -> String {
    describe_intervals(contrasts).map_or_else(|| format_bracket(contrasts), |it| format!(" ({it})"))
}

fn by_operation(contrasts: &[Contrast]) -> String {
    let depends = match RatioText::from_contrasts(contrasts) {
        Some(RatioText::Range(..)) => ", depending on the operation",
        _ => "",
    };
    format!("{depends}{}", back_ratios(contrasts))
}

/// "1.2–1.8", "from 1.2", or that they are wide.
fn format_ends(contrasts: &[Contrast]) -> Option<String> {
    let all =
        |of: fn(&Contrast) -> Option<f64>| contrasts.iter().map(of).collect::<Option<Vec<_>>>();
    let low = all(|it| it.ends.0).and_then(|all| all.into_iter().reduce(f64::min));
    let high = all(|it| it.ends.1).and_then(|all| all.into_iter().reduce(f64::max));
    match (low, high) {
        (Some(low), Some(high)) if high / low > words::USEFUL * words::USEFUL => {
            Some(words::WIDE.to_owned())
        }
        (Some(low), Some(high)) => Some(words::round_outward((low, high))),
        (Some(low), None) => Some(format!("from {}", words::round_below(low))),
        (None, Some(high)) => Some(format!("up to {}", words::round_above(high))),
        (None, None) => None,
    }
}
