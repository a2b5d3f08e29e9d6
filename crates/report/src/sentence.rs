//! The run in sentences that the author of the slowest engine would sign.

mod answer;
mod caveats;
pub mod over;

use std::collections::BTreeMap;

use bakeoff_analysis::{ALL_OPERATIONS, CellTotal, Document, Verdict};
use bakeoff_results::FigureOfMerit;

use crate::amount;
use crate::behind;
use crate::block::Words;
use crate::confidence::{Confidence, Level};
use crate::layout::{self, Layout};
use crate::leads;
use crate::promises;
use crate::verdict::{self, Case, Contrast, Outcome};
use crate::words;

/// The answer of the whole run in words: for each promise of durability which level of the compared factor
/// is fastest, by how much and how sure that is; or that it depends, and on what; or that nothing is
/// decided.
///
/// It goes by the figure of merit and never claims more than the 95 % intervals allow.
pub fn verdict(document: &Document) -> String {
    let said = Said::of(&Layout::new(document));
    let sentences = said.sentences.iter().map(Words::text);
    let all = [said.broken].into_iter().chain(sentences).chain([said.rest]);
    all.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The answer of a run.
pub struct Said {
    /// The promises that were broken; empty where none was.
    pub broken: String,
    /// Who is fastest: a sentence for each promise of durability, or one of the run.
    pub sentences: Vec<Words>,
    /// What else has to be known with them; empty where there is nothing.
    pub rest: String,
    /// How sure the sentences are; `None` where nothing is compared.
    pub confidence: Option<Confidence>,
}

impl Said {
    /// Of a run.
    pub fn of(layout: &Layout<'_>) -> Self {
        let document = layout.document;
        let cases = verdict::cases(layout);
        // Where nothing was to be timed, that nothing was timed is no finding.
        let is_timed = layout::is_timed(document);
        let confidence = Confidence::of(layout, &cases).filter(|_| is_timed);
        let mut clauses = Vec::new();
        if is_timed {
            clauses.extend(caveats::held_back(layout));
            clauses.extend(caveats::not_decided(layout));
            clauses.extend(caveats::cut_off(layout, &cases));
            clauses.extend(caveats::fresh(layout));
        }
        clauses.extend(behind::behind(layout));
        clauses.extend(promises::kept(document));
        clauses.extend(caveats::below_noise(&cases));
        clauses.extend(caveats::missing(layout, &cases));
        clauses.extend(caveats::lost(document));
        clauses.extend(caveats::progress(document));
        let is_low = confidence.as_ref().is_some_and(|it| it.level == Level::Low);
        let sentences =
            if is_timed { answer::sentences(layout, &cases, is_low) } else { Vec::new() };
        let [broken, rest] =
            [promises::broken(document), clauses].map(|clauses| match clauses.as_slice() {
                [] => String::new(),
                clauses => capital(document, &clauses.join("; ")) + ".",
            });
        Self { broken, sentences, rest, confidence }
    }
}

/// The text as the beginning of a sentence; a name keeps its own letters.
fn capital(document: &Document, text: &str) -> String {
    let engines = document.run.run.factors.iter().filter(|(factor, _)| factor == "engine");
    let engines = engines.flat_map(|(_, levels)| levels);
    let others = document.other_cuts.iter().map(|other| &other.promise.engine);
    let promised = document.promises.iter().map(|promise| &promise.engine);
    let mut names = engines.chain(others).chain(promised);
    match names.any(|name| text.starts_with(name)) {
        true => text.into(),
        false => words::capital(text),
    }
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
        .filter(|level| layout.conditions.iter().any(|s| layout.cell(s, level).is_some()))
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
        _ if layout.document.cells.iter().any(behind::is_behind) => {
            "Nothing is compared: no two levels kept up with the same rate".into()
        }
        _ if layout.document.comparisons.iter().any(|it| it.ratio.is_none() && it.blocks > 0) => {
            "Nothing is compared: operations of every level were still running when the trials were \
             cut off"
                .into()
        }
        _ if is_uncounted(layout) => {
            let merit = layout.document.run.run.figure_of_merit;
            format!("Nothing is compared: {} were not counted", amount::counted(merit))
        }
        _ if do_other_things(layout) => {
            "Nothing is compared: no two levels have an operation in common".into()
        }
        _ => "Nothing is compared: no two levels have trials in the same block".into(),
    }
}

/// Whether levels would be compared by a rate, and no cell has it.
fn is_uncounted(layout: &Layout<'_>) -> bool {
    let merit = layout.document.run.run.figure_of_merit;
    let rate = |total: &CellTotal| total.typical.rate(merit);
    let mut cells = layout.document.cells.iter().filter(|cell| cell.open_loop.is_none());
    merit.is_rate() && cells.all(|cell| cell.total.as_ref().and_then(rate).is_none())
}

/// Whether there are levels beside each other, and no operation that two of them do.
fn do_other_things(layout: &Layout<'_>) -> bool {
    let mut beside = false;
    for condition in &layout.conditions {
        let cells = layout.contenders().into_iter().filter_map(|it| layout.cell(condition, it));
        let cells: Vec<_> = cells.collect();
        beside |= cells.len() > 1;
        let does = |name: &str| {
            let all = cells.iter().flat_map(|cell| &cell.operations);
            match name {
                ALL_OPERATIONS => cells.len(),
                _ => all.filter(|operation| operation.name == name).count(),
            }
        };
        if layout.operations().any(|name| does(name) > 1) {
            return false;
        }
    }
    beside
}

/// What the only level took, where that is one figure an operation.
fn alone<'a>(layout: &Layout<'a>, only: &'a str) -> String {
    let [condition] = layout.conditions.as_slice() else { return String::new() };
    if layout.cell(condition, only).is_some_and(behind::is_behind) {
        return String::new();
    }
    let means: Vec<String> = layout
        .operations()
        .filter_map(|operation| {
            let amount = layout.amount(operation, condition, only)?;
            let text = if amount.is_bound { amount.bound() } else { amount.text() };
            Some(match amount.merit.is_rate() {
                true => format!("it serves {text} on average"),
                false => format!("{operation} takes {text} on average"),
            })
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
        return format!("{name} is fastest: {}", it(&name, &example(layout, won[0])));
    }
    let open = format!(" ({}{})", rest(cases), open(layout, cases));
    let scope = if won.len() == cases.len() {
        format!("in {}", all(cases.len()))
    } else {
        format!("in {} of {} comparisons{open}", won.len(), cases.len())
    };
    let contrasts: Vec<Contrast> = won.iter().map(|case| case.contrast).collect();
    if let Some(times) = leads::figures(&contrasts).filter(|_| won.len() == cases.len()) {
        let lead = lead(rate_of(layout, won), &times);
        let interval = leads::backed(&contrasts);
        return format!("{name} is fastest {scope}: {lead}{interval}");
    }
    let Some(range) = range(won) else {
        return format!("{name} is fastest {scope}: {}", it(&name, &example(layout, won[0])));
    };
    let which = if won.len() == 2 { "at the least" } else { "in the middle case" };
    let example = example(layout, middle(won));
    let lead = lead(rate_of(layout, won), &range);
    format!("{name} is fastest {scope}: {lead}, and {which} {example}")
}

/// What is said of a level that was named just before: "it serves" where its name would stand once more.
fn it(name: &str, text: &str) -> String {
    match text.strip_prefix(name) {
        Some(rest) if rest.starts_with(" serves ") => format!("it{rest}"),
        _ => text.to_owned(),
    }
}

/// The rate that cases were decided by, if it is the same one of all of them.
fn rate_of<'a>(layout: &Layout<'a>, cases: &[&Case<'a>]) -> Option<FigureOfMerit> {
    let mut merits = cases.iter().map(|case| layout.merit(case.operation, &case.condition));
    let first = merits.next()?.filter(|merit| merit.is_rate())?;
    merits.all(|merit| merit == Some(first)).then_some(first)
}

/// "the next best takes 1.90 to 2.40 times as long": the winner's leads.
fn lead(rate: Option<FigureOfMerit>, range: &str) -> String {
    match rate {
        None => format!("the next best takes {range} times as long"),
        Some(merit) => {
            let what = amount::counted(merit);
            format!("it serves {range} times as many {what} a second as the next best")
        }
    }
}

/// "create_issue takes sqlite 2.10 times as long"; by a rate "lmdb serves 2.10 times as many rows a second
/// as sqlite".
fn contrast<'a>(layout: &Layout<'a>, case: &Case<'a>, than: &str) -> String {
    let next = words::contender(layout.compare, case.next);
    let ratio = words::times(case.contrast.ratio, case.contrast.is);
    match rate_of(layout, &[case]) {
        None => format!("{} takes {next} {ratio} times as long{than}", case.operation),
        Some(merit) => {
            let leader = words::contender(layout.compare, case.leader);
            let what = amount::counted(merit);
            format!("{leader} serves {ratio} times as many {what} a second as {next}")
        }
    }
}

/// ", all with strict durability": where the cases are that nobody won.
fn open<'a>(layout: &Layout<'a>, cases: &[Case<'a>]) -> String {
    let (won, open): (Vec<&Case>, Vec<&Case>) =
        cases.iter().partition(|case| case.outcome == Outcome::Won);
    let all = if open.len() > 1 { "all " } else { "" };
    match whereabouts(layout, &open, &won) {
        place if place.is_empty() => place,
        place => format!(", {all}{place}"),
    }
}

/// "of create_issue with strict durability": what some cases share, and others don't all.
fn whereabouts<'a>(layout: &Layout<'a>, some: &[&Case<'a>], others: &[&Case<'a>]) -> String {
    let Some(first) = some.first() else { return String::new() };
    let sets_apart = |same: &dyn Fn(&Case<'a>) -> bool| {
        some.iter().all(|case| same(case)) && others.iter().any(|case| !same(case))
    };
    let levels: Vec<String> = layout
        .varying
        .iter()
        .enumerate()
        .filter(|(n, _)| sets_apart(&|case| case.condition[*n] == first.condition[*n]))
        .map(|(n, factor)| words::level(factor, first.condition[n]))
        .collect();
    let mut parts = Vec::new();
    if sets_apart(&|case| case.operation == first.operation) {
        parts.push(format!("of {}", first.operation));
    }
    if !levels.is_empty() {
        parts.push(format!("with {}", words::list(&levels)));
    }
    parts.join(" ")
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
    let by_ratio = |a: &&&Case, b: &&&Case| a.contrast.ratio.total_cmp(&b.contrast.ratio);
    let (least, most) = (won.iter().min_by(by_ratio)?, won.iter().max_by(by_ratio)?);
    let both = least.contrast.is == most.contrast.is;
    let [low, high] = [least, most].map(|case| words::times(case.contrast.ratio, case.contrast.is));
    // "At least" once is enough.
    let end = if both { words::ratio(most.contrast.ratio) } else { high.clone() };
    (low != high).then(|| format!("{low} to {end}"))
}

/// The case with the median lead: neither the kindest nor the hardest to the others.
fn middle<'b, 'a>(won: &[&'b Case<'a>]) -> &'b Case<'a> {
    let mut sorted = won.to_vec();
    sorted.sort_by(|a, b| a.contrast.ratio.total_cmp(&b.contrast.ratio));
    sorted[(sorted.len() - 1) / 2]
}

/// "create_issue takes sqlite 2.10 times as long (1.90 to 2.40, 5 blocks) with 4 clients".
fn example<'a>(layout: &Layout<'a>, case: &Case<'a>) -> String {
    let place = layout.place(&case.condition);
    let contrast = contrast(layout, case, " on average");
    format!("{contrast} ({}){place}", backing(layout, case))
}

/// "95 % interval 1.90 to 2.40, 5 blocks"; before it, of what was cut off, how long that took.
fn backing<'a>(layout: &Layout<'a>, case: &Case<'a>) -> String {
    let Contrast { is, ends, blocks, .. } = case.contrast;
    let number = words::many(blocks as usize, "block");
    let over = layout
        .amount(case.operation, &case.condition, case.next)
        .filter(|amount| amount.is_bound)
        .map(|amount| format!("{}; ", amount.bound()))
        .unwrap_or_default();
    match words::ends(ends, is, blocks) {
        Some(ends) => format!("{over}95 % interval {ends}, {number}"),
        None => format!("{over}no interval from {number}"),
    }
}

/// How the cases that nobody won ended: "2 are even within 5 %, 1 is undecided".
fn rest(cases: &[Case<'_>]) -> String {
    let number = |wanted: &[Outcome]| cases.iter().filter(|c| wanted.contains(&c.outcome)).count();
    let mut parts = Vec::new();
    for (outcomes, one, many) in [
        (&[Outcome::Even][..], "is even within 5 %", "are even within 5 %"),
        (&[Outcome::Open, Outcome::Noise][..], "is undecided", "are undecided"),
        (&[Outcome::Spiky][..], "is too uneven to decide", "are too uneven to decide"),
        (&[Outcome::TooFew][..], "has too few operations", "have too few operations"),
        (&[Outcome::NeverSteady][..], "was never steady", "were never steady"),
        (&[Outcome::Void][..], "is void", "are void"),
    ] {
        match number(outcomes) {
            0 => {}
            1 => parts.push(format!("1 {one}")),
            n => parts.push(format!("{n} {many}")),
        }
    }
    words::list(&parts)
}

/// Several levels win: a factor that turns the result round, or that nobody wins throughout.
fn depends<'a>(
    layout: &Layout<'a>,
    cases: &[Case<'a>],
    wins: &BTreeMap<&str, Vec<&Case<'a>>>,
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
    layout: &Layout<'a>,
    cases: &[Case<'a>],
    wins: &BTreeMap<&str, Vec<&Case<'a>>>,
) -> String {
    let mut wins: Vec<(&str, &[&Case])> =
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
fn shared<'a>(layout: &Layout<'a>, some: &[&Case<'a>], cases: &[Case<'a>]) -> String {
    let others: Vec<&Case> = cases.iter().filter(|case| !some.contains(case)).collect();
    let all = match some.len() {
        0 | 1 => return String::new(),
        2 => "both",
        _ => "all",
    };
    let place = whereabouts(layout, some, &others);
    if place.is_empty() { place } else { format!("{all} {place}") }
}

/// The case whose interval is furthest from a tie.
fn strongest<'b, 'a>(won: &[&'b Case<'a>]) -> &'b Case<'a> {
    let low = |case: &Case| case.contrast.ends.0.unwrap_or(0.0);
    won.iter().copied().max_by(|a, b| low(a).total_cmp(&low(b))).expect("a case that was won")
}

/// A sentence for each factor (or the operation) that turns the result round: at each of its
/// levels one contender wins more than half of the comparisons and no other wins any, and it is
/// not the same one at all of them.
fn splits<'a>(layout: &Layout<'a>, cases: &[Case<'a>]) -> Vec<String> {
    let factors = std::iter::once("operation").chain(layout.varying.iter().copied());
    let sentence = |(number, factor): (usize, &'a str)| {
        let level_of =
            |case: &Case<'a>| if number == 0 { case.operation } else { case.condition[number - 1] };
        let mut groups: Vec<(&str, Vec<&Case>)> = Vec::new();
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
fn part<'a>(layout: &Layout<'a>, place: &str, group: &[&Case<'a>]) -> Option<String> {
    let winner = over::winner(group)?;
    let won: Vec<&Case> = group.iter().copied().filter(|c| c.outcome == Outcome::Won).collect();
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
    if cases.iter().all(|case| case.outcome == Outcome::TooFew) {
        let each = if cases.len() > 1 { "each" } else { "it" };
        return format!(
            "{each} rests on trials with fewer than 20 operations, too few for a verdict"
        );
    }
    if cases.iter().all(|case| case.outcome == Outcome::NeverSteady) {
        let each = if cases.len() > 1 { "each holds" } else { "it holds" };
        return format!("{each} a trial that was to be steady and was not");
    }
    if cases.iter().all(|case| case.outcome == Outcome::Void) {
        return "levels did not answer alike, or left something broken, so that what was timed is not the \
                same work"
            .into();
    }
    if cases.iter().all(|case| case.contrast.verdict == Verdict::ShortOfProcessors) {
        return "threads waited for a processor for so long that the verdict could be another without it"
            .into();
    }
    let all: Vec<&Case> = cases.iter().filter(|c| c.outcome != Outcome::Even).collect();
    let closest = if all.is_empty() { &cases[0] } else { middle(&all) };
    let leader = words::contender(layout.compare, closest.leader);
    let tally = if cases.len() > 1 {
        format!("{}; in the middle case ", rest(cases))
    } else {
        String::new()
    };
    format!(
        "{tally}{} ({}){}",
        contrast(layout, closest, &format!(" as {leader}")),
        backing(layout, closest),
        layout.place(&closest.condition)
    )
}

/// The levels that are shown to be slower than the leader of some case, and in how many.
fn behind(layout: &Layout<'_>, cases: &[Case<'_>]) -> String {
    let mut parts = Vec::new();
    for level in layout.contenders() {
        let number = cases.iter().filter(|case| case.behind.contains(&level)).count();
        if number > 0 && cases.iter().any(|case| case.outcome != Outcome::Noise) {
            let name = words::contender(layout.compare, level);
            parts.push(format!("{name} is slower in {number}"));
        }
    }
    if parts.is_empty() { String::new() } else { format!("; {}", words::list(&parts)) }
}
