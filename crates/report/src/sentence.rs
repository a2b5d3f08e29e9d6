//! The run in sentences that the author of the slowest engine would sign.

mod against;
mod answer;
mod caveats;
mod depends;
mod machines;
mod nothing;
pub mod over;
mod undecided;

use std::collections::BTreeMap;

use bakeoff_analysis::{Document, Verdict};
use bakeoff_results::FigureOfMerit;

use self::against::against;
use self::depends::depends;
use self::nothing::without_cases;
use self::undecided::undecided;
use crate::amount;
use crate::behind;
use crate::block::StyledText;
use crate::confidence::{Confidence, ConfidenceGrade};
use crate::disk;
use crate::layout::{self, DocumentLayout};
use crate::leads;
use crate::promises;
use crate::searches;
use crate::unreached;
use crate::verdict::{self, Contrast, LeaderOutcome, OperationCase};
use crate::words;

/// The answer of the whole run in words: for each promise of durability which level of the compared factor
/// is fastest, by how much and how sure that is; or that it depends, and on what; or that nothing is
/// decided.
///
/// It goes by the figure of merit and never claims more than the 95 % intervals allow.
pub fn verdict(document: &Document) -> String {
    let said = RunAnswer::from_layout(&DocumentLayout::new(document));
    let sentences = said.sentences.iter().map(StyledText::text);
    let all = [said.on, said.broken].into_iter().chain(sentences).chain([said.rest]);
    all.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The answer of a run.
pub struct RunAnswer {
    /// On what disk it holds; empty where none is simulated.
    pub on: String,
    /// The promises that were broken; empty where none was.
    pub broken: String,
    /// Who is fastest: a sentence for each promise of durability, or one of the run.
    pub sentences: Vec<StyledText>,
    /// What else has to be known with them, a sentence each; empty where there is nothing.
    pub rest: String,
    /// How sure the sentences are; `None` where nothing is compared.
    pub confidence: Option<Confidence>,
}

impl RunAnswer {
    /// Of a run.
    pub fn from_layout(layout: &DocumentLayout<'_>) -> Self {
        let document = layout.document;
        let cases = verdict::cases(layout);
        // Where nothing was to be timed, that nothing was timed is no finding.
        let is_timed = layout::is_timed(document);
        // Rates that were tried on the way to an answer are no levels to be compared.
        let searched = searches::answer(layout);
        let is_compared = is_timed && searched.is_none();
        let confidence = Confidence::from_cases(layout, &cases).filter(|_| is_compared);
        let mut clauses = Vec::new();
        if is_compared {
            clauses.extend(unreached::clauses(document));
            clauses.extend(disk::turns(layout));
            clauses.extend(machines::apart(layout, &cases));
            clauses.extend(caveats::otherwise_counted(layout, &cases));
            clauses.extend(caveats::held_back(layout));
            clauses.extend(caveats::not_decided(layout));
            clauses.extend(caveats::cut_off(layout, &cases));
            clauses.extend(caveats::fresh(layout));
            clauses.extend(behind::behind(layout));
        }
        clauses.extend(promises::kept(document));
        clauses.extend(caveats::below_noise(&cases));
        clauses.extend(caveats::missing(layout, &cases));
        clauses.extend(caveats::lost(document));
        clauses.extend(caveats::first_error(layout));
        clauses.extend(caveats::progress(document));
        let is_low = confidence.as_ref().is_some_and(|it| it.level == ConfidenceGrade::Low);
        let sentences = match searched {
            Some(answer) => vec![answer],
            None if is_timed => answer::sentences(layout, &cases, is_low),
            None => Vec::new(),
        };
        let sentence = |clause: &String| capital(document, clause) + ".";
        let broken = promises::broken(document);
        let broken = if broken.is_empty() { String::new() } else { sentence(&broken.join("; ")) };
        let rest = clauses.iter().map(sentence).collect::<Vec<_>>().join(" ");
        let on = disk::line(document).unwrap_or_default();
        Self { on, broken, sentences, rest, confidence }
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

fn finding(layout: &DocumentLayout<'_>, cases: &[OperationCase<'_>]) -> String {
    if cases.is_empty() {
        return without_cases(layout);
    }
    if let Some(told) = against(layout, cases) {
        return told;
    }
    let mut wins: BTreeMap<&str, Vec<&OperationCase>> = BTreeMap::new();
    for case in cases.iter().filter(|case| case.outcome == LeaderOutcome::Won) {
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

fn one_winner<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    leader: &str,
    won: &[&OperationCase<'a>],
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
    let which = if won.len() == 2 { "at the least" } else { "at the median" };
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
fn rate_of<'a>(layout: &DocumentLayout<'a>, cases: &[&OperationCase<'a>]) -> Option<FigureOfMerit> {
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
fn contrast<'a>(layout: &DocumentLayout<'a>, case: &OperationCase<'a>, than: &str) -> String {
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
fn open<'a>(layout: &DocumentLayout<'a>, cases: &[OperationCase<'a>]) -> String {
    let (won, open): (Vec<&OperationCase>, Vec<&OperationCase>) =
        cases.iter().partition(|case| case.outcome == LeaderOutcome::Won);
    let all = if open.len() > 1 { "all " } else { "" };
    match whereabouts(layout, &open, &won) {
        place if place.is_empty() => place,
        place => format!(", {all}{place}"),
    }
}

/// "of create_issue with strict durability": what some cases share, and others don't all.
fn whereabouts<'a>(
    layout: &DocumentLayout<'a>,
    some: &[&OperationCase<'a>],
    others: &[&OperationCase<'a>],
) -> String {
    let Some(first) = some.first() else { return String::new() };
    let sets_apart = |same: &dyn Fn(&OperationCase<'a>) -> bool| {
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
fn range(won: &[&OperationCase<'_>]) -> Option<String> {
    let by_ratio =
        |a: &&&OperationCase, b: &&&OperationCase| a.contrast.ratio.total_cmp(&b.contrast.ratio);
    let (least, most) = (won.iter().min_by(by_ratio)?, won.iter().max_by(by_ratio)?);
    let both = least.contrast.is == most.contrast.is;
    let [low, high] = [least, most].map(|case| words::times(case.contrast.ratio, case.contrast.is));
    // "At least" once is enough.
    let end = if both { words::ratio(most.contrast.ratio) } else { high.clone() };
    (low != high).then(|| format!("{low} to {end}"))
}

/// The case with the median lead: neither the kindest nor the hardest to the others.
fn middle<'b, 'a>(won: &[&'b OperationCase<'a>]) -> &'b OperationCase<'a> {
    let mut sorted = won.to_vec();
    sorted.sort_by(|a, b| a.contrast.ratio.total_cmp(&b.contrast.ratio));
    sorted[(sorted.len() - 1) / 2]
}

/// "create_issue takes sqlite 2.10 times as long (1.90 to 2.40, 5 blocks) with 4 clients".
fn example<'a>(layout: &DocumentLayout<'a>, case: &OperationCase<'a>) -> String {
    let place = layout.place(&case.condition);
    let contrast = contrast(layout, case, " on average");
    format!("{contrast} ({}){place}", backing(layout, case))
}

/// "95 % interval 1.90 to 2.40, 5 blocks"; before it, of what was cut off, how long that took.
fn backing<'a>(layout: &DocumentLayout<'a>, case: &OperationCase<'a>) -> String {
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
fn rest(cases: &[OperationCase<'_>]) -> String {
    let is_short = |case: &&OperationCase| case.contrast.verdict == Verdict::ShortOfProcessors;
    let short =
        cases.iter().filter(|case| case.outcome == LeaderOutcome::Open).filter(is_short).count();
    let number = |wanted: &[LeaderOutcome]| {
        let all = cases.iter().filter(|case| wanted.contains(&case.outcome)).count();
        if wanted.contains(&LeaderOutcome::Open) { all - short } else { all }
    };
    let mut parts = Vec::new();
    for (outcomes, one, many) in [
        (&[LeaderOutcome::Even][..], "is even within 5 %", "are even within 5 %"),
        (&[LeaderOutcome::Open, LeaderOutcome::Noise][..], "is undecided", "are undecided"),
        (&[LeaderOutcome::Spiky][..], "is spiky", "are spiky"),
        (&[LeaderOutcome::TooFew][..], "has too few operations", "have too few operations"),
        (&[LeaderOutcome::NeverSteady][..], "was never steady", "were never steady"),
        (&[LeaderOutcome::Void][..], "is void", "are void"),
    ] {
        match number(outcomes) {
            0 => {}
            1 => parts.push(format!("1 {one}")),
            n => parts.push(format!("{n} {many}")),
        }
    }
    match short {
        0 => {}
        1 => parts.push("1 is short of processors".into()),
        n => parts.push(format!("{n} are short of processors")),
    }
    words::list(&parts)
}
