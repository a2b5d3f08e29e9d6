//! What the clients' work cost, and what the engines were opened with: tables that more than one
//! format shows, as text that is ready to be set.

use std::collections::BTreeSet;

use bakeoff_analysis::{CellView, CostView, Counter};
use bakeoff_results::{Applied, Run};
use serde::Serialize;

use crate::cell_rows::{self, Head};
use crate::figures::{Figures, NONE};
use crate::layout::{Layout, Setting};
use crate::tables;
use crate::words;

/// The columns that a cell can have.
const COLUMNS: [Head; 4] = [
    ("device bytes per byte written", Some("device bytes/byte"), "n"),
    ("syncs per commit", Some("syncs/commit"), "n"),
    ("space on disk", Some("space"), "n"),
    ("engine CPU per operation", Some("engine CPU"), "n"),
];

/// A row for each cell in which costs were counted; `None` where they were in none, and without
/// engines, where there is nothing that they were the cost of.
pub fn costs(layout: &Layout<'_>) -> Option<Figures> {
    let charted = layout.charted();
    let marks = |setting: &_, level| tables::marks(layout, setting, level);
    // What does nothing costs nothing.
    let cells = |level: &str, cell: &CellView| {
        if layout.has_engines() && charted.contains(&level) { cells(cell) } else { None }
    };
    cell_rows::table(layout, &COLUMNS, marks, cells)
}

/// A heading of [`COLUMNS`] as a terminal has room for it.
pub fn short(name: &str) -> Option<&str> {
    cell_rows::short(&COLUMNS, name)
}

/// A text for each of [`COLUMNS`].
fn cells(cell: &CellView) -> Option<[String; COLUMNS.len()]> {
    let cost = cell.cost?;
    let text = |value: Option<f64>, of: fn(f64) -> String| value.map_or(NONE.into(), of);
    Some([
        text(cost.write_amplification, words::digits),
        text(cost.syncs_per_commit, few) + remark(&cost),
        cell.space_bytes.map_or(NONE.into(), words::bytes),
        text(cost.engine_cpu_per_operation_s, words::seconds),
    ])
}

/// A number a commit; one that rounds to nothing is not nothing.
fn few(number: f64) -> String {
    if (f64::MIN_POSITIVE..0.001).contains(&number) {
        return "< 0.001".into();
    }
    words::digits(number)
}

/// That a number of syncs is not the engine's alone.
fn remark(cost: &CostView) -> &'static str {
    let counter = cost.syncs_per_commit.and(cost.sums.syncs).map(|syncs| syncs.counted_by);
    if counter == Some(Counter::Device) { " (device)" } else { "" }
}

/// Who counted syncs in this run, in sentences.
pub fn counted_by(layout: &Layout<'_>) -> String {
    let costs = layout.document.cells.iter().filter_map(|cell| cell.cost);
    let counters: Vec<Counter> =
        costs.filter_map(|cost| Some(cost.sums.syncs?.counted_by)).collect();
    let witness = |counter, name| counters.contains(&counter).then_some(name);
    let exact = [
        witness(Counter::Disk, "the virtual disk"),
        witness(Counter::Kernel, "the kernel’s file system, of the engine’s processes"),
    ];
    let exact: Vec<&str> = exact.into_iter().flatten().collect();
    let mut sentences = Vec::new();
    if !exact.is_empty() {
        sentences.push(format!(
            "Syncs as seen by {}: each fsync, fdatasync and msync of a file, and each write \
             through a descriptor opened with O_SYNC or O_DSYNC.",
            words::list(&exact)
        ));
    }
    if counters.contains(&Counter::Device) {
        sentences.push(
            "Syncs marked “device” are flushes of the whole device’s cache, whoever asked for \
             them: syncs that share a flush count once, and a device without a volatile cache \
             counts none."
                .into(),
        );
    }
    sentences.join(" ")
}

/// What an engine counted of itself at each setting.
#[derive(Serialize)]
pub struct Counters {
    /// The compared factor's level.
    pub level: String,
    /// Its place among the levels.
    pub series: usize,
    /// The settings.
    pub places: Vec<String>,
    /// A counter's name, and what a trial counted on average at each setting.
    pub rows: Vec<(String, Vec<String>)>,
}

/// The engines' own counters, of the levels that have any that moved.
pub fn counters(layout: &Layout<'_>) -> Vec<Counters> {
    let levels = layout.levels.iter().enumerate();
    let all = levels.map(|(series, level)| counters_of(layout, level, series));
    all.filter(|counters| !counters.rows.is_empty()).collect()
}

fn counters_of<'a>(layout: &Layout<'a>, level: &'a str, series: usize) -> Counters {
    let cell = |setting: &Setting<'a>| Some((setting.clone(), layout.cell(setting, level)?));
    let cells: Vec<(Setting, &CellView)> = layout.settings.iter().filter_map(cell).collect();
    let moved = |(name, count): (&'a String, &u64)| (*count > 0).then_some(name.as_str());
    let names = cells.iter().flat_map(|(_, cell)| &cell.counters).filter_map(moved);
    let names: BTreeSet<&str> = names.collect();
    let mean = |cell: &CellView, name: &str| {
        let sum = cell.counters.get(name).map(|sum| *sum as f64);
        sum.map_or(NONE.into(), |sum| words::digits(sum / f64::from(cell.trials)))
    };
    let row =
        |name: &str| (name.to_owned(), cells.iter().map(|(_, cell)| mean(cell, name)).collect());
    Counters {
        level: level.into(),
        series,
        places: cells.iter().map(|(setting, _)| tables::spot(layout, setting)).collect(),
        rows: names.into_iter().map(row).collect(),
    }
}

/// A setting that an engine was opened with, in words.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Differing {
    /// The engine.
    pub engine: String,
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The durability or memory levels at which it is so; empty where it always is.
    pub at: String,
    /// Why.
    pub reason: String,
}

/// Every setting that differs from an engine's own default, engine by engine.
pub fn settings(run: &Run) -> Vec<Differing> {
    let applied = &run.applied;
    let mut rows: Vec<Differing> = Vec::new();
    for one in applied {
        let family: Vec<&Applied> = applied.iter().filter(|a| a.engine == one.engine).collect();
        for setting in &one.settings {
            let same: Vec<bool> =
                family.iter().map(|other| other.settings.contains(setting)).collect();
            let row = Differing {
                engine: one.engine.clone(),
                name: setting.name.clone(),
                value: setting.value.clone(),
                at: terms(&family, &same),
                reason: setting.reason.clone().unwrap_or_else(|| "yours".into()),
            };
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
    }
    // Engines as the plan has them, and a setting's values together.
    let engines = run.factors.iter().find(|(factor, _)| factor == "engine");
    let engines = engines.map_or(&[][..], |(_, levels)| levels);
    let place = |row: &Differing| {
        let engine = engines.iter().position(|engine| *engine == row.engine);
        let same = |other: &&Differing| other.engine == row.engine && other.name == row.name;
        (engine, rows.iter().position(|other| same(&other)))
    };
    let mut sorted = rows.clone();
    sorted.sort_by_cached_key(place);
    sorted
}

/// What the terms that `hold` have in common against the others, by the fewest factors that tell.
fn terms(family: &[&Applied], hold: &[bool]) -> String {
    type Label = fn(&Applied) -> String;
    let labels: [Label; 4] = [
        |_| String::new(),
        |terms| terms.durability.clone(),
        |terms| format!("{} memory", terms.memory),
        |terms| format!("{} with {} memory", terms.durability, terms.memory),
    ];
    let those = |label: Label, wanted: bool| -> Vec<String> {
        let chosen = family.iter().zip(hold).filter(|(_, holds)| **holds == wanted);
        let mut labels: Vec<String> = chosen.map(|(terms, _)| label(terms)).collect();
        labels.dedup();
        labels
    };
    let tells = |label: &Label| {
        let others = those(*label, false);
        those(*label, true).iter().all(|label| !others.contains(label))
    };
    let label = labels.into_iter().find(tells).unwrap_or(labels[3]);
    let mut words = those(label, true);
    words.sort();
    words.dedup();
    words.join(", ")
}
