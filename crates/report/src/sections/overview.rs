//! The first screen: the answer, its chart, what a reader asks next, and what the run was.

mod chart;
mod questions;

use bakeoff_analysis::Document;
use bakeoff_results::{Cut, CutPlan, Machine, PlanShard, Run, Status};

use crate::block::{Block, Headline};
use crate::changes::Changes;
use crate::layout::{self, Layout};
use crate::losses::Losses;
use crate::section::Section;
use crate::sentence::Said;
use crate::verdict;
use crate::words;

/// The first screen.
pub struct Overview;

impl Section for Overview {
    fn name(&self) -> &str {
        "overview"
    }

    fn blocks(&self, layout: &Layout<'_>) -> Vec<Block> {
        let document = layout.document;
        let Said { broken, sentences, rest, confidence } = Said::of(layout);
        let confidence = confidence.map(|it| it.badge());
        let headline = Headline { broken, sentences, rest, confidence };
        let facts = key_facts(document).into_iter().map(|(name, fact)| (name.to_owned(), fact));
        let cases = verdict::cases(layout);
        let losses = Losses::of(document);
        let chart = Some(layout).filter(|_| layout::is_timed(document));
        let chart = chart.and_then(|layout| chart::strips(layout, &cases, &losses));
        let questions = questions::answered(layout, &cases, &Changes::of(layout), &losses);
        let mut blocks = vec![Block::Headline(headline), Block::Facts(facts.collect())];
        blocks.extend(chart.map(Block::Strips));
        if !questions.is_empty() {
            blocks.push(Block::Answers(questions));
        }
        blocks
    }
}

/// The run in a few facts: what a reader must know before believing a figure.
fn key_facts(document: &Document) -> Vec<(&'static str, String)> {
    let run = &document.run.run;
    let ended = layout::ended(document);
    let trials = match document.run.status {
        _ if run.sequential.is_some() => words::count(ended as u64),
        Status::Finished if ended >= run.planned as usize => words::count(ended as u64),
        _ => {
            let planned = words::count(run.planned.into());
            format!("{} of {planned} planned", words::count(ended as u64))
        }
    };
    let trials = format!(
        "{trials}, each {}, in {}{}",
        match run.operations_each {
            None => words::span(run.seconds),
            Some(_) => words::trial_lasts(run),
        },
        if run.sequential.is_some() { "at most " } else { "" },
        words::many(run.repetitions as usize, "repetition")
    );
    let mut facts = vec![("machine", machines(document)), ("date", words::date(run.started_s))];
    let part = |shard: &PlanShard| format!("shard {} of {}", shard.index, shard.count);
    facts.extend(run.shard.as_ref().map(|shard| ("part of the plan", part(shard))));
    let fixed = fixed(run);
    if run.figure_of_merit.is_rate() {
        facts.push(("compared by", run.figure_of_merit.words().into()));
    }
    if !fixed.is_empty() {
        facts.push(("all else equal", fixed.join(", ")));
    }
    if layout::is_timed(document) {
        facts.extend([("trials", trials), ("A/A check", check(document))]);
    }
    facts.extend(run.cuts.as_ref().map(|plan| ("power cuts", cuts(document, plan))));
    facts.push(("measured by", format!("bakeoff {}", run.version)));
    facts
}

/// The levels of the factors that were given one alone, and that nothing was compared by.
fn fixed(run: &Run) -> Vec<String> {
    let factors = run.factors.iter().filter(|(name, _)| *name != run.compare);
    let fixed = factors.filter_map(|(name, levels)| match levels.as_slice() {
        [level] => Some(words::level(name, level)),
        _ => None,
    });
    fixed.collect()
}

/// How many power cuts were made, and how many images of the disk they left to be judged.
fn cuts(document: &Document, plan: &CutPlan) -> String {
    let made = || document.cuts.iter().filter(|cut| cut.failed.is_none());
    let number = made().count() as u64;
    let every = |cut: &Cut| cut.every.as_ref().map_or(0, |it| it.judged);
    let images = made().map(|cut| cut.judged.len() as u64 + every(cut)).sum::<u64>();
    let mut told = words::count(number);
    if number != u64::from(plan.planned) {
        told += &format!(" of {} planned", words::count(plan.planned.into()));
    }
    if images != number {
        told += &format!(" ({} of the disk judged)", words::many(images as usize, "image"));
    }
    told
}

/// The machine, or how many there are and the first of them.
fn machines(document: &Document) -> String {
    let first = machine(&document.run.run.machine);
    match document.machines.as_ref().map_or(1, |view| view.machines.len()) {
        0 | 1 => first,
        several => format!("{several} machines, the first: {first}"),
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

/// What a level shows against itself, in words: at most, of all operations and conditions.
fn check(document: &Document) -> String {
    let Some(first) = document.noise.first() else { return "not made".into() };
    let level = words::contender(&first.factor, &first.baseline);
    match verdict::furthest_from_itself(document) {
        Some(share) if share < words::USEFUL => {
            format!("{level} differs from itself by up to {}", words::percent(share))
        }
        _ => "not made (too few repetitions)".into(),
    }
}
