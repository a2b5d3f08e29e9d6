//! CSV of power cuts: one row per cut and rule.

use bakeoff_analysis::Document;
use bakeoff_results::{AuditResult, Cut, DurabilityPromise, JudgedImage};

use super::{format_optional, write_line};
use crate::promises;

const CUT: [&str; 17] = [
    "folder",
    "engine",
    "durability",
    "file_system",
    "promised",
    "window_s",
    "most_lost",
    "number",
    "seed",
    "moment",
    "clients",
    "ran_s",
    "acknowledged",
    "conditioned",
    "placed",
    "placed_came",
    "failed",
];

const JUDGED: [&str; 15] = [
    "keep",
    "again",
    "broken",
    "lost",
    "oldest_lost_s",
    "phantom",
    "torn",
    "hole",
    "index_broken",
    "corrupt",
    "corrupt_why",
    "recovery_s",
    "disk_open_s",
    "disk_answer_s",
    "image",
];

/// This run's cuts, then those of others. A failed cut has one row, without a rule.
pub fn write_cuts(document: &Document) -> String {
    let mut out = String::new();
    write_line(&mut out, &CUT.into_iter().chain(JUDGED).map(str::to_owned).collect::<Vec<_>>());
    for told in promises::list_promises(document) {
        for cut in told.cuts {
            let start = cut_fields(told.folder, cut);
            if cut.judged.is_empty() {
                let nothing = vec![String::new(); JUDGED.len()];
                write_line(&mut out, &[&start[..], &nothing].concat());
            }
            for judged in &cut.judged {
                write_line(&mut out, &[&start[..], &judged_fields(cut, judged)].concat());
            }
        }
    }
    out
}

fn cut_fields(folder: Option<&str>, cut: &Cut) -> Vec<String> {
    let (promised, window_s, most_lost) = match cut.promised {
        DurabilityPromise::Nothing => ("nothing", None, None),
        DurabilityPromise::Whole { window_s, most_lost } => ("whole", window_s, most_lost),
        DurabilityPromise::Everything => ("everything", None, None),
    };
    vec![
        format_optional(folder),
        cut.engine.clone(),
        cut.durability.clone(),
        cut.file_system.name().to_owned(),
        promised.to_owned(),
        format_optional(window_s),
        format_optional(most_lost),
        cut.number.to_string(),
        cut.seed.to_string(),
        cut.moment.clone(),
        cut.clients.to_string(),
        cut.ran_s.to_string(),
        cut.acknowledged.to_string(),
        format_optional(cut.conditioned.as_ref().map(|it| it.operations)),
        format_optional(cut.placed.as_ref().map(|it| &it.payment)),
        format_optional(cut.placed.as_ref().map(|it| it.came)),
        format_optional(cut.failed.as_ref()),
    ]
}

fn judged_fields(cut: &Cut, judged: &JudgedImage) -> Vec<String> {
    let verdict = &judged.verdict;
    let timed = cut.timed.as_ref().filter(|timed| timed.keep == judged.keep);
    let AuditResult { lost, phantom, torn, hole, index_broken, .. } = *verdict;
    vec![
        judged.keep.clone(),
        format_optional(judged.again.as_ref().map(|again| &again.moment)),
        verdict.breaks_promise(cut.promised).to_string(),
        lost.to_string(),
        format_optional(verdict.oldest_lost_s),
        phantom.to_string(),
        torn.to_string(),
        hole.to_string(),
        index_broken.to_string(),
        verdict.corrupt.is_some().to_string(),
        format_optional(verdict.corrupt.as_ref()),
        format_optional(verdict.recovery_s),
        format_optional(timed.and_then(|timed| timed.open_s)),
        format_optional(timed.and_then(|timed| timed.answer_s)),
        format_optional(judged.image.as_ref()),
    ]
}
