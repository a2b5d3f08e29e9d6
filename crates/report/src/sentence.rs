//! The run in one sentence that the author of the slowest engine would sign.

use std::collections::BTreeMap;

use bakeoff_results::Document;
use bakeoff_results::document::Status;

use crate::layout::{self, Layout};
use crate::verdict::{self, Case, Outcome};
use crate::words;

/// One honest sentence for the whole run: which level of the compared factor is fastest, by how
/// much and how sure that is; or that it depends, and on what; or that nothing is decided.
///
/// It goes by mean times and never claims more than the 95 % intervals allow.
pub fn verdict(document: &Document) -> String {
    let layout = Layout::new(document);
    let cases = verdict::cases(&layout);
    let mut clauses = vec![finding(&layout, &cases)];
    clauses.extend(below_noise(&cases));
    clauses.extend(missing(&layout, &cases));
    clauses.extend(set_aside(document));
    clauses.extend(progress(document));
    clauses.join("; ") + "."
}

fn finding(layout: &Layout<'_>, cases: &[Case<'_>]) -> String {
    if cases.is_empty() {
        return without_cases(layout);
    }
    let mut wins: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
    for case in cases.iter().filter(|case| case.outcome == Outcome::Won) {
        wins.entry(case.leader).or_default().push(case);
    }
    match wins.len() {
        0 => undecided(layout, cases),
        1 => {
            let (leader, won) = wins.iter().next().expect("one winner");
            one_winner(layout, cases, leader, won)
        }
        _ => depends(layout, cases, &wins),
    }
}

/// No two levels can be held against each other.
fn without_cases(layout: &Layout<'_>) -> String {
    let contenders = layout.contenders();
    let finished: Vec<&str> = contenders
        .iter()
        .copied()
        .filter(|level| layout.settings.iter().any(|s| layout.cell(s, level).is_some()))
        .collect();
    match (finished.as_slice(), contenders.len()) {
        ([], 0) if layout.levels.is_empty() => "Nothing was measured: no trial has ended".into(),
        ([], 0) => "Nothing is compared: only the harness itself was measured".into(),
        ([], _) => "Nothing was measured: no trial counts".into(),
        ([only], 1) => {
            let name = words::contender(layout.compare, only);
            format!("Nothing is compared: only {name} was run{}", alone(layout, only))
        }
        ([only], _) => {
            let name = words::contender(layout.compare, only);
            format!("Nothing is compared: only {name} has trials that count")
        }
        _ => "Nothing is compared: no two levels have trials in the same block".into(),
    }
}

/// What the only level took, where that is one figure an operation.
fn alone<'a>(layout: &Layout<'a>, only: &'a str) -> String {
    let [setting] = layout.settings.as_slice() else { return String::new() };
    let means: Vec<String> = layout
        .operations()
        .filter_map(|operation| {
            let mean = layout.figures(operation, setting, only)?.mean_s?;
            Some(format!("{operation} takes {} on average", words::seconds(mean)))
        })
        .collect();
    if means.is_empty() { String::new() } else { format!("; {}", words::list(&means)) }
}

fn one_winner<'a>(
    layout: &Layout<'a>,
    cases: &[Case<'a>],
    leader: &str,
    won: &[&Case<'a>],
) -> String {
    let name = words::contender(layout.compare, leader);
    if cases.len() == 1 {
        return format!("{name} is fastest: {}", example(layout, won[0]));
    }
    let open = format!(" ({}{})", rest(cases), whereabouts(layout, cases));
    let scope = if won.len() == cases.len() {
        format!("in {}", all(cases.len()))
    } else {
        format!("in {} of {} comparisons{open}", won.len(), cases.len())
    };
    let Some(range) = range(won) else {
        return format!("{name} is fastest {scope}: {}", example(layout, won[0]));
    };
    let which = if won.len() == 2 { "at the least" } else { "in the middle case" };
    let example = example(layout, middle(won));
    format!(
        "{name} is fastest {scope}: the next best takes {range} times as long, and {which} {example}"
    )
}

/// ", all with strict durability": what the cases that nobody won share and others don't.
fn whereabouts<'a>(layout: &Layout<'a>, cases: &[Case<'a>]) -> String {
    let (won, lost): (Vec<&Case>, Vec<&Case>) =
        cases.iter().partition(|case| case.outcome == Outcome::Won);
    let Some(first) = lost.first() else { return String::new() };
    let shared: Vec<String> = layout
        .varying
        .iter()
        .enumerate()
        .filter(|(n, _)| lost.iter().all(|case| case.setting[*n] == first.setting[*n]))
        .filter(|(n, _)| won.iter().any(|case| case.setting[*n] != first.setting[*n]))
        .map(|(n, factor)| words::level(factor, first.setting[n]))
        .collect();
    let all = if lost.len() > 1 { "all " } else { "" };
    let mut out = String::new();
    if lost.iter().all(|case| case.operation == first.operation)
        && won.iter().any(|case| case.operation != first.operation)
    {
        out += &format!(", {all}of {}", first.operation);
    }
    if !shared.is_empty() {
        let all = if out.is_empty() { all } else { "" };
        out += &format!(
            "{} {all}with {}",
            if out.is_empty() { "," } else { "" },
            words::list(&shared)
        );
    }
    out
}

fn all(cases: usize) -> String {
    match cases {
        1 => "the only comparison".into(),
        2 => "both comparisons".into(),
        _ => format!("all {cases} comparisons"),
    }
}

/// From the smallest to the largest lead, where there are several.
fn range(won: &[&Case<'_>]) -> Option<String> {
    let ratios = || won.iter().map(|case| case.contrast.ratio);
    let (least, most) = (ratios().reduce(f64::min)?, ratios().reduce(f64::max)?);
    let (least, most) = (words::ratio(least), words::ratio(most));
    (least != most).then(|| format!("{least} to {most}"))
}

/// The case with the median lead: neither the kindest nor the hardest to the others.
fn middle<'b, 'a>(won: &[&'b Case<'a>]) -> &'b Case<'a> {
    let mut sorted = won.to_vec();
    sorted.sort_by(|a, b| a.contrast.ratio.total_cmp(&b.contrast.ratio));
    sorted[(sorted.len() - 1) / 2]
}

/// "create_issue takes sqlite 2.10 times as long (1.90 to 2.40, 5 blocks) with 4 clients".
fn example<'a>(layout: &Layout<'a>, case: &Case<'a>) -> String {
    let next = words::contender(layout.compare, case.next);
    let ratio = words::ratio(case.contrast.ratio);
    let place = layout.place(&case.setting);
    format!(
        "{} takes {next} {ratio} times as long on average ({}){place}",
        case.operation,
        backing(case)
    )
}

/// "95 % interval 1.90 to 2.40, 5 blocks".
fn backing(case: &Case<'_>) -> String {
    let blocks = words::many(case.contrast.blocks as usize, "block");
    match case.contrast.interval {
        Some((low, high)) => {
            format!("95 % interval {} to {}, {blocks}", words::ratio(low), words::ratio(high))
        }
        None => format!("no interval from {blocks}"),
    }
}

/// How the cases that nobody won ended: "2 are even within 5 %, 1 is undecided".
fn rest(cases: &[Case<'_>]) -> String {
    let number = |wanted: &[Outcome]| cases.iter().filter(|c| wanted.contains(&c.outcome)).count();
    let be = |n: usize| if n == 1 { "is" } else { "are" };
    let mut parts = Vec::new();
    for (outcomes, words) in [
        (&[Outcome::Even][..], "even within 5 %"),
        (&[Outcome::Open, Outcome::Noise][..], "undecided"),
        (&[Outcome::Spiky][..], "too uneven to decide"),
    ] {
        match number(outcomes) {
            0 => {}
            n => parts.push(format!("{n} {} {words}", be(n))),
        }
    }
    words::list(&parts)
}

fn depends<'a>(
    layout: &Layout<'a>,
    cases: &[Case<'a>],
    wins: &BTreeMap<&str, Vec<&Case<'a>>>,
) -> String {
    if let Some(split) = split(layout, cases) {
        return split;
    }
    let mut parts: Vec<(usize, String)> = wins
        .iter()
        .map(|(leader, won)| {
            let name = words::contender(layout.compare, leader);
            let text = format!(
                "{name} is fastest in {} of {} comparisons, such as where {}",
                won.len(),
                cases.len(),
                example(layout, middle(won))
            );
            (won.len(), text)
        })
        .collect();
    parts.sort_by_key(|(won, _)| std::cmp::Reverse(*won));
    let parts: Vec<String> = parts.into_iter().map(|(_, text)| text).collect();
    let rest = rest(cases);
    let tail = if rest.is_empty() { String::new() } else { format!("; {rest}") };
    format!("It depends: {}{tail}", parts.join("; "))
}

/// The one factor, or the operation, whose levels each have a winner of their own.
fn split<'a>(layout: &Layout<'a>, cases: &[Case<'a>]) -> Option<String> {
    let factors = std::iter::once("operation").chain(layout.varying.iter().copied());
    factors.enumerate().find_map(|(number, factor)| {
        let level_of =
            |case: &Case<'a>| if number == 0 { case.operation } else { case.setting[number - 1] };
        let mut groups: Vec<(&str, Vec<&Case>)> = Vec::new();
        for case in cases {
            match groups.iter_mut().find(|(level, _)| *level == level_of(case)) {
                Some((_, group)) => group.push(case),
                None => groups.push((level_of(case), vec![case])),
            }
        }
        let parts: Option<Vec<String>> =
            groups.iter().map(|(level, group)| part(layout, factor, level, group)).collect();
        let subject = if number == 0 { "the operation" } else { factor };
        Some(format!("It depends on {subject}: {}", parts?.join("; ")))
    })
}

/// What one level of the dividing factor says; `None` where it is itself divided.
fn part<'a>(layout: &Layout<'a>, factor: &str, level: &str, group: &[&Case<'a>]) -> Option<String> {
    let with = if factor == "operation" { "for" } else { "with" };
    let place = words::level(factor, level);
    let won: Vec<&Case> = group.iter().copied().filter(|c| c.outcome == Outcome::Won).collect();
    let Some(first) = won.first() else {
        let group: Vec<Case> = group.iter().map(|case| (*case).clone()).collect();
        return Some(format!("{with} {place} none is shown to be fastest ({})", rest(&group)));
    };
    if won.iter().any(|case| case.leader != first.leader) {
        return None;
    }
    let leader = words::contender(layout.compare, first.leader);
    let of =
        if group.len() > 1 { format!("{} of {}, ", won.len(), group.len()) } else { String::new() };
    let lead = match range(&won) {
        Some(range) => format!("the next best takes {range} times as long"),
        None => {
            let next = words::contender(layout.compare, first.next);
            let ratio = words::ratio(first.contrast.ratio);
            format!("{next} takes {ratio} times as long, {}", backing(first))
        }
    };
    Some(format!("{leader} is fastest {with} {place} ({of}{lead})"))
}

/// No case has a winner.
fn undecided<'a>(layout: &Layout<'a>, cases: &[Case<'a>]) -> String {
    let slower = behind(layout, cases);
    if cases.iter().all(|case| case.outcome == Outcome::Even) && slower.is_empty() {
        let levels: Vec<String> = layout
            .contenders()
            .iter()
            .map(|level| words::contender(layout.compare, level))
            .collect();
        return format!(
            "{} are equally fast within 5 % in {}",
            words::list(&levels),
            all(cases.len())
        );
    }
    let cause = cause(layout, cases);
    let scope = match cases.len() {
        1 => String::new(),
        n => format!(" in any of {n} comparisons"),
    };
    format!("Nothing is shown to be fastest{scope}: {cause}{slower}")
}

fn cause<'a>(layout: &Layout<'a>, cases: &[Case<'a>]) -> String {
    if cases.iter().all(|case| case.contrast.blocks < 2) {
        return "each was run in one block only, and an interval needs two".into();
    }
    if cases.iter().all(|case| case.outcome == Outcome::Spiky) {
        return "single blocks differ too much from the rest for an interval to be trusted".into();
    }
    let all: Vec<&Case> = cases.iter().filter(|c| c.outcome != Outcome::Even).collect();
    let closest = if all.is_empty() { &cases[0] } else { middle(&all) };
    let next = words::contender(layout.compare, closest.next);
    let leader = words::contender(layout.compare, closest.leader);
    let tally = if cases.len() > 1 {
        format!("{}; in the middle case ", rest(cases))
    } else {
        String::new()
    };
    format!(
        "{tally}{} takes {next} {} times as long as {leader} ({}){}",
        closest.operation,
        words::ratio(closest.contrast.ratio),
        backing(closest),
        layout.place(&closest.setting)
    )
}

/// The levels that are shown to be slower than the leader of some case, and in how many.
fn behind(layout: &Layout<'_>, cases: &[Case<'_>]) -> String {
    let mut parts = Vec::new();
    for level in layout.contenders() {
        let number = cases.iter().filter(|case| case.behind.contains(&level)).count();
        if number > 0 && cases.iter().any(|case| case.outcome != Outcome::Noise) {
            let name = words::contender(layout.compare, level);
            parts.push(format!("{name} is behind the fastest in {number}"));
        }
    }
    if parts.is_empty() { String::new() } else { format!("; {}", words::list(&parts)) }
}

fn below_noise(cases: &[Case<'_>]) -> Option<String> {
    let number = cases.iter().filter(|case| case.outcome == Outcome::Noise).count();
    let text = match number {
        0 => return None,
        1 => "1 difference is no larger than what one level shows against itself, and counts as undecided".into(),
        _ => format!("{number} differences are no larger than what one level shows against itself, and count as undecided"),
    };
    Some(text)
}

/// The levels that were tried in vain while others finished.
fn missing(layout: &Layout<'_>, cases: &[Case<'_>]) -> Option<String> {
    let missing: Vec<String> = layout
        .contenders()
        .into_iter()
        .filter(|level| layout.settings.iter().all(|s| layout.cell(s, level).is_none()))
        .map(|level| words::contender(layout.compare, level))
        .collect();
    let verb = if missing.len() == 1 { "has" } else { "have" };
    (!missing.is_empty() && !cases.is_empty())
        .then(|| format!("{} {verb} no trial that counts", words::list(&missing)))
}

fn set_aside(document: &Document) -> Option<String> {
    let all = document.trials.len();
    match layout::invalid(document).count() {
        0 => None,
        1 => Some(format!(
            "1 of {} failed or was disturbed and does not count",
            words::many(all, "trial")
        )),
        n => Some(format!(
            "{n} of {} failed or were disturbed and do not count",
            words::many(all, "trial")
        )),
    }
}

fn progress(document: &Document) -> Option<String> {
    let planned = document.run.run.planned;
    let ended = layout::ended(document);
    let how = match document.run.status {
        Status::Finished => return None,
        Status::Interrupted => "the run was interrupted",
        Status::Unfinished => "the run has not finished",
    };
    Some(format!("{how} after {ended} of {planned} trials"))
}
