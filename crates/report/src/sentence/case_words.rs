//! Words for cases: a ratio, its interval, its place, and how many cases there are.

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{Contrast, LeaderOutcome, OperationCase, Verdict};
use bakeoff_results::FigureOfMerit;

use crate::amount::{self, AmountText};
use crate::words;

/// "it serves" instead of a name that was just used.
pub fn replace_name(name: &str, text: &str) -> String {
    match text.strip_prefix(name) {
        Some(rest) if rest.starts_with(" serves ") => format!("it{rest}"),
        _ => text.to_owned(),
    }
}

/// "the next best takes 1.90 to 2.40 times as long".
pub fn describe_lead(rate: Option<FigureOfMerit>, range: &str) -> String {
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
pub fn describe_contrast<'a>(
    layout: &DocumentLayout<'a>,
    case: &OperationCase<'a>,
    than: &str,
) -> String {
    let next = words::name_contender(layout.compare, case.next);
    let ratio = words::format_times(case.contrast.ratio, case.contrast.is);
    match layout.shared_rate([case]) {
        None => format!("{} takes {ratio} times as long{than} with {next}", case.operation),
        Some(merit) => {
            let leader = words::name_contender(layout.compare, case.leader);
            let what = amount::counted_noun(merit);
            format!("{leader} serves {ratio} times as many {what} a second as {next}")
        }
    }
}

/// ", all with strict durability": where the cases without a winner are.
pub fn describe_open<'a>(layout: &DocumentLayout<'a>, cases: &[OperationCase<'a>]) -> String {
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
pub fn describe_shared<'a>(
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

pub fn name_all(cases: usize) -> String {
    match cases {
        1 => "the only comparison".into(),
        2 => "both comparisons".into(),
        _ => format!("all {cases} comparisons"),
    }
}

pub fn format_range(won: &[OperationCase<'_>]) -> Option<String> {
    let by_ratio =
        |a: &&OperationCase, b: &&OperationCase| a.contrast.ratio.total_cmp(&b.contrast.ratio);
    let (least, most) = (won.iter().min_by(by_ratio)?, won.iter().max_by(by_ratio)?);
    let both = least.contrast.is == most.contrast.is;
    let [low, high] =
        [least, most].map(|case| words::format_times(case.contrast.ratio, case.contrast.is));
    // "At least" once is enough.
    let end = if both { words::format_ratio(most.contrast.ratio) } else { high.clone() };
    (low != high).then(|| format!("{low} to {end}"))
}

/// "create_issue takes 2.10 times as long on average with sqlite (1.90 to 2.40, 5 repetitions) with 4 clients".
pub fn describe_example<'a>(layout: &DocumentLayout<'a>, case: &OperationCase<'a>) -> String {
    let place = words::describe_place(layout, &case.condition);
    let contrast = describe_contrast(layout, case, " on average");
    format!("{contrast} ({}){place}", describe_backing(layout, case))
}

/// "95 % interval 1.90 to 2.40, 5 repetitions".
pub fn describe_backing<'a>(layout: &DocumentLayout<'a>, case: &OperationCase<'a>) -> String {
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
pub fn count_outcomes(cases: &[OperationCase<'_>]) -> String {
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
