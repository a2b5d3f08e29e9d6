//! Says that no level is shown to be fastest, and why.

use bakeoff_analysis::Verdict;

use super::{count_outcomes, describe_backing, describe_contrast, find_median, name_all};
use crate::layout::DocumentLayout;
use crate::verdict::{LeaderOutcome, OperationCase};
use crate::words;

pub fn describe_undecided<'a>(layout: &DocumentLayout<'a>, cases: &[OperationCase<'a>]) -> String {
    let slower = count_behind(layout, cases);
    if cases.iter().all(|case| case.outcome == LeaderOutcome::Even) && slower.is_empty() {
        let levels: Vec<String> = layout
            .contenders()
            .iter()
            .map(|level| words::name_contender(layout.compare, level))
            .collect();
        return format!(
            "{} are equally fast within 5 % in {}",
            words::join_list(&levels),
            name_all(cases.len())
        );
    }
    if let Some(told) = describe_closeness(layout, cases).filter(|_| slower.is_empty()) {
        return told;
    }
    let cause = describe_cause(layout, cases);
    let scope = match cases.len() {
        1 => String::new(),
        n => format!(" in any of {n} comparisons"),
    };
    format!("Nothing is shown to be fastest{scope}: {cause}{slower}")
}

/// A difference of at most this share matters to few.
const MATTERS: f64 = 0.10;

/// "No difference that matters was found: sqlite and lmdb are at most 6 % apart." `None` where some
/// may be further apart than [`MATTERS`], or a case has no word for another reason.
fn describe_closeness(layout: &DocumentLayout<'_>, cases: &[OperationCase<'_>]) -> Option<String> {
    let is_open =
        |it: &OperationCase<'_>| matches!(it.outcome, LeaderOutcome::Open | LeaderOutcome::Even);
    let has_word = |it: &OperationCase<'_>| it.contrast.verdict != Verdict::ShortOfProcessors;
    let apart = |it: &OperationCase<'_>| it.apart.filter(|_| is_open(it) && has_word(it));
    let most = cases.iter().map(apart).try_fold(0.0, |most: f64, it| Some(most.max(it?)))?;
    let levels: Vec<String> = layout
        .contenders()
        .iter()
        .map(|level| words::name_contender(layout.compare, level))
        .collect();
    (most <= MATTERS).then(|| {
        format!(
            "No difference that matters was found: {} are at most {:.0} % apart in {}",
            words::join_list(&levels),
            (100.0 * most).ceil(),
            name_all(cases.len())
        )
    })
}

fn describe_cause<'a>(layout: &DocumentLayout<'a>, cases: &[OperationCase<'a>]) -> String {
    if cases.iter().all(|case| case.contrast.blocks < 2) {
        return "each was run once, and an interval needs two".into();
    }
    if cases.iter().all(|case| case.outcome == LeaderOutcome::Spiky) {
        return "single repetitions differ too much from the rest for an interval to be trusted"
            .into();
    }
    if cases.iter().all(|case| case.outcome == LeaderOutcome::TooFew) {
        let each = if cases.len() > 1 { "each" } else { "it" };
        return format!(
            "{each} rests on trials with fewer than 20 operations, too few for a verdict"
        );
    }
    if cases.iter().all(|case| case.outcome == LeaderOutcome::NeverSteady) {
        let each = if cases.len() > 1 { "each holds" } else { "it holds" };
        return format!("{each} a trial that was to be steady and was not");
    }
    if cases.iter().all(|case| case.outcome == LeaderOutcome::Void) {
        return "levels did not answer alike, left something broken or broke their promise, so that what \
                was timed is not the same work"
            .into();
    }
    if cases.iter().all(|case| case.contrast.verdict == Verdict::ShortOfProcessors) {
        return "threads waited for a processor for so long that the verdict could be another without it"
            .into();
    }
    let all: Vec<&OperationCase> =
        cases.iter().filter(|c| c.outcome != LeaderOutcome::Even).collect();
    let closest = if all.is_empty() { &cases[0] } else { find_median(&all) };
    let leader = words::name_contender(layout.compare, closest.leader);
    let tally = if cases.len() > 1 {
        format!("{}; at the median ", count_outcomes(cases))
    } else {
        String::new()
    };
    format!(
        "{tally}{} ({}){}",
        describe_contrast(layout, closest, &format!(" as with {leader}")),
        describe_backing(layout, closest),
        layout.describe_place(&closest.condition)
    )
}

/// Levels that are slower than the leader of some case, and in how many.
fn count_behind(layout: &DocumentLayout<'_>, cases: &[OperationCase<'_>]) -> String {
    let mut parts = Vec::new();
    for level in layout.contenders() {
        let number = cases.iter().filter(|case| case.behind.contains(&level)).count();
        if number > 0 && cases.iter().any(|case| case.outcome != LeaderOutcome::Noise) {
            let name = words::name_contender(layout.compare, level);
            parts.push(format!("{name} is slower in {number}"));
        }
    }
    if parts.is_empty() { String::new() } else { format!("; {}", words::join_list(&parts)) }
}
