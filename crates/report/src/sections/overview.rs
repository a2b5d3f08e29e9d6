//! The first screen: the answer, its chart, the next questions, and the facts of the run.

mod chart;
mod decide;
mod next;
mod questions;
mod rates;
mod ratios;
mod standing;
mod terms;

use std::collections::BTreeMap;

use bakeoff_analysis::answer::{Answer, MoreTrials, UserAction};
use bakeoff_analysis::layout::{self, CLOSED, DocumentLayout};
use bakeoff_analysis::{Document, OperationCase, WarningKind};
use bakeoff_results::{Cut, CutPlan, Machine, OwnFactor, PlanShard, Status};

use super::sweeps;
use crate::block::{Headline, ReportBlock};
use crate::changes::JudgedChanges;
use crate::sentence::RunAnswer;
use crate::verdict;
use crate::words;
use crate::worst_losses::Losses;

const WAITS: &str = "each client waits for its answer";

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let document = layout.document;
    let answer = Answer::from_layout(layout);
    let more = MoreTrials::from_cases(layout, &answer.cases);
    let next = UserAction::from_answer(layout, &answer, more.as_ref());
    let next = next.map(|action| next::describe_action(layout, &action));
    let facts = key_facts(document).into_iter().map(|(name, fact)| (name.to_owned(), fact));
    let losses = Losses::from_document(document);
    let cases = &answer.cases;
    let changes = JudgedChanges::from_layout(layout);
    let mut questions = questions::ask_questions(layout, cases, &changes, &losses, more.as_ref());
    if let Some(next) = &next {
        questions.iter_mut().for_each(|it| it.leave_command(next));
    }
    let RunAnswer { on, broken, sentences, rest, confidence } =
        RunAnswer::from_answer(layout, &answer);
    let confidence = confidence.map(|it| it.badge());
    let headline = Headline { on, broken, sentences, rest: rest.join(" "), confidence };
    let mut blocks = vec![ReportBlock::Headline(headline), ReportBlock::Facts(facts.collect())];
    blocks.extend(draw_question(layout, cases, &losses));
    if !questions.is_empty() {
        blocks.push(ReportBlock::Answers(questions));
    }
    blocks.extend(next.map(ReportBlock::Next));
    blocks
}

/// The chart that fits what the run varies: lines over a number, ratios of many conditions, or strips.
fn draw_question<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
    losses: &Losses<'a>,
) -> Vec<ReportBlock> {
    let document = layout.document;
    if let Some(limit) = document.run.run.limit {
        return rates::build_strips(layout, limit).map(ReportBlock::Strips).into_iter().collect();
    }
    if !layout::is_timed(document) {
        return Vec::new();
    }
    if let Some(lines) = sweeps::build_first(layout) {
        return vec![ReportBlock::Sweeps(lines)];
    }
    let matrix = ratios::build_matrix(layout, cases);
    let strips = chart::build_strips(layout, cases, losses, matrix.is_some());
    let matrix = matrix.map(ReportBlock::Heats);
    matrix.into_iter().chain(strips.map(ReportBlock::Strips)).collect()
}

/// Facts that a reader needs before believing a figure.
fn key_facts(document: &Document) -> Vec<(&'static str, String)> {
    let run = &document.run.run;
    let mut facts = vec![
        ("machine", describe_machines(document)),
        ("date", format_date(document)),
        ("measured by", format!("bakeoff {}", run.version)),
    ];
    let part = |shard: &PlanShard| format!("shard {} of {}", shard.index, shard.count);
    facts.extend(run.shard.as_ref().map(|shard| ("part of the plan", part(shard))));
    let fixed = describe_fixed(document);
    if run.figure_of_merit.is_rate() {
        facts.push(("compared by", run.figure_of_merit.in_words().into()));
    }
    if !fixed.is_empty() {
        facts.push(("all else equal", fixed.join(", ")));
    }
    if layout::is_timed(document) {
        facts.extend([("trials", describe_trials(document)), ("noise", describe_noise(document))]);
    }
    facts.extend(run.cuts.as_ref().map(|plan| ("power cuts", describe_cuts(document, plan))));
    facts
}

/// In a merged run, when its machines measured, by their own clocks.
fn format_date(document: &Document) -> String {
    let run = &document.run.run;
    let began = words::format_date(run.started_s);
    let Some(merged) = &run.merged else { return began };
    let ends = merged.members.iter().filter_map(|it| it.ended_s).chain(document.run.ended_s);
    let ended = ends.reduce(f64::max).map(words::format_date).filter(|ended| *ended != began);
    ended.map_or(began.clone(), |ended| format!("{began} to {ended}"))
}

/// "30, 5 of each (8 at most); each ends after 100 of each operation, or 3 s".
fn describe_trials(document: &Document) -> String {
    let run = &document.run.run;
    let ended = layout::count_ended(document);
    let number = words::format_count(ended as u64);
    let [planned, most] = [run.planned, run.repetitions].map(|it| words::format_count(it.into()));
    let at_looks = run.sequential.is_some();
    let is_all = document.run.status == Status::Finished && ended >= run.planned as usize;
    let number = match of_each(document, ended).map(|each| words::format_count(each.into())) {
        Some(each) if at_looks => format!("{number}, {each} of each ({most} at most)"),
        Some(each) => format!("{number}, {each} of each"),
        None if at_looks => format!("{number} ({most} of each at most)"),
        None if !is_all => format!("{number} of {planned} planned ({most} of each)"),
        None if document.cells.len() > 1 => format!("{number} ({most} of each planned)"),
        None => number,
    };
    let span = words::format_span(run.seconds);
    match run.operations_each {
        None => format!("{number}; each {span}"),
        Some(each) => format!("{number}; each ends after {each} of each operation, or {span}"),
    }
}

/// `None` unless the run finished, all trials count, and cells have equally many.
fn of_each(document: &Document, ended: usize) -> Option<u32> {
    let run = &document.run.run;
    let is_whole = document.run.status == Status::Finished
        && (run.sequential.is_some() || ended >= run.planned as usize);
    let [first, others @ ..] = document.cells.as_slice() else { return None };
    let alike = !others.is_empty() && others.iter().all(|cell| cell.trials == first.trials);
    let all = first.trials as usize * document.cells.len();
    (is_whole && alike && all == ended).then_some(first.trials)
}

/// Levels that all trials share and that are not compared. With power cuts alone, the levels that
/// the cuts share: their clients do other work.
fn describe_fixed(document: &Document) -> Vec<String> {
    let run = &document.run.run;
    if let Some(plan) = run.cuts.as_ref().filter(|_| !layout::is_timed(document)) {
        // If disks make the promise, each has a row.
        let disk = (plan.promise.who != OwnFactor::Disk)
            .then(|| words::phrase_level(OwnFactor::Disk.as_str(), &plan.disk));
        let clients = words::phrase_level(OwnFactor::Clients.as_str(), &plan.clients.to_string());
        return disk.into_iter().chain([clients]).collect();
    }
    let factors = run.factors.iter().filter(|(name, _)| *name != run.compare);
    let fixed = factors.filter_map(|(name, levels)| match levels.as_slice() {
        [level] if (name.as_str(), level.as_str()) == CLOSED => Some(WAITS.to_owned()),
        [level] => Some(words::phrase_level(name, level)),
        _ => None,
    });
    fixed.collect()
}

/// "90, 15 of each, each judged by 4 rules of what a disk may lose"; by images of the disk where
/// cuts differ.
fn describe_cuts(document: &Document, plan: &CutPlan) -> String {
    let made = || document.cuts.iter().filter(|cut| cut.failed.is_none());
    let number = made().count() as u64;
    let mut told = words::format_count(number);
    if number != u64::from(plan.planned) {
        told += &format!(" of {} planned", words::format_count(plan.planned.into()));
    }
    let mut promises = BTreeMap::new();
    for cut in made() {
        *promises.entry((&cut.engine, &cut.durability, cut.file_system)).or_insert(0) += 1;
    }
    if let Some(each) = common_number(promises.values().copied()).filter(|_| promises.len() > 1) {
        told += &format!(", {} of each", words::format_count(each));
    }
    let every = |cut: &Cut| cut.every.as_ref().map_or(0, |it| it.judged);
    let images = made().map(|cut| cut.judged.len() as u64 + every(cut)).sum::<u64>();
    let rules = common_number(made().map(|cut| cut.judged.len() as u64));
    let rules = rules.filter(|_| made().all(|cut| cut.every.is_none()));
    let each = if number > 1 { "each " } else { "" };
    match rules {
        Some(1) => {}
        Some(rules) => told += &format!(", {each}judged by {rules} rules of what a disk may lose"),
        None if images == number => {}
        None => {
            told +=
                &format!(" ({} of the disk judged)", words::count_nouns(images as usize, "image"));
        }
    }
    told
}

fn common_number(mut numbers: impl Iterator<Item = u64>) -> Option<u64> {
    let first = numbers.next()?;
    numbers.all(|number| number == first).then_some(first)
}

fn describe_machines(document: &Document) -> String {
    let first = describe_machine(&document.run.run.machine);
    let is_apart = document.warnings.iter().any(|it| it.kind == WarningKind::DisksDiffer);
    let apart = if is_apart { "; not all trials on one such disk" } else { "" };
    match document.machines.as_ref().map_or(1, |view| view.machines.len()) {
        0 | 1 => format!("{first}{apart}"),
        several => format!("{several} machines, the first: {first}{apart}"),
    }
}

fn describe_machine(machine: &Machine) -> String {
    let mut parts = vec![machine.processor.clone()];
    parts.push(words::count_nouns(machine.processors as usize, "processor"));
    if machine.memory_bytes > 0 {
        parts.push(format!("{} memory", words::format_bytes(machine.memory_bytes)));
    }
    parts.push(machine.file_system.clone());
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

/// The largest difference of a level from itself, over all operations and conditions.
fn describe_noise(document: &Document) -> String {
    let Some(first) = document.noise.first() else {
        return "not measured".into();
    };
    let level = words::name_contender(&first.factor, &first.baseline);
    match verdict::furthest_from_itself(document) {
        Some(share) if share < words::USEFUL => {
            let share = words::format_percent(share);
            format!("{level} entered twice differs from itself by up to {share}")
        }
        _ => format!("not measured: too few repetitions of {level}, which was entered twice"),
    }
}
