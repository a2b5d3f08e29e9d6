//! A row a power cut and rule.

use bakeoff_analysis::Document;
use bakeoff_results::{AuditResult, Cut, JudgedImage, Promised};

use super::{line, maybe};
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

/// This run's cuts, then those of others; a cut that failed has one row, with nothing of a rule.
pub fn render(document: &Document) -> String {
    let mut out = String::new();
    line(&mut out, &CUT.into_iter().chain(JUDGED).map(str::to_owned).collect::<Vec<_>>());
    for told in promises::all(document) {
        for cut in told.cuts {
            let start = cut_fields(told.folder, cut);
            if cut.judged.is_empty() {
                let nothing = vec![String::new(); JUDGED.len()];
                line(&mut out, &[&start[..], &nothing].concat());
            }
            for judged in &cut.judged {
                line(&mut out, &[&start[..], &judged_fields(cut, judged)].concat());
            }
        }
    }
    out
}

fn cut_fields(folder: Option<&str>, cut: &Cut) -> Vec<String> {
    let (promised, window_s, most_lost) = match cut.promised {
        Promised::Nothing => ("nothing", None, None),
        Promised::Whole { window_s, most_lost } => ("whole", window_s, most_lost),
        Promised::Everything => ("everything", None, None),
    };
    vec![
        maybe(folder),
        cut.engine.clone(),
        cut.durability.clone(),
        cut.file_system.name().to_owned(),
        promised.to_owned(),
        maybe(window_s),
        maybe(most_lost),
        cut.number.to_string(),
        cut.seed.to_string(),
        cut.moment.clone(),
        cut.clients.to_string(),
        cut.ran_s.to_string(),
        cut.acknowledged.to_string(),
        maybe(cut.conditioned.as_ref().map(|it| it.operations)),
        maybe(cut.placed.as_ref().map(|it| &it.payment)),
        maybe(cut.placed.as_ref().map(|it| it.came)),
        maybe(cut.failed.as_ref()),
    ]
}

fn judged_fields(cut: &Cut, judged: &JudgedImage) -> Vec<String> {
    let verdict = &judged.verdict;
    let timed = cut.timed.as_ref().filter(|timed| timed.keep == judged.keep);
    let AuditResult { lost, phantom, torn, hole, index_broken, .. } = *verdict;
    vec![
        judged.keep.clone(),
        maybe(judged.again.as_ref().map(|again| &again.moment)),
        verdict.breaks(cut.promised).to_string(),
        lost.to_string(),
        maybe(verdict.oldest_lost_s),
        phantom.to_string(),
        torn.to_string(),
        hole.to_string(),
        index_broken.to_string(),
        verdict.corrupt.is_some().to_string(),
        maybe(verdict.corrupt.as_ref()),
        maybe(verdict.recovery_s),
        maybe(timed.and_then(|timed| timed.open_s)),
        maybe(timed.and_then(|timed| timed.answer_s)),
        maybe(judged.image.as_ref()),
    ]
}
