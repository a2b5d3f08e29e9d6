//! How the cuts were made, and a picture of what they took.

use std::collections::BTreeMap;

use bakeoff_analysis::PromiseView;
use bakeoff_results::{Cut, FileSystem, Promised};

use super::found::{Uncounted, uncounted};
use crate::loss::{self, LossLane, LossLimit};
use crate::promises::PromiseCuts;
use crate::words;

/// How the cuts were made: a sentence for each run.
pub fn how(all: &[PromiseCuts<'_>]) -> String {
    let runs = all.chunk_by(|one, next| one.folder == next.folder);
    let mut sentences: Vec<String> = runs.map(how_of_run).collect();
    if all.iter().any(|told| told.promise.kept == Some(false)) {
        let tries = "Which client comes first is up to the system: a cut may have to be made again \
                     more than once before it shows the same.";
        sentences.push(tries.into());
    }
    sentences.join(" ")
}

fn how_of_run(all: &[PromiseCuts<'_>]) -> String {
    let (folder, plan) = (all[0].folder, all[0].plan);
    let sum = |of: fn(&PromiseView) -> u32| all.iter().map(|told| of(told.promise)).sum::<u32>();
    let (made, failed) = (sum(|promise| promise.cuts), sum(|promise| promise.failed));
    let mut text = format!("{} made", words::many(made as usize, "cut"));
    match (folder, plan) {
        (None, Some(plan)) => text += &format!(" of {} planned", words::count(plan.planned.into())),
        (Some(folder), _) => text += &format!(" by the run in {folder}"),
        (None, None) => {}
    }
    if let Some(plan) = plan {
        let clients = words::many(plan.clients as usize, "client");
        // Where disks promise, each has a row.
        text += &match &*plan.promise.who {
            "disk" => format!(", with {clients} at work"),
            _ => format!(", on the disk {} with {clients} at work", plan.disk),
        };
        if plan.file_systems.contains(&FileSystem::Posix) {
            text += "; on posix a name is there once its folder was synced, as POSIX promises and no \
                     more, and on ext4 with the next commit of the journal";
        }
    }
    text += &conditioned(all);
    text += &placed(all);
    text += &again(all);
    if failed > 0 {
        text += &format!("; {} failed", words::count(failed.into()));
    }
    text + "."
}

/// What the clients did before, where they turned debts over.
fn conditioned(all: &[PromiseCuts<'_>]) -> String {
    let cuts = all.iter().flat_map(|told| &told.cuts);
    let operations = cuts.filter_map(|cut| Some(cut.conditioned.as_ref()?.operations));
    let range = operations
        .map(|it| (it, it))
        .reduce(|(least, most), (it, _)| (least.min(it), most.max(it)));
    let count = |(least, most)| match (words::count(least), words::count(most)) {
        (least, most) if least == most => least,
        (least, most) => format!("{least} to {most}"),
    };
    range.map_or(String::new(), |range| {
        let count = count(range);
        format!("; at steady: {count} operations preconditioned the engine")
    })
}

/// What cuts were placed in, and in which that did not come.
fn placed(all: &[PromiseCuts<'_>]) -> String {
    let cuts = all.iter().flat_map(|told| &told.cuts).filter(|cut| cut.failed.is_none());
    let (mut came, mut late) = (BTreeMap::<&str, u64>::new(), 0);
    for placed in cuts.filter_map(|cut| cut.placed.as_ref()) {
        match placed.came {
            true => *came.entry(&placed.payment).or_default() += 1,
            false => late += 1,
        }
    }
    let list: Vec<String> =
        came.iter().map(|(what, count)| format!("{} in a {what}", words::count(*count))).collect();
    let mut text = match list.is_empty() {
        true => String::new(),
        false => format!("; placed where deferred work is done: {}", list.join(", ")),
    };
    if late > 0 {
        text += &format!(
            "; {} were to be, but no such work came in time, and the power went later",
            words::count(late)
        );
    }
    text
}

/// How often the power went a second time, and how often while there was still something to do.
fn again(all: &[PromiseCuts<'_>]) -> String {
    let judged = all.iter().flat_map(|told| &told.cuts).flat_map(|cut| &cut.judged);
    let again: Vec<_> = judged.filter_map(|judged| judged.again.as_ref()).collect();
    let in_time = again.iter().filter(|again| again.in_time).count();
    if again.is_empty() {
        return String::new();
    }
    format!(
        "; the power went again in {} recoveries, in {} of them before all was recovered and checked",
        words::count(again.len() as u64),
        words::count(in_time as u64)
    )
}

/// How old the oldest loss of each cut was.
pub fn picture(all: &[PromiseCuts<'_>]) -> Option<String> {
    let tried = all.iter().filter(|told| told.promise.cuts > 0);
    let lanes: Vec<LossLane> = tried.map(lane).collect();
    loss::svg(&lanes)
}

fn lane(told: &PromiseCuts<'_>) -> LossLane {
    let promise = told.promise;
    let of_rule = |keep: &str| {
        let judged = |cut: &&Cut| {
            let of_rule = cut.judged.iter().filter(|judged| judged.keep == keep);
            let dot = |verdict: &bakeoff_results::AuditResult| {
                Some((verdict.oldest_lost_s?, verdict.breaks(cut.promised)))
            };
            of_rule.filter_map(|judged| dot(&judged.verdict)).collect::<Vec<_>>()
        };
        told.cuts.iter().flat_map(judged).collect()
    };
    let rules = promise.rules.iter().map(|rule| (rule.keep.clone(), of_rule(&rule.keep)));
    let folder = told.folder.map_or(String::new(), |folder| format!(" ({folder})"));
    LossLane {
        name: format!("{}, {}{folder}", promise.engine, told.level()),
        rules: rules.collect(),
        empty: match uncounted(promise) {
            Uncounted::None | Uncounted::Some => "nothing lost",
            Uncounted::All => "nothing could be counted",
        },
        uncounted: told
            .cuts
            .iter()
            .flat_map(|cut| &cut.judged)
            .filter(|it| it.verdict.corrupt.is_some() && it.verdict.oldest_lost_s.is_none())
            .count(),
        limit: match promise.promised {
            Promised::Whole { window_s, most_lost } => LossLimit { window_s, most_lost },
            Promised::Nothing | Promised::Everything => LossLimit::default(),
        },
    }
}
