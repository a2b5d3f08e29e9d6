//! The first screen: the answer, its chart, what a reader asks next, and what the run was.

mod chart;
mod decide;
mod questions;
mod rates;
mod standing;
mod terms;

use std::collections::BTreeMap;

use bakeoff_analysis::{Document, WarningKind};
use bakeoff_results::{Cut, CutPlan, Machine, PlanShard, Status};

use crate::block::{Headline, ReportBlock};
use crate::changes::JudgedChanges;
use crate::layout::{self, DocumentLayout};
use crate::losses::Losses;
use crate::section::Section;
use crate::sentence::RunAnswer;
use crate::verdict;
use crate::words;

/// The first screen.
pub struct Overview;

/// The factor and level of clients that are given no rate, and what they do.
const CLOSED: (&str, &str) = ("rate", "closed");
const WAITS: &str = "each client waits for its answer";

impl Section for Overview {
    fn name(&self) -> &str {
        "overview"
    }

    fn blocks(&self, layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
        let document = layout.document;
        let RunAnswer { on, broken, sentences, rest, confidence } = RunAnswer::from_layout(layout);
        let confidence = confidence.map(|it| it.badge());
        let headline = Headline { on, broken, sentences, rest, confidence };
        let facts = key_facts(document).into_iter().map(|(name, fact)| (name.to_owned(), fact));
        let cases = verdict::cases(layout);
        let losses = Losses::from_document(document);
        let chart = match document.run.run.limit {
            Some(limit) => rates::strips(layout, limit),
            None if layout::is_timed(document) => chart::strips(layout, &cases, &losses),
            None => None,
        };
        let questions =
            questions::answered(layout, &cases, &JudgedChanges::from_layout(layout), &losses);
        let mut blocks = vec![ReportBlock::Headline(headline), ReportBlock::Facts(facts.collect())];
        blocks.extend(chart.map(ReportBlock::Strips));
        if !questions.is_empty() {
            blocks.push(ReportBlock::Answers(questions));
        }
        blocks
    }
}

/// The run in a few facts: what a reader must know before believing a figure.
fn key_facts(document: &Document) -> Vec<(&'static str, String)> {
    let run = &document.run.run;
    let mut facts = vec![
        ("machine", machines(document)),
        ("date", date(document)),
        ("measured by", format!("bakeoff {}", run.version)),
    ];
    let part = |shard: &PlanShard| format!("shard {} of {}", shard.index, shard.count);
    facts.extend(run.shard.as_ref().map(|shard| ("part of the plan", part(shard))));
    let fixed = fixed(document);
    if run.figure_of_merit.is_rate() {
        facts.push(("compared by", run.figure_of_merit.words().into()));
    }
    if !fixed.is_empty() {
        facts.push(("all else equal", fixed.join(", ")));
    }
    if layout::is_timed(document) {
        facts.extend([("trials", trials(document)), ("noise", noise(document))]);
    }
    facts.extend(run.cuts.as_ref().map(|plan| ("power cuts", cuts(document, plan))));
    facts
}

/// When it began; of a merged run from when to when its machines measured, each by its own clock.
fn date(document: &Document) -> String {
    let run = &document.run.run;
    let began = words::date(run.started_s);
    let Some(merged) = &run.merged else { return began };
    let ends = merged.members.iter().filter_map(|it| it.ended_s).chain(document.run.ended_s);
    let ended = ends.reduce(f64::max).map(words::date).filter(|ended| *ended != began);
    ended.map_or(began.clone(), |ended| format!("{began} to {ended}"))
}

/// How many trials there are, and how long each was: "30, 5 of each (8 at most); each ends after 100 of each
/// operation, or 3 s".
fn trials(document: &Document) -> String {
    let run = &document.run.run;
    let ended = layout::ended(document);
    let number = words::count(ended as u64);
    let [planned, most] = [run.planned, run.repetitions].map(|it| words::count(it.into()));
    let at_looks = run.sequential.is_some();
    let is_all = document.run.status == Status::Finished && ended >= run.planned as usize;
    let number = match of_each(document, ended).map(|each| words::count(each.into())) {
        Some(each) if at_looks => format!("{number}, {each} of each ({most} at most)"),
        Some(each) => format!("{number}, {each} of each"),
        None if at_looks => format!("{number} ({most} of each at most)"),
        None if !is_all => format!("{number} of {planned} planned ({most} of each)"),
        None if document.cells.len() > 1 => format!("{number} ({most} of each planned)"),
        None => number,
    };
    let span = words::span(run.seconds);
    match run.operations_each {
        None => format!("{number}; each {span}"),
        Some(each) => format!("{number}; each ends after {each} of each operation, or {span}"),
    }
}

/// How many trials each cell has, where a run came to its end, all trials count, and no cell has more than
/// another.
fn of_each(document: &Document, ended: usize) -> Option<u32> {
    let run = &document.run.run;
    let is_whole = document.run.status == Status::Finished
        && (run.sequential.is_some() || ended >= run.planned as usize);
    let [first, others @ ..] = document.cells.as_slice() else { return None };
    let alike = !others.is_empty() && others.iter().all(|cell| cell.trials == first.trials);
    let all = first.trials as usize * document.cells.len();
    (is_whole && alike && all == ended).then_some(first.trials)
}

/// What was the same in all trials: the levels of the factors that were given one alone, and that nothing was
/// compared by. In a run of power cuts alone, what all cuts have in common: their clients do work of their
/// own.
fn fixed(document: &Document) -> Vec<String> {
    let run = &document.run.run;
    if let Some(plan) = run.cuts.as_ref().filter(|_| !layout::is_timed(document)) {
        // Where disks promise, each has a row.
        let disk = (plan.promise.who != "disk").then(|| words::level("disk", &plan.disk));
        let clients = words::level("clients", &plan.clients.to_string());
        return disk.into_iter().chain([clients]).collect();
    }
    let factors = run.factors.iter().filter(|(name, _)| *name != run.compare);
    let fixed = factors.filter_map(|(name, levels)| match levels.as_slice() {
        [level] if (name.as_str(), level.as_str()) == CLOSED => Some(WAITS.to_owned()),
        [level] => Some(words::level(name, level)),
        _ => None,
    });
    fixed.collect()
}

/// How many power cuts were made, and how they were judged: "90, 15 of each, each judged by 4 rules of what a disk may
/// lose"; where the cuts are not alike, by how many images of the disk.
fn cuts(document: &Document, plan: &CutPlan) -> String {
    let made = || document.cuts.iter().filter(|cut| cut.failed.is_none());
    let number = made().count() as u64;
    let mut told = words::count(number);
    if number != u64::from(plan.planned) {
        told += &format!(" of {} planned", words::count(plan.planned.into()));
    }
    let mut promises = BTreeMap::new();
    for cut in made() {
        *promises.entry((&cut.engine, &cut.durability, cut.file_system)).or_insert(0) += 1;
    }
    if let Some(each) = alike(promises.values().copied()).filter(|_| promises.len() > 1) {
        told += &format!(", {} of each", words::count(each));
    }
    let every = |cut: &Cut| cut.every.as_ref().map_or(0, |it| it.judged);
    let images = made().map(|cut| cut.judged.len() as u64 + every(cut)).sum::<u64>();
    let rules = alike(made().map(|cut| cut.judged.len() as u64));
    let rules = rules.filter(|_| made().all(|cut| cut.every.is_none()));
    let each = if number > 1 { "each " } else { "" };
    match rules {
        Some(1) => {}
        Some(rules) => told += &format!(", {each}judged by {rules} rules of what a disk may lose"),
        None if images == number => {}
        None => {
            told += &format!(" ({} of the disk judged)", words::many(images as usize, "image"));
        }
    }
    told
}

/// What all of some numbers are; `None` where two differ, and of none.
fn alike(mut numbers: impl Iterator<Item = u64>) -> Option<u64> {
    let first = numbers.next()?;
    numbers.all(|number| number == first).then_some(first)
}

/// The machine, or how many there are and the first of them.
fn machines(document: &Document) -> String {
    let first = machine(&document.run.run.machine);
    let is_apart = document.warnings.iter().any(|it| it.kind == WarningKind::DisksDiffer);
    let apart = if is_apart { "; not all trials on one such disk" } else { "" };
    match document.machines.as_ref().map_or(1, |view| view.machines.len()) {
        0 | 1 => format!("{first}{apart}"),
        several => format!("{several} machines, the first: {first}{apart}"),
    }
}

/// The machine in a line; what isn't known of it is left out.
fn machine(machine: &Machine) -> String {
    let mut parts = vec![machine.processor.clone()];
    parts.push(words::many(machine.processors as usize, "processor"));
    if machine.memory_bytes > 0 {
        parts.push(format!("{} memory", words::bytes(machine.memory_bytes)));
    }
    parts.push(machine.file_system.clone());
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

/// What a level that was entered twice shows against itself, in words: at most, of all operations and
/// conditions.
fn noise(document: &Document) -> String {
    let Some(first) = document.noise.first() else {
        return "not measured".into();
    };
    let level = words::contender(&first.factor, &first.baseline);
    match verdict::furthest_from_itself(document) {
        Some(share) if share < words::USEFUL => {
            let share = words::percent(share);
            format!("{level} entered twice differs from itself by up to {share}")
        }
        _ => format!("not measured: too few repetitions of {level}, which was entered twice"),
    }
}
