//! Words for findings over many cases: one level wins, or it depends.

use bakeoff_analysis::answer::{LevelWinner, PlaceOfLevels};
use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{Contrast, OperationCase};

use super::case_words::{
    count_outcomes, describe_backing, describe_contrast, describe_example, describe_lead,
    describe_open, describe_shared, format_range, name_all, replace_name,
};
use crate::ratio_words;
use crate::words;

pub fn describe_one_winner<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    leader: &str,
    won: &[OperationCase<'a>],
) -> String {
    let name = words::name_contender(layout.compare, leader);
    let example = |case| replace_name(&name, &describe_example(layout, case));
    if cases.len() == 1 {
        return format!("{name} is fastest: {}", example(&won[0]));
    }
    let open = format!(" ({}{})", count_outcomes(cases), describe_open(layout, cases));
    let scope = if won.len() == cases.len() {
        format!("in {}", name_all(cases.len()))
    } else {
        format!("in {} of {} comparisons{open}", won.len(), cases.len())
    };
    let contrasts: Vec<Contrast> = won.iter().map(|case| case.contrast).collect();
    let rate = layout.shared_rate(won);
    if let Some(times) = ratio_words::format_ratios(&contrasts).filter(|_| won.len() == cases.len())
    {
        let interval = ratio_words::back_ratios(&contrasts);
        return format!("{name} is fastest {scope}: {}{interval}", describe_lead(rate, &times));
    }
    let Some(range) = format_range(won) else {
        return format!("{name} is fastest {scope}: {}", example(&won[0]));
    };
    let which = if won.len() == 2 { "at the least" } else { "at the median" };
    let median = OperationCase::find_median(&won.iter().collect::<Vec<_>>());
    let told = describe_example(layout, median);
    format!("{name} is fastest {scope}: {}, and {which} {told}", describe_lead(rate, &range))
}

/// "It depends on clients: sqlite is fastest with 1 client (…); lmdb is fastest from 4 to 64
/// clients (…)".
pub fn describe_dependence<'a>(
    layout: &DocumentLayout<'a>,
    factor: Option<&str>,
    winners: &[LevelWinner<'a>],
) -> String {
    let parts: Vec<String> =
        winners.iter().map(|winner| describe_winner(layout, factor, winner)).collect();
    format!("It depends on {}: {}", factor.unwrap_or("the operation"), parts.join("; "))
}

fn describe_winner<'a>(
    layout: &DocumentLayout<'a>,
    factor: Option<&str>,
    winner: &LevelWinner<'a>,
) -> String {
    let LevelWinner { won, cases, .. } = winner;
    let level = |level: &str| words::phrase_level(factor.unwrap_or("operation"), level);
    let place = match winner.place {
        PlaceOfLevels::At(only) if factor.is_none() => format!("for {}", level(only)),
        PlaceOfLevels::At(only) => format!("with {}", level(only)),
        PlaceOfLevels::FromTo(first, last) => format!("from {} to {}", level(first), level(last)),
    };
    let leader = words::name_contender(layout.compare, winner.leader);
    let scope = match *cases {
        1 => String::new(),
        all if all == won.len() => format!(", in {}", name_all(all)),
        some => format!(", in {} of {some} comparisons", won.len()),
    };
    let first = &won[0];
    let lead = match format_range(won) {
        Some(range) => describe_lead(layout.shared_rate(won), &range),
        None if layout.shared_rate([first]).is_some() => {
            let contrast = replace_name(&leader, &describe_contrast(layout, first, ""));
            format!("{contrast}, {}", describe_backing(layout, first))
        }
        None => {
            let next = words::name_contender(layout.compare, first.next);
            let ratio = words::format_times(first.contrast.ratio, first.contrast.is);
            format!("{next} takes {ratio} times as long, {}", describe_backing(layout, first))
        }
    };
    format!("{leader} is fastest {place}{scope} ({lead})")
}

/// "sqlite is fastest in 3 of 8 comparisons, fjall in 1", and where most clearly.
pub fn describe_wins<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    wins: &[(&'a str, Vec<OperationCase<'a>>)],
) -> String {
    let mut shares = Vec::new();
    let mut clearest = Vec::new();
    for (leader, won) in wins {
        let name = words::name_contender(layout.compare, leader);
        let (is, of) = match shares.is_empty() {
            true => (" is fastest", format!(" of {} comparisons", cases.len())),
            false => ("", String::new()),
        };
        let place = describe_common(layout, won, cases);
        let place = if place.is_empty() { place } else { format!(" ({place})") };
        shares.push(format!("{name}{is} in {}{of}{place}", won.len()));
        let example = replace_name(&name, &describe_example(layout, find_strongest(won)));
        clearest.push(format!("{name}’s clearest lead: {example}"));
    }
    let rest = count_outcomes(cases);
    let rest = if rest.is_empty() { rest } else { format!("; {rest}") };
    let none = if layout.contenders().len() == 2 { "Neither" } else { "No level" };
    format!("{none} is fastest everywhere: {}{rest}; {}", shares.join(", "), clearest.join("; "))
}

/// "both with 4 clients": the levels that these cases share, and others don't.
fn describe_common<'a>(
    layout: &DocumentLayout<'a>,
    some: &[OperationCase<'a>],
    cases: &[OperationCase<'a>],
) -> String {
    let others: Vec<&OperationCase> = cases.iter().filter(|case| !some.contains(case)).collect();
    let some: Vec<&OperationCase> = some.iter().collect();
    let all = match some.len() {
        0 | 1 => return String::new(),
        2 => "both",
        _ => "all",
    };
    let place = describe_shared(layout, &some, &others);
    if place.is_empty() { place } else { format!("{all} {place}") }
}

fn find_strongest<'b, 'a>(won: &'b [OperationCase<'a>]) -> &'b OperationCase<'a> {
    let low = |case: &OperationCase| case.contrast.ends.0.unwrap_or(0.0);
    won.iter().max_by(|a, b| low(a).total_cmp(&low(b))).expect("a case that was won")
}
