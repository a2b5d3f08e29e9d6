//! What the page's template shows: text and charts, ready to be set.

use bakeoff_analysis::{Attempts, Document, OpenLoop, Steadiness, steadiness};
use bakeoff_results::measure::*;
use bakeoff_results::{EngineFact, Machine, OperationSummary, TrialSummary};
use serde::Serialize;

use crate::chart::{self, Bar, Group, Grouped, Ratio, Size};
use crate::costs::{self, Counters, Differing};
use crate::debts;
use crate::durability::{self, Durability};
use crate::figures::{self, Column, Figures};
use crate::layout::Layout;
use crate::offered;
use crate::sentence;
use crate::tables::{self, LOAD, Panel, Space};
use crate::verdict::Contrast;
use crate::words;

/// From this many trials on, their table is left out on paper.
const PAPER: usize = 500;

/// The whole page.
#[derive(Serialize)]
pub struct Page<'a> {
    title: &'a str,
    verdict: [String; 2],
    facts: Vec<(&'static str, String)>,
    warnings: Vec<String>,
    compare: &'a str,
    baseline: &'a str,
    compared: bool,
    harness: String,
    varying: Vec<&'a str>,
    levels: Vec<Level>,
    operations: Vec<Operation>,
    durability: Option<Durability>,
    timed: bool,
    offered: Option<Figures>,
    offered_explained: &'static str,
    /// Whether some cells are open loops and others closed ones.
    both_loops: bool,
    open_bars: &'static str,
    metric: &'static str,
    costs: Option<Figures>,
    /// What was left to write back, and what that means.
    debts: Option<Figures>,
    debts_explained: &'static str,
    /// Who used the processor.
    processor: Option<Figures>,
    has_engines: bool,
    counted_by: String,
    counters: Vec<Counters>,
    differing: Vec<Differing>,
    panel_factors: Vec<&'a str>,
    space_charts: Vec<Chart>,
    space: Vec<Space>,
    durabilities: Vec<&'a str>,
    engines: Vec<Engine<'a>>,
    neighbours: Vec<(Vec<String>, Vec<String>)>,
    neighbour_alone: Option<String>,
    trials: Trials,
    method: Method<'a>,
}

#[derive(Serialize)]
struct Level {
    name: String,
    key: String,
    charted: bool,
}

#[derive(Serialize)]
struct Operation {
    name: String,
    charts: Vec<Chart>,
    figures: Figures,
    /// Whether some bars have an open end.
    cut_off: bool,
}

#[derive(Serialize)]
struct Chart {
    caption: String,
    svg: String,
}

#[derive(Serialize)]
struct Engine<'a> {
    name: &'a str,
    version: &'a str,
    settings: Vec<&'a str>,
}

#[derive(Serialize)]
struct Trials {
    columns: Vec<Column>,
    rows: Vec<TrialRow>,
    long: bool,
    count: String,
}

#[derive(Serialize)]
struct TrialRow {
    valid: bool,
    cells: Vec<String>,
    note: String,
}

#[derive(Serialize)]
struct Method<'a> {
    workload: &'a str,
    harness: String,
    text: &'a str,
    seconds: String,
    repetitions: String,
    seed: u64,
    version: &'a str,
    command: &'a str,
    name: &'a str,
    began: String,
    ended: Option<String>,
    machine: &'a Machine,
    memory: String,
    factors: Vec<(&'a str, String)>,
}

/// Lays out a run's page.
pub fn page(document: &Document) -> Page<'_> {
    let layout = Layout::new(document);
    let run = &document.run.run;
    let space = tables::space(&layout);
    Page {
        title: &run.title,
        verdict: sentence::verdict_parts(document),
        facts: tables::key_facts(document),
        warnings: document.warnings.iter().map(ToString::to_string).collect(),
        compare: layout.compare,
        baseline: &run.baseline,
        compared: layout.levels.len() > 1,
        harness: harness(&layout),
        levels: layout.levels.iter().map(|level| level_key(&layout, level)).collect(),
        operations: layout
            .operations()
            .enumerate()
            .map(|(number, name)| Operation {
                name: name.into(),
                charts: charts(&layout, number, name),
                figures: tables::operation(&layout, name),
                cut_off: is_cut_off(document, name),
            })
            .collect(),
        durability: durability::durability(document),
        timed: crate::layout::is_timed(document),
        offered: offered::offered(&layout),
        offered_explained: offered::EXPLAINED,
        both_loops: layout.has_both_loops(),
        open_bars: OPEN,
        metric: layout.metric(),
        costs: costs::costs(&layout),
        debts: debts::debts(&layout),
        debts_explained: debts::EXPLAINED,
        processor: debts::processor(&layout),
        has_engines: layout.has_engines(),
        counted_by: costs::counted_by(&layout),
        counters: costs::counters(&layout),
        differing: costs::settings(run),
        panel_factors: tables::panel_factors(&layout),
        space_charts: space_charts(&layout, &space),
        space,
        durabilities: durabilities(&run.engines),
        engines: engines(&run.engines),
        neighbours: tables::neighbours(&layout),
        neighbour_alone: run.neighbour_alone_per_second.map(words::digits),
        trials: trials(&layout),
        method: method(document),
        varying: layout.varying,
    }
}

/// Whether an operation was still running anywhere when its trial was cut off.
fn is_cut_off(document: &Document, operation: &str) -> bool {
    let all = document.cells.iter().flat_map(|cell| &cell.operations);
    all.filter(|it| it.name == operation).any(|it| it.unfinished > 0)
}

/// The levels that measure the harness and stand beside others: charts leave them out.
fn harness(layout: &Layout<'_>) -> String {
    let charted = layout.charted();
    let hidden = layout.levels.iter().filter(|level| !charted.contains(level));
    words::list(&hidden.collect::<Vec<_>>())
}

fn level_key(layout: &Layout<'_>, level: &str) -> Level {
    let key = chart::key(layout.style(level));
    Level { name: level.into(), key, charted: layout.charted().contains(&level) }
}

/// A chart for each combination of the factors that are no load.
fn charts<'a>(layout: &Layout<'a>, number: usize, operation: &'a str) -> Vec<Chart> {
    tables::panels(layout)
        .iter()
        .enumerate()
        .map(|(panel_number, panel)| {
            let caption = caption(layout, panel);
            let id = format!("o{number}c{panel_number}");
            let chart = grouped(layout, operation, panel, id, &caption);
            Chart { caption, svg: chart.svg() }
        })
        .collect()
}

/// "strict durability, scale large": what a chart's cells share.
fn caption(layout: &Layout<'_>, panel: &Panel<'_>) -> String {
    let factors = tables::panel_factors(layout);
    let words: Vec<String> =
        factors.iter().zip(&panel.levels).map(|(f, l)| words::level(f, l)).collect();
    words.join(", ")
}

/// What a bar with an open end is.
const OPEN: &str = " Where a bar ends in an arrow, it is longer than that: operations were still \
                    running when the trial was cut off.";

fn grouped<'a>(
    layout: &Layout<'a>,
    operation: &'a str,
    panel: &Panel<'a>,
    id: String,
    caption: &str,
) -> Grouped {
    let levels = layout.charted();
    let is_load = |factor: &&str| LOAD.contains(factor);
    let groups: Vec<Group> = panel
        .settings
        .iter()
        .map(|setting| Group {
            labels: layout
                .varying
                .iter()
                .zip(setting)
                .filter(|(factor, _)| is_load(factor))
                .map(|(_, level)| (*level).into())
                .collect(),
            bars: levels
                .iter()
                .map(|level| Bar {
                    seconds: layout.figures(operation, setting, level).and_then(|f| f.mean_s),
                    cut_off: layout
                        .figures(operation, setting, level)
                        .is_some_and(|f| f.unfinished > 0),
                    ratio: ratio(layout, operation, setting, level),
                })
                .collect(),
        })
        .collect();
    let of = if caption.is_empty() { String::new() } else { format!(", {caption}") };
    let mut bars = groups.iter().flat_map(|group| &group.bars);
    let open = if bars.any(|bar| bar.cut_off) { OPEN } else { "" };
    Grouped {
        id,
        title: format!("{} of {operation}{of}", words::capital(layout.metric())),
        description: format!(
            "A bar for each of {}; above, the ratio to {}. The table below has every figure.{open}",
            words::list(&levels),
            layout.document.run.run.baseline
        ),
        factors: layout.varying.iter().copied().filter(is_load).map(str::to_owned).collect(),
        series: levels.iter().map(|level| ((*level).into(), layout.style(level))).collect(),
        groups,
        baseline: layout.document.run.run.baseline.clone(),
        metric: layout.metric(),
    }
}

fn ratio<'a>(
    layout: &Layout<'a>,
    operation: &'a str,
    setting: &crate::layout::Setting<'a>,
    level: &str,
) -> Option<Ratio> {
    let contrast = Contrast::of(layout.against_baseline(operation, setting, level)?)?;
    Some(Ratio { ratio: contrast.ratio, is: contrast.is, ends: contrast.ends })
}

/// A chart of sizes for each combination of the factors that are no load.
fn space_charts(layout: &Layout<'_>, space: &[Space]) -> Vec<Chart> {
    let levels = layout.charted();
    tables::panels(layout)
        .iter()
        .enumerate()
        .map(|(number, panel)| {
            let rows: Vec<Size> = space
                .iter()
                .filter(|row| row.setting == panel.levels && levels.contains(&row.level.as_str()))
                .map(|row| Size {
                    name: row.level.clone(),
                    style: layout.style(&row.level),
                    bytes: row.bytes.0,
                    range: (row.bytes.1, row.bytes.2),
                })
                .collect();
            let svg = chart::sizes(&format!("s{number}"), "Space on disk", &rows);
            Chart { caption: caption(layout, panel), svg }
        })
        .collect()
}

/// Every durability level that some engine says something of, in the order of the first.
fn durabilities(engines: &[EngineFact]) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for (durability, _) in engines.iter().flat_map(|engine| &engine.settings) {
        if !all.contains(&durability.as_str()) {
            all.push(durability);
        }
    }
    all
}

fn engines(engines: &[EngineFact]) -> Vec<Engine<'_>> {
    let durabilities = durabilities(engines);
    let settings = |engine: &'_ EngineFact, durability: &str| {
        engine.settings.iter().position(|(name, _)| name == durability)
    };
    engines
        .iter()
        .map(|engine| Engine {
            name: &engine.name,
            version: &engine.version,
            settings: durabilities
                .iter()
                .map(|d| settings(engine, d).map_or("can’t give it", |n| &engine.settings[n].1))
                .collect(),
        })
        .collect()
}

/// Every trial; a column that says nothing in any row is left out.
fn trials(layout: &Layout<'_>) -> Trials {
    let trials = &layout.document.trials;
    let attempts = Attempts::of(trials);
    let mut columns = trial_columns(layout);
    let row = |trial: &TrialSummary| TrialRow {
        valid: trial.valid,
        cells: trial_cells(layout, trial),
        note: note(trial, &attempts),
    };
    let mut rows: Vec<TrialRow> = trials.iter().map(row).collect();
    let kept = figures::said(columns.len(), rows.iter().map(|row| &row.cells));
    figures::keep(&mut columns, &kept);
    rows.iter_mut().for_each(|row| figures::keep(&mut row.cells, &kept));
    let count = words::many(trials.len(), "trial");
    Trials { columns, rows, long: trials.len() > PAPER, count }
}

fn trial_columns(layout: &Layout<'_>) -> Vec<Column> {
    let number = |name: String| Column { name, class: "n" };
    let mut columns: Vec<Column> = ["block", "order"].map(str::to_owned).map(number).into();
    let factors = layout.varying.iter().copied().chain([layout.compare]);
    columns.extend(factors.map(|factor| Column { name: factor.into(), class: "" }));
    for operation in layout.operations() {
        let figures = ["mean, ms", "p99, ms", "service, ms", "per s"];
        columns.extend(figures.map(|figure| number(format!("{operation} {figure}"))));
    }
    columns.extend(REST.map(str::to_owned).map(number));
    columns
}

/// The columns after those of the operations.
const REST: [&str; 8] = [
    "offered, 1/s",
    "not started",
    "errors",
    "retries",
    "space, MB",
    "client CPU, s",
    "engine CPU, s",
    "neighbours, 1/s",
];

/// A text for each of [`trial_columns`].
fn trial_cells(layout: &Layout<'_>, trial: &TrialSummary) -> Vec<String> {
    let figure = |value: Option<f64>| value.map_or(figures::NONE.into(), words::digits);
    let milliseconds = |value: Option<f64>, cut_off: bool| match value {
        Some(seconds) if cut_off => format!("{}{}", words::OVER, words::digits(seconds * 1e3)),
        value => figure(value.map(|seconds| seconds * 1e3)),
    };
    let mut cells = vec![trial.block.to_string(), trial.order.to_string()];
    for factor in layout.varying.iter().copied().chain([layout.compare]) {
        cells.push(crate::layout::get(&trial.levels, factor).into());
    }
    for name in layout.operations() {
        let operation = trial.operations.iter().find(|o| o.name == name);
        let cut_off = operation.is_some_and(|o| o.unfinished > 0);
        for of in [
            |o: &OperationSummary| o.mean_s,
            |o: &OperationSummary| o.p99_s,
            |o: &OperationSummary| o.service_mean_s,
        ] {
            cells.push(milliseconds(operation.and_then(of), cut_off));
        }
        cells.push(figure(operation.map(|o| o.per_second)));
    }
    let sum = |of: fn(&OperationSummary) -> u64| {
        let all = trial.operations.iter().map(of);
        words::count(all.fold(0, u64::saturating_add))
    };
    let measured = |measure: &Measure, scope| trial.measures.get(measure, &scope);
    let rest: [String; REST.len()] = [
        figure(measured(&OFFERED, Scope::Clients)),
        figure(measured(&NOT_STARTED, Scope::Clients)),
        sum(|o| o.errors),
        sum(|o| o.retries),
        figure(measured(&SPACE, Scope::Trial).map(|bytes| bytes / 1e6)),
        figure(measured(&CPU, Scope::Clients)),
        figure(measured(&CPU, Scope::DATABASE)),
        figure(measured(&RATE, Scope::Neighbours)),
    ];
    cells.extend(rest);
    cells
}

/// Why a trial doesn't count, or what a reader of it should know.
fn note(trial: &TrialSummary, attempts: &Attempts) -> String {
    let mut notes: Vec<&str> = trial.reason.iter().map(String::as_str).collect();
    notes.extend(trial.warnings.iter().map(String::as_str));
    match steadiness(trial) {
        Some(Steadiness::NotSteady) => notes.push("not steady"),
        Some(Steadiness::CannotTell) => notes.push("cannot tell whether it was steady"),
        Some(Steadiness::Steady) | None => {}
    }
    if OpenLoop::of(trial).is_some_and(|open| !open.kept_up) {
        notes.push(offered::BEHIND);
    }
    let notes = notes.join("; ");
    match (trial.valid, attempts.set_aside(trial)) {
        (true, _) => notes,
        (false, true) => format!("set aside: {notes}"),
        (false, false) => format!("does not count: {notes}"),
    }
}

fn method(document: &Document) -> Method<'_> {
    let run = &document.run.run;
    Method {
        workload: &run.workload,
        harness: words::seconds(run.harness_s),
        text: &run.text,
        seconds: words::span(run.seconds),
        repetitions: words::many(run.repetitions as usize, "time"),
        seed: run.seed,
        version: &run.version,
        command: &run.command,
        name: &run.name,
        began: words::date(run.started_s),
        ended: document.run.ended_s.map(words::date),
        machine: &run.machine,
        memory: words::bytes(run.machine.memory_bytes),
        factors: run
            .factors
            .iter()
            .map(|(name, levels)| (name.as_str(), levels.join(", ")))
            .collect(),
    }
}
