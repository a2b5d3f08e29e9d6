//! The result in sentences that the author of the slowest engine would sign.

mod against;
mod answer;
mod caveats;
mod depends;
mod machines;
mod not_compared;
pub mod numeric_factor;
mod undecided;

use std::collections::BTreeMap;

use bakeoff_analysis::{Document, Verdict};
use bakeoff_results::{FigureOfMerit, OwnFactor};
use serde::{Serialize, Serializer};

use self::against::describe_levels;
use self::depends::describe_dependence;
use self::not_compared::without_cases;
use self::undecided::describe_undecided;
use crate::amount;
use crate::block::StyledText;
use crate::confidence::{Confidence, ConfidenceGrade};
use crate::disk;
use crate::layout::{self, DocumentLayout};
use crate::offered_rate;
use crate::promise_cases;
use crate::promises;
use crate::searches;
use crate::unreached_limits;
use crate::verdict::{self, Contrast, LeaderOutcome, OperationCase};
use crate::words;

/// For each promise the fastest level, by how much and how sure; or what it depends on; or that
/// nothing is decided.
///
/// It goes by the figure of merit and never claims more than the 95 % intervals allow.
pub fn verdict(document: &Document) -> String {
    list_sentences(document).join(" ")
}

/// The verdict, sentence by sentence: the disk, broken promises, each answer, caveats.
pub fn list_sentences(document: &Document) -> Vec<String> {
    let said = RunAnswer::from_layout(&DocumentLayout::new(document));
    let sentences = said.sentences.iter().map(StyledText::text);
    let all = [said.on, said.broken].into_iter().chain(sentences).chain(said.rest);
    all.filter(|part| !part.is_empty()).collect()
}

#[derive(Serialize)]
pub struct RunAnswer {
    /// Empty where no disk is simulated.
    pub on: String,
    pub broken: String,
    /// One for each promise of durability, or one of the run.
    #[serde(serialize_with = "write_plain")]
    pub sentences: Vec<StyledText>,
    /// Caveats, a sentence each.
    #[serde(serialize_with = "write_joined")]
    pub rest: Vec<String>,
    pub confidence: Option<Confidence>,
}

fn write_plain<S: Serializer>(texts: &[StyledText], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(texts.iter().map(StyledText::text))
}

fn write_joined<S: Serializer>(sentences: &[String], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&sentences.join(" "))
}

impl RunAnswer {
    pub fn from_layout(layout: &DocumentLayout<'_>) -> Self {
        let document = layout.document;
        let cases = verdict::find_cases(layout);
        // In a run of power cuts alone, no time is no finding.
        let is_timed = layout::is_timed(document);
        // Rates that a search tried are not compared.
        let searched = searches::describe_answer(layout);
        let is_compared = is_timed && searched.is_none();
        let confidence = Confidence::from_cases(layout, &cases).filter(|_| is_compared);
        let mut clauses = Vec::new();
        if is_compared {
            clauses.extend(disk::describe_turns(layout));
        }
        clauses.extend(promises::describe_kept(document));
        if is_compared {
            clauses.extend(unreached_limits::list_clauses(document));
            clauses.extend(machines::describe_apart(layout, &cases));
            clauses.extend(caveats::otherwise_counted(layout, &cases));
            clauses.extend(caveats::held_back(layout));
            clauses.extend(caveats::not_decided(layout));
            clauses.extend(caveats::cut_off(layout, &cases));
            clauses.extend(caveats::name_fresh(layout));
            clauses.extend(offered_rate::describe_behind(layout));
        }
        clauses.extend(caveats::below_noise(&cases));
        clauses.extend(caveats::name_missing(layout, &cases));
        clauses.extend(caveats::count_lost(document));
        clauses.extend(caveats::first_error(layout));
        clauses.extend(caveats::describe_progress(document));
        let is_low = confidence.as_ref().is_some_and(|it| it.level == ConfidenceGrade::Low);
        let sentences = match searched {
            Some(answer) => vec![answer],
            None if is_timed => answer::build_sentences(layout, &cases, is_low),
            None => Vec::new(),
        };
        let sentence = |clause: &String| capitalize_text(document, clause) + ".";
        let broken = promises::describe_broken(document);
        let broken = if broken.is_empty() { String::new() } else { sentence(&broken.join("; ")) };
        let rest = clauses.iter().map(sentence).collect();
        let on = disk::describe_disks(document).unwrap_or_default();
        Self { on, broken, sentences, rest, confidence }
    }
}

/// A name keeps its own letters.
fn capitalize_text(document: &Document, text: &str) -> String {
    let engines = document.run.run.levels_of(OwnFactor::Engine.as_str()).iter();
    let others = document.other_cuts.iter().map(|other| &other.promise.engine);
    let promised = document.promises.iter().map(|promise| &promise.engine);
    let mut names = engines.chain(others).chain(promised);
    match names.any(|name| text.starts_with(name)) {
        true => text.into(),
        false => words::capitalize(text),
    }
}

fn describe_finding(layout: &DocumentLayout<'_>, cases: &[OperationCase<'_>]) -> String {
    if cases.is_empty() {
        return without_cases(layout);
    }
    if let Some(told) = describe_levels(layout, cases) {
        return told;
    }
    let mut wins: BTreeMap<&str, Vec<&OperationCase>> = BTreeMap::new();
    for case in cases.iter().filter(|case| case.outcome == LeaderOutcome::Won) {
        wins.entry(case.leader).or_default().push(case);
    }
    match wins.len() {
        0 => describe_undecided(layout, cases),
        1 => {
            let (leader, won) = wins.iter().next().expect("one winner");
            one_winner(layout, cases, leader, won)
        }
        _ => describe_dependence(layout, cases, &wins),
    }
}

fn one_winner<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    leader: &str,
    won: &[&OperationCase<'a>],
) -> String {
    let name = words::name_contender(layout.compare, leader);
    if cases.len() == 1 {
        return format!(
            "{name} is fastest: {}",
            replace_name(&name, &describe_example(layout, won[0]))
        );
    }
    let open = format!(" ({}{})", count_outcomes(cases), describe_open(layout, cases));
    let scope = if won.len() == cases.len() {
        format!("in {}", name_all(cases.len()))
    } else {
        format!("in {} of {} comparisons{open}", won.len(), cases.len())
    };
    let contrasts: Vec<Contrast> = won.iter().map(|case| case.contrast).collect();
    if let Some(times) =
        promise_cases::format_ratios(&contrasts).filter(|_| won.len() == cases.len())
    {
        let lead = describe_lead(rate_of(layout, won), &times);
        let interval = promise_cases::back_ratios(&contrasts);
        return format!("{name} is fastest {scope}: {lead}{interval}");
    }
    let Some(range) = format_range(won) else {
        return format!(
            "{name} is fastest {scope}: {}",
            replace_name(&name, &describe_example(layout, won[0]))
        );
    };
    let which = if won.len() == 2 { "at the least" } else { "at the median" };
    let example = describe_example(layout, find_median(won));
    let lead = describe_lead(rate_of(layout, won), &range);
    format!("{name} is fastest {scope}: {lead}, and {which} {example}")
}

/// "it serves" instead of a name that was just used.
fn replace_name(name: &str, text: &str) -> String {
    match text.strip_prefix(name) {
        Some(rest) if rest.starts_with(" serves ") => format!("it{rest}"),
        _ => text.to_owned(),
    }
}

fn rate_of<'a>(layout: &DocumentLayout<'a>, cases: &[&OperationCase<'a>]) -> Option<FigureOfMerit> {
    let mut merits = cases.iter().map(|case| layout.merit(case.operation, &case.condition));
    let first = merits.next()?.filter(|merit| merit.is_rate())?;
    merits.all(|merit| merit == Some(first)).then_some(first)
}

/// "the next best takes 1.90 to 2.40 times as long".
fn describe_lead(rate: Option<FigureOfMerit>, range: &str) -> String {
    match rate {
        None => format!("the next best takes {range} times as long"),
        Some(merit) => {
            let what = amount::counted_noun(merit);
            format!("it serves {range} times as many {what} a second as the next best")
        }
    }
}

/// "create_issue takes 2.10 times as long with sqlite"; by a rate "lmdb serves 2.10 times as many rows a
/// second as sqlite".
fn describe_contrast<'a>(
    layout: &DocumentLayout<'a>,
    case: &OperationCase<'a>,
    than: &str,
) -> String {
    let next = words::name_contender(layout.compare, case.next);
    let ratio = words::format_times(case.contrast.ratio, case.contrast.is);
    match rate_of(layout, &[case]) {
        None => format!("{} takes {ratio} times as long{than} with {next}", case.operation),
        Some(merit) => {
            let leader = words::name_contender(layout.compare, case.leader);
            let what = amount::counted_noun(merit);
            format!("{leader} serves {ratio} times as many {what} a second as {next}")
        }
    }
}

/// ", all with strict durability": where the cases without a winner are.
fn describe_open<'a>(layout: &DocumentLayout<'a>, cases: &[OperationCase<'a>]) -> String {
    let (won, open): (Vec<&OperationCase>, Vec<&OperationCase>) =
        cases.iter().partition(|case| case.outcome == LeaderOutcome::Won);
    let all = if open.len() > 1 { "all " } else { "" };
    match describe_shared(layout, &open, &won) {
        place if place.is_empty() => place,
        place => format!(", {all}{place}"),
    }
}

/// "of create_issue with strict durability": the levels that these cases share, and others don't
/// all.
fn describe_shared<'a>(
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
        .map(|(n, factor)| words::phrase_level(factor, first.condition[n]))
        .collect();
    let mut parts = Vec::new();
    if sets_apart(&|case| case.operation == first.operation) {
        parts.push(format!("of {}", first.operation));
    }
    if !levels.is_empty() {
        parts.push(format!("with {}", words::join_list(&levels)));
    }
    parts.join(" ")
}

fn name_all(cases: usize) -> String {
    match cases {
        1 => "the only comparison".into(),
        2 => "both comparisons".into(),
        _ => format!("all {cases} comparisons"),
    }
}

fn format_range(won: &[&OperationCase<'_>]) -> Option<String> {
    let by_ratio =
        |a: &&&OperationCase, b: &&&OperationCase| a.contrast.ratio.total_cmp(&b.contrast.ratio);
    let (least, most) = (won.iter().min_by(by_ratio)?, won.iter().max_by(by_ratio)?);
    let both = least.contrast.is == most.contrast.is;
    let [low, high] =
        [least, most].map(|case| words::format_times(case.contrast.ratio, case.contrast.is));
    // "At least" once is enough.
    let end = if both { words::format_ratio(most.contrast.ratio) } else { high.clone() };
    (low != high).then(|| format!("{low} to {end}"))
}

/// The median lead is fair to the others.
fn find_median<'b, 'a>(won: &[&'b OperationCase<'a>]) -> &'b OperationCase<'a> {
    let mut sorted = won.to_vec();
    sorted.sort_by(|a, b| a.contrast.ratio.total_cmp(&b.contrast.ratio));
    sorted[(sorted.len() - 1) / 2]
}

/// "create_issue takes 2.10 times as long on average with sqlite (1.90 to 2.40, 5 repetitions) with 4 clients".
fn describe_example<'a>(layout: &DocumentLayout<'a>, case: &OperationCase<'a>) -> String {
    let place = layout.describe_place(&case.condition);
    let contrast = describe_contrast(layout, case, " on average");
    format!("{contrast} ({}){place}", describe_backing(layout, case))
}

/// "95 % interval 1.90 to 2.40, 5 repetitions".
fn describe_backing<'a>(layout: &DocumentLayout<'a>, case: &OperationCase<'a>) -> String {
    let Contrast { is, ends, blocks, .. } = case.contrast;
    let number = words::count_nouns(blocks as usize, "repetition");
    let over = layout
        .amount(case.operation, &case.condition, case.next)
        .filter(|amount| amount.is_bound)
        .map(|amount| format!("{}; ", amount.to_phrase()))
        .unwrap_or_default();
    match words::format_ends(ends, is, blocks) {
        Some(ends) => format!("{over}95 % interval {ends}, {number}"),
        None => format!("{over}no interval from {number}"),
    }
}

/// "2 are even within 5 %, 1 is undecided".
fn count_outcomes(cases: &[OperationCase<'_>]) -> String {
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
    words::join_list(&parts)
}
