//! Searches for the highest rate that keeps a limit: their names, and the answer of all.

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{LimitOutcome, LimitView};
use bakeoff_results::OwnFactor;

use crate::block::StyledText;
use crate::words;

/// At most this many rates are listed; of more, the lowest and the highest.
const TOLD: usize = 4;
const UNIT: &str = " operations a second";

pub fn distinguishing_factors<'a>(layout: &DocumentLayout<'a>) -> Vec<&'a str> {
    let factors = layout.document.run.run.factors.iter();
    let varies = factors.filter(|(name, levels)| *name != OwnFactor::Rate && levels.len() > 1);
    varies.map(|(name, _)| name.as_str()).collect()
}

pub fn describe_place(places: &[&str], view: &LimitView) -> String {
    let level = |factor: &&str| {
        let level = view.levels.get(*factor).map_or("", String::as_str);
        words::phrase_level(factor, level)
    };
    places.iter().map(level).collect::<Vec<String>>().join(", ")
}

/// "p99=50ms is kept up to 580 operations a second (relaxed). 1 of 2 searches found no rate or is
/// not over."
pub fn describe_answer(layout: &DocumentLayout<'_>) -> Option<StyledText> {
    let document = layout.document;
    let limit = document.run.run.limit?;
    let all = document.limits.len();
    let found = document.limits.iter().filter(|view| view.outcome == LimitOutcome::Found);
    let mut found: Vec<(f64, String)> = found
        .filter_map(|view| {
            Some((view.keeps_per_second?, describe_place(&distinguishing_factors(layout), view)))
        })
        .collect();
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    let told = |unit: &str, (rate, place): &(f64, String)| {
        let place = if place.is_empty() { String::new() } else { format!(" ({place})") };
        format!("{}{unit}{place}", words::format_digits(*rate))
    };
    let open = all - found.len();
    let searches = if all == 1 { "search" } else { "searches" };
    let rest = match open {
        0 => String::new(),
        1 => format!(" 1 of {all} {searches} found no rate or is not over."),
        _ => format!(" {open} of {all} {searches} found no rate or are not over."),
    };
    let answer = match &found[..] {
        [] if all == 0 => return None,
        [] => return Some(StyledText::from(format!("No rate is known that keeps {limit}."))),
        [highest, .., lowest] if found.len() > TOLD => format!(
            "{limit} is kept up to {} at the least and {} at the most.",
            told(UNIT, lowest),
            told("", highest)
        ),
        [highest, others @ ..] => {
            let others = others.iter().map(|it| told("", it));
            let rates: Vec<String> = [told(UNIT, highest)].into_iter().chain(others).collect();
            format!("{limit} is kept up to {}.", words::join_list(&rates))
        }
    };
    Some(StyledText::from(answer + &rest))
}
