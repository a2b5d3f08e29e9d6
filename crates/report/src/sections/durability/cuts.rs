//! Describes how the cuts were made, and draws their losses.

use std::collections::BTreeMap;

use bakeoff_analysis::PromiseView;
use bakeoff_results::{Cut, DurabilityPromise, FileSystem, OwnFactor};

use super::findings::{UncountedImages, count_uncounted};
use crate::loss_chart::{self, LossLane, LossLimit};
use crate::promises::PromiseCuts;
use crate::words;

pub fn describe_cuts(all: &[PromiseCuts<'_>]) -> String {
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
    let mut text = format!("{} made", words::count_nouns(made as usize, "cut"));
    match (folder, plan) {
        (None, Some(plan)) => {
            text += &format!(" of {} planned", words::format_count(plan.planned.into()))
        }
        (Some(folder), _) => text += &format!(" by the run in {folder}"),
        (None, None) => {}
    }
    if let Some(plan) = plan {
        let clients = words::count_nouns(plan.clients as usize, "client");
        // If disks make the promise, each has a row.
        text += &if plan.promise.who == OwnFactor::Disk {
            format!(", with {clients} at work")
        } else {
            format!(", on the disk {} with {clients} at work", plan.disk)
        };
        if plan.file_systems.contains(&FileSystem::Posix) {
            text += "; on posix a name is there once its folder was synced, as POSIX promises and no \
                     more, and on ext4 with the next commit of the journal";
        }
    }
    text += &describe_conditioning(all);
    text += &describe_placing(all);
    text += &describe_second_cuts(all);
    if failed > 0 {
        text += &format!("; {} failed", words::format_count(failed.into()));
    }
    text + "."
}

/// The clients' work before the cut, if they cycled deferred work.
fn describe_conditioning(all: &[PromiseCuts<'_>]) -> String {
    let cuts = all.iter().flat_map(|told| &told.cuts);
    let operations = cuts.filter_map(|cut| Some(cut.conditioned.as_ref()?.operations));
    let range = operations
        .map(|it| (it, it))
        .reduce(|(least, most), (it, _)| (least.min(it), most.max(it)));
    let count = |(least, most)| match (words::format_count(least), words::format_count(most)) {
        (least, most) if least == most => least,
        (least, most) => format!("{least} to {most}"),
    };
    range.map_or(String::new(), |range| {
        let count = count(range);
        format!("; at steady: {count} operations preconditioned the engine")
    })
}

/// The payments in which cuts were placed, and those that did not occur.
fn describe_placing(all: &[PromiseCuts<'_>]) -> String {
    let cuts = all.iter().flat_map(|told| &told.cuts).filter(|cut| cut.failed.is_none());
    let (mut came, mut late) = (BTreeMap::<&str, u64>::new(), 0);
    for placed in cuts.filter_map(|cut| cut.placed.as_ref()) {
        match placed.came {
            true => *came.entry(&placed.payment).or_default() += 1,
            false => late += 1,
        }
    }
    let list: Vec<String> = came
        .iter()
        .map(|(what, count)| format!("{} in a {what}", words::format_count(*count)))
        .collect();
    let mut text = match list.is_empty() {
        true => String::new(),
        false => format!("; placed where deferred work is done: {}", list.join(", ")),
    };
    if late > 0 {
        text += &format!(
            "; {} were to be, but no such work came in time, and the power went later",
            words::format_count(late)
        );
    }
    text
}

/// How often the power went a second time, and how often there was still work to recover then.
fn describe_second_cuts(all: &[PromiseCuts<'_>]) -> String {
    let judged = all.iter().flat_map(|told| &told.cuts).flat_map(|cut| &cut.judged);
    let again: Vec<_> = judged.filter_map(|judged| judged.again.as_ref()).collect();
    let in_time = again.iter().filter(|again| again.in_time).count();
    if again.is_empty() {
        return String::new();
    }
    format!(
        "; the power went again in {} recoveries, in {} of them before all was recovered and checked",
        words::format_count(again.len() as u64),
        words::format_count(in_time as u64)
    )
}

pub fn draw_losses(all: &[PromiseCuts<'_>]) -> Option<String> {
    let tried = all.iter().filter(|told| told.promise.cuts > 0);
    let lanes: Vec<LossLane> = tried.map(build_lane).collect();
    loss_chart::draw_lanes(&lanes)
}

fn build_lane(told: &PromiseCuts<'_>) -> LossLane {
    let promise = told.promise;
    let of_rule = |keep: &str| {
        let judged = |cut: &&Cut| {
            let of_rule = cut.judged.iter().filter(|judged| judged.keep == keep);
            let dot = |verdict: &bakeoff_results::AuditResult| {
                Some((verdict.oldest_lost_s?, verdict.breaks_promise(cut.promised)))
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
        empty: match count_uncounted(promise) {
            UncountedImages::None | UncountedImages::Some => "nothing lost",
            UncountedImages::All => "nothing could be counted",
        },
        uncounted: told
            .cuts
            .iter()
            .flat_map(|cut| &cut.judged)
            .filter(|it| it.verdict.corrupt.is_some() && it.verdict.oldest_lost_s.is_none())
            .count(),
        limit: match promise.promised {
            DurabilityPromise::Whole { window_s, most_lost } => LossLimit { window_s, most_lost },
            DurabilityPromise::Nothing | DurabilityPromise::Everything => LossLimit::default(),
        },
    }
}
