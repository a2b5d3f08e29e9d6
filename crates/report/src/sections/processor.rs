//! Who used the processor.

use bakeoff_analysis::{CellView, GroupView};
use bakeoff_results::measure::DATABASE_GROUP;

use crate::block::{Block, Chart, Charts, Kind, Words};
use crate::cell_rows::{self, Head};
use crate::figures;
use crate::group_rows;
use crate::layout::Layout;
use crate::section::Section;
use crate::stack::{self, Bar};
use crate::words;

/// Processor time of a trial, by who used it.
pub struct Processor;

const COLUMNS: [Head; 5] = [
    ("engine, clients at work", Some("at work"), Kind::Main),
    ("engine, drain", Some("drain"), Kind::Number),
    ("bakeoff’s clients", Some("harness"), Kind::Number),
    ("disk daemon", Some("disk daemon"), Kind::Number),
    ("neighbours", Some("neighbours"), Kind::Number),
];

impl Section for Processor {
    fn name(&self) -> &str {
        "processor"
    }

    fn title(&self) -> &str {
        "Processor time of a trial"
    }

    fn blocks(&self, layout: &Layout<'_>) -> Vec<Block> {
        let cells = |_: &str, cell: &CellView| Some(cells(layout, cell));
        let caption = "Processor time of a trial: every cell";
        let table = cell_rows::table(layout, caption, &COLUMNS, |_, _| Vec::new(), cells);
        let drain = if layout.has_engines() { "; of the engine in the drain, too" } else { "" };
        let lead = Words::from(format!("Mean seconds of a trial while the clients ran{drain}."))
            .marked(" Clients: bakeoff’s own. Disk daemon: the virtual disk with its model of the background I/O.");
        let mut blocks: Vec<Block> = shares(layout).into_iter().collect();
        blocks.extend(table.map_or(Vec::new(), |it| vec![Block::Lead(lead), Block::Table(it)]));
        blocks.extend(groups(layout));
        blocks
    }
}

/// So many bars are a picture.
const BARS: usize = 24;

/// What is bakeoff's own, beside the groups of processes.
const CLIENTS: &str = "bakeoff’s clients";
const DAEMON: &str = "disk daemon";

/// Where the processor went for an operation of each cell, by process: the engine's own first. `None` where
/// that was counted of one process alone.
fn shares(layout: &Layout<'_>) -> Option<Block> {
    let mut cells: Vec<(String, Vec<(&str, f64)>)> = Vec::new();
    for condition in &layout.conditions {
        for level in &layout.levels {
            let Some(cell) = layout.cell(condition, level) else { continue };
            let place = layout.place(condition);
            let name = format!("{level},{}", place.trim_start_matches(" with"));
            let parts = parts(cell);
            if !cell.groups.is_empty() && !parts.is_empty() {
                cells.push((name.trim_end_matches(',').to_owned(), parts));
            }
        }
    }
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in cells.iter().flat_map(|(_, parts)| parts) {
        if !names.contains(name) {
            names.push(*name);
        }
    }
    // What is asked for is the database; bakeoff's own stands behind all that serves.
    names.sort_by_key(|name| (*name == DAEMON, *name == CLIENTS, *name != DATABASE_GROUP));
    if names.len() < 2 {
        return None;
    }
    let all = cells.len();
    let bar = |(name, parts): (String, Vec<(&str, f64)>)| {
        let of =
            |wanted: &&str| parts.iter().filter(|it| it.0 == *wanted).map(|it| it.1).sum::<f64>();
        Bar { name, parts: names.iter().map(of).collect() }
    };
    let bars: Vec<Bar> = cells.into_iter().take(BARS).map(bar).collect();
    let mut explained =
        "Processor time for each operation, by the process that used it.".to_owned();
    if all > BARS {
        explained += &format!(" {BARS} of {} are in this chart.", words::many(all, "cell"));
    }
    let svg = stack::svg("shares", "Where the processor went", &names, &bars);
    let charts = vec![Chart { caption: String::new(), svg }];
    Some(Block::Charts(Charts { explained: explained.into(), legend: Vec::new(), charts }))
}

/// Seconds of a processor for each operation, by process.
fn parts(cell: &CellView) -> Vec<(&str, f64)> {
    let operations = cell.cost.map_or(0, |cost| cost.sums.operations);
    let own = |seconds: f64| {
        (operations > 0).then(|| seconds * f64::from(cell.trials) / operations as f64)
    };
    let groups = cell.groups.iter().map(|it| (it.name.as_str(), it.cpu_per_operation_s));
    let own = [(CLIENTS, own(cell.cpu_s.client)), (DAEMON, cell.cpu_s.disk_daemon.and_then(own))];
    let all = groups.chain(own).filter_map(|(name, seconds)| Some((name, seconds?)));
    all.filter(|(_, seconds)| *seconds > 0.0 && seconds.is_finite()).collect()
}

/// The columns that a group can have.
const GROUP: [Head; 6] = [
    ("clients at work", Some("at work"), Kind::Main),
    ("drain", Some("drain"), Kind::Number),
    ("processors", Some("processors"), Kind::Number),
    ("periods with work", None, Kind::Number),
    ("quota used up in", Some("used up"), Kind::Number),
    ("waited for it", Some("waited"), Kind::Number),
];

/// What the columns of a quota hold.
const QUOTAS: &str = "Processors: the quota of a group of processes. It counts in periods of 100 ms. Used \
     up: the part of the periods with work in which the group had used its quota up. Waited: how long it \
     then waited for the next period, summed over its processors.";

/// What each group used where there are several, and how far quotas held them back.
fn groups(layout: &Layout<'_>) -> Vec<Block> {
    let several = group_rows::are_several(layout);
    let cells = |group: &GroupView| {
        (several || group.cpu_limit.is_some()).then(|| group_cells(group, several))
    };
    let caption = "Processor time of a trial: every group of processes";
    let Some(table) = group_rows::table(layout, caption, &GROUP, cells) else { return Vec::new() };
    let mut all = layout.document.cells.iter().flat_map(|cell| &cell.groups);
    let lead = all.any(|group| group.cpu_limit.is_some()).then(|| Block::Lead(QUOTAS.into()));
    lead.into_iter().chain([Block::Table(table)]).collect()
}

/// A text for each of [`GROUP`]; the processor time only where it is not in the table of cells.
fn group_cells(group: &GroupView, several: bool) -> [String; GROUP.len()] {
    let used = |seconds: Option<f64>| figures::text(seconds.filter(|_| several), words::seconds);
    let share = |(throttled, periods): (f64, f64)| throttled / periods;
    let held = group.cpu_throttled.zip(group.cpu_periods.filter(|periods| *periods > 0.0));
    [
        used(group.cpu_s),
        used(group.drain_cpu_s),
        figures::text(group.cpu_limit, words::digits),
        figures::text(group.cpu_periods, words::digits),
        figures::text(held.map(share), words::percent),
        figures::text(group.cpu_waited_s, words::seconds),
    ]
}

/// A text for each of [`COLUMNS`].
fn cells(layout: &Layout<'_>, cell: &CellView) -> [String; COLUMNS.len()] {
    let cpu = cell.cpu_s;
    let counted = |seconds| figures::text(seconds, words::seconds);
    let engine =
        (cell.cost.is_some_and(|cost| cost.sums.engine_cpu_s.is_some())).then_some(cpu.engine);
    [
        counted(engine),
        counted(cpu.engine_drain.filter(|_| layout.has_engines())),
        counted(Some(cpu.client)),
        counted(cpu.disk_daemon),
        counted(cpu.neighbours),
    ]
}
