//! Words for verdicts that the number of comparisons holds back.

use bakeoff_analysis::{Comparison, Document, Verdict};

use crate::words;

/// The number of comparisons holds back a verdict that the interval alone would give.
pub const HELD_BACK: &str = " (clear alone)";

pub fn mark_verdict(verdict: Verdict) -> String {
    format!("{}{HELD_BACK}", verdict.word())
}

/// The word of a comparison, marked where it is held back.
pub fn format_verdict(comparison: &Comparison) -> String {
    match comparison.is_held_back() {
        true => mark_verdict(comparison.verdict),
        false => comparison.verdict.word().to_owned(),
    }
}

pub fn explain_mark(over: Option<u32>) -> String {
    let among = over.map_or("many".to_owned(), |over| words::format_count(over.into()));
    format!(
        "Clear alone: the interval by itself would say faster or slower. Among {among} comparisons \
         that happens by chance, so the verdict stays undecided. More repetitions may decide it"
    )
}

/// The largest difference of a level from itself, as a share.
pub fn furthest_from_itself(document: &Document) -> Option<f64> {
    document.noise.iter().filter_map(Comparison::distance_from_itself).reduce(f64::max)
}
