//! Says what the fastest level depends on if several levels win.

use std::collections::BTreeMap;

use super::{
    count_outcomes, describe_backing, describe_contrast, describe_example, describe_lead,
    describe_shared, format_range, name_all, numeric_factor, rate_of, replace_name,
};
use crate::layout::DocumentLayout;
use crate::verdict::{LeaderOutcome, OperationCase};
use crate::words;

pub fn describe_dependence<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    wins: &BTreeMap<&str, Vec<&OperationCase<'a>>>,
) -> String {
    // Two factors that explain the wins equally well explain nothing.
    let mut splits = describe_splits(layout, cases);
    match (splits.pop(), splits.is_empty()) {
        (Some(split), true) => split,
        _ => no_winner(layout, cases, wins),
    }
}

/// "sqlite is fastest in 3 of 8 comparisons, fjall in 1", and where most clearly.
fn no_winner<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    wins: &BTreeMap<&str, Vec<&OperationCase<'a>>>,
) -> String {
    let mut wins: Vec<(&str, &[&OperationCase])> =
        wins.iter().map(|(leader, won)| (*leader, won.as_slice())).collect();
    wins.sort_by_key(|(_, won)| std::cmp::Reverse(won.len()));
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
    some: &[&OperationCase<'a>],
    cases: &[OperationCase<'a>],
) -> String {
    let others: Vec<&OperationCase> = cases.iter().filter(|case| !some.contains(case)).collect();
    let all = match some.len() {
        0 | 1 => return String::new(),
        2 => "both",
        _ => "all",
    };
    let place = describe_shared(layout, some, &others);
    if place.is_empty() { place } else { format!("{all} {place}") }
}

fn find_strongest<'b, 'a>(won: &[&'b OperationCase<'a>]) -> &'b OperationCase<'a> {
    let low = |case: &OperationCase| case.contrast.ends.0.unwrap_or(0.0);
    won.iter().copied().max_by(|a, b| low(a).total_cmp(&low(b))).expect("a case that was won")
}

/// A sentence for each factor (or the operation) that decides: at each level one contender wins
/// more than half and no other wins any, and it is not always the same one.
fn describe_splits<'a>(layout: &DocumentLayout<'a>, cases: &[OperationCase<'a>]) -> Vec<String> {
    let factors = std::iter::once("operation").chain(layout.varying.iter().copied());
    let sentence = |(number, factor): (usize, &'a str)| {
        let level_of = |case: &OperationCase<'a>| {
            if number == 0 { case.operation } else { case.condition[number - 1] }
        };
        let mut groups: Vec<(&str, Vec<&OperationCase>)> = Vec::new();
        for case in cases {
            match groups.iter_mut().find(|(level, _)| *level == level_of(case)) {
                Some((_, group)) => group.push(case),
                None => groups.push((level_of(case), vec![case])),
            }
        }
        let parts: Option<Vec<String>> = numeric_factor::join_levels(layout, factor, groups)
            .iter()
            .map(|(place, group)| describe_part(layout, place, group))
            .collect();
        let subject = if number == 0 { "the operation" } else { factor };
        Some(format!("It depends on {subject}: {}", parts?.join("; ")))
    };
    factors.enumerate().filter_map(sentence).collect()
}

fn describe_part<'a>(
    layout: &DocumentLayout<'a>,
    place: &str,
    group: &[&OperationCase<'a>],
) -> Option<String> {
    let winner = numeric_factor::find_winner(group)?;
    let won: Vec<&OperationCase> =
        group.iter().copied().filter(|c| c.outcome == LeaderOutcome::Won).collect();
    let first = won.first()?;
    let leader = words::name_contender(layout.compare, winner);
    let scope = match group.len() {
        1 => String::new(),
        all_of if all_of == won.len() => format!(", in {}", name_all(all_of)),
        some => format!(", in {} of {some} comparisons", won.len()),
    };
    let lead = match format_range(&won) {
        Some(range) => describe_lead(rate_of(layout, &won), &range),
        None if rate_of(layout, &[first]).is_some() => {
            let contrast = replace_name(&leader, &describe_contrast(layout, first, ""));
            format!("{contrast}, {}", describe_backing(layout, first))
        }
        None => {
            let next = words::name_contender(layout.compare, first.next);
            let ratio = words::format_times(first.contrast.ratio, first.contrast.is);
            format!("{next} takes {ratio} times as long, {}", describe_backing(layout, first))
        }
    };
    Some(format!("{leader} is fastest {place}{scope} ({lead})"))
}
