//! Who is fastest where several levels win: what that depends on, or that none wins throughout.

use std::collections::BTreeMap;

use super::{all, backing, contrast, example, it, lead, over, range, rate_of, rest, whereabouts};
use crate::layout::DocumentLayout;
use crate::verdict::{LeaderOutcome, OperationCase};
use crate::words;

/// Several levels win: a factor that turns the result round, or that nobody wins throughout.
pub fn depends<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    wins: &BTreeMap<&str, Vec<&OperationCase<'a>>>,
) -> String {
    // Two factors that explain the wins equally well explain nothing.
    let mut splits = splits(layout, cases);
    match (splits.pop(), splits.is_empty()) {
        (Some(split), true) => split,
        _ => no_winner(layout, cases, wins),
    }
}

/// "sqlite is fastest in 3 of 8 comparisons, fjall in 1": and where each is most clearly so.
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
        let name = words::contender(layout.compare, leader);
        let (is, of) = match shares.is_empty() {
            true => (" is fastest", format!(" of {} comparisons", cases.len())),
            false => ("", String::new()),
        };
        let place = shared(layout, won, cases);
        let place = if place.is_empty() { place } else { format!(" ({place})") };
        shares.push(format!("{name}{is} in {}{of}{place}", won.len()));
        let example = it(&name, &example(layout, strongest(won)));
        clearest.push(format!("{name}’s clearest lead: {example}"));
    }
    let rest = rest(cases);
    let rest = if rest.is_empty() { rest } else { format!("; {rest}") };
    let none = if layout.contenders().len() == 2 { "Neither" } else { "None" };
    format!("{none} wins throughout: {}{rest}; {}", shares.join(", "), clearest.join("; "))
}

/// "both with 4 clients": what several cases share, and others don't.
fn shared<'a>(
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
    let place = whereabouts(layout, some, &others);
    if place.is_empty() { place } else { format!("{all} {place}") }
}

/// The case whose interval is furthest from a tie.
fn strongest<'b, 'a>(won: &[&'b OperationCase<'a>]) -> &'b OperationCase<'a> {
    let low = |case: &OperationCase| case.contrast.ends.0.unwrap_or(0.0);
    won.iter().copied().max_by(|a, b| low(a).total_cmp(&low(b))).expect("a case that was won")
}

/// A sentence for each factor (or the operation) that turns the result round: at each of its
/// levels one contender wins more than half of the comparisons and no other wins any, and it is
/// not the same one at all of them.
fn splits<'a>(layout: &DocumentLayout<'a>, cases: &[OperationCase<'a>]) -> Vec<String> {
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
        let parts: Option<Vec<String>> = over::joined(layout, factor, groups)
            .iter()
            .map(|(place, group)| part(layout, place, group))
            .collect();
        let subject = if number == 0 { "the operation" } else { factor };
        Some(format!("It depends on {subject}: {}", parts?.join("; ")))
    };
    factors.enumerate().filter_map(sentence).collect()
}

/// What one level of the dividing factor says; `None` where it has no clear winner of its own.
fn part<'a>(
    layout: &DocumentLayout<'a>,
    place: &str,
    group: &[&OperationCase<'a>],
) -> Option<String> {
    let winner = over::winner(group)?;
    let won: Vec<&OperationCase> =
        group.iter().copied().filter(|c| c.outcome == LeaderOutcome::Won).collect();
    let first = won.first()?;
    let leader = words::contender(layout.compare, winner);
    let scope = match group.len() {
        1 => String::new(),
        all_of if all_of == won.len() => format!(", in {}", all(all_of)),
        some => format!(", in {} of {some} comparisons", won.len()),
    };
    let lead = match range(&won) {
        Some(range) => lead(rate_of(layout, &won), &range),
        None if rate_of(layout, &[first]).is_some() => {
            let contrast = it(&leader, &contrast(layout, first, ""));
            format!("{contrast}, {}", backing(layout, first))
        }
        None => {
            let next = words::contender(layout.compare, first.next);
            let ratio = words::times(first.contrast.ratio, first.contrast.is);
            format!("{next} takes {ratio} times as long, {}", backing(layout, first))
        }
    };
    Some(format!("{leader} is fastest {place}{scope} ({lead})"))
}
