//! What the clients' work cost, and what the targets counted of themselves.

use std::collections::BTreeSet;

use bakeoff_analysis::{CellView, CostView, GroupView, SyncObserver};

use crate::block::{
    ColumnKind, Folded, ReportBlock, ReportCell, ReportColumn, ReportRow, ReportTable,
};
use crate::cell_rows::{self, ColumnHead};
use crate::figures::{self, NONE, few};
use crate::group_rows;
use crate::layout::{ConditionLevels, DocumentLayout};
use crate::section::Section;
use crate::words;

/// What it cost.
pub struct CostsSection;

/// The columns that a cell can have.
const COLUMNS: [ColumnHead; 5] = [
    ("device bytes per byte written", Some("device bytes/byte"), ColumnKind::Number),
    ("syncs per commit", Some("syncs/commit"), ColumnKind::Number),
    ("space on disk", Some("space"), ColumnKind::Number),
    ("space per byte of the rows", Some("space/byte"), ColumnKind::Number),
    ("engine CPU per operation", Some("engine CPU"), ColumnKind::Number),
];

/// What the figures are of.
const EXPLAINED: &str = "Over all of a cell’s trials, from their clients’ start to the end of the \
     drain. Device bytes per byte written: what went to the device for each byte of the rows that the \
     application wrote.";

/// What the space is held against, where that is known.
const OF_SPACE: &str = "Space per byte of the rows: after the drain, for each byte of the rows that were \
     loaded; a row’s columns count, an integer as 8 bytes, a text as its own, an index as none.";

impl Section for CostsSection {
    fn name(&self) -> &str {
        "costs"
    }

    fn title(&self) -> &str {
        "What it cost"
    }

    /// A row for each cell in which costs were counted. Without engines there is nothing that they were the
    /// cost of: then it is what the target counted alone.
    fn blocks(&self, layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
        if !layout.has_engines() {
            return counted(layout, "What the target counted of itself").into_iter().collect();
        }
        let charted = layout.charted();
        let marks = |condition: &_, level| cell_rows::marks(layout, condition, level);
        // What does nothing costs nothing.
        let cells = |level: &str, cell: &CellView| {
            if charted.contains(&level) { cells(cell) } else { None }
        };
        let table = cell_rows::table(layout, "What it cost: every cell", &COLUMNS, marks, cells);
        let Some(table) = table else { return Vec::new() };
        let of_space = layout.document.cells.iter().any(|cell| cell.space.is_some());
        let of_space = if of_space { OF_SPACE } else { "" };
        let sentences = [EXPLAINED.to_owned(), of_space.to_owned(), counted_by(layout)];
        let sentences: Vec<String> = sentences.into_iter().filter(|it| !it.is_empty()).collect();
        let lead = sentences.join(" ");
        let mut blocks = vec![ReportBlock::Lead(lead.into()), ReportBlock::Table(table)];
        blocks.extend(groups(layout));
        blocks.extend(counted(layout, "What the engines counted of themselves"));
        blocks
    }

    fn is_of_cells(&self) -> bool {
        true
    }
}

/// A text for each of [`COLUMNS`].
fn cells(cell: &CellView) -> Option<[String; COLUMNS.len()]> {
    let cost = cell.cost?;
    Some([
        figures::text(cost.write_amplification, words::digits),
        figures::text(cost.syncs_per_commit, few) + remark(&cost),
        cell.space_bytes.map_or(NONE.into(), words::bytes),
        figures::text(cell.space.map(|space| space.amplification), words::digits),
        figures::text(cost.engine_cpu_per_operation_s, words::seconds),
    ])
}

/// The columns that a group can have.
const GROUP: [ColumnHead; 7] = [
    ("CPU per operation", Some("CPU"), ColumnKind::Main),
    ("memory limit", Some("limit"), ColumnKind::Number),
    ("memory at most", Some("at most"), ColumnKind::Number),
    ("page cache", Some("page cache"), ColumnKind::Number),
    ("read", Some("read"), ColumnKind::Number),
    ("written", Some("written"), ColumnKind::Number),
    ("written in the drain", None, ColumnKind::Number),
];

/// What the work cost in each group of processes, where there are several, or memory is limited.
fn groups(layout: &DocumentLayout<'_>) -> Option<ReportBlock> {
    let caption = "What it cost: every group of processes, mean of the trials";
    let several = group_rows::are_several(layout);
    let is_told = |group: &GroupView| several || group.memory_limit_bytes.is_some();
    let cells = |group: &GroupView| is_told(group).then(|| group_cells(group));
    group_rows::table(layout, caption, &GROUP, cells).map(ReportBlock::Table)
}

/// A text for each of [`GROUP`].
fn group_cells(group: &GroupView) -> [String; GROUP.len()] {
    let bytes = |bytes| figures::text(bytes, |bytes| words::bytes(bytes as u64));
    [
        figures::text(group.cpu_per_operation_s, words::seconds),
        bytes(group.memory_limit_bytes),
        bytes(group.memory_peak_bytes),
        bytes(group.memory_cached_bytes),
        bytes(group.read_bytes),
        bytes(group.written_bytes),
        bytes(group.drain_written_bytes),
    ]
}

/// That a number of syncs is not the engine's alone.
fn remark(cost: &CostView) -> &'static str {
    let counter = cost.syncs_per_commit.and(cost.sums.syncs).map(|syncs| syncs.counted_by);
    if counter == Some(SyncObserver::Device) { " (device)" } else { "" }
}

/// Who counted syncs in this run, in sentences.
fn counted_by(layout: &DocumentLayout<'_>) -> String {
    let costs = layout.document.cells.iter().filter_map(|cell| cell.cost);
    let counters: Vec<SyncObserver> =
        costs.filter_map(|cost| Some(cost.sums.syncs?.counted_by)).collect();
    let witness = |counter, name| counters.contains(&counter).then_some(name);
    let exact = [
        witness(SyncObserver::Disk, "the virtual disk"),
        witness(SyncObserver::Kernel, "the kernel’s file system, of the engine’s processes"),
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
    if counters.contains(&SyncObserver::Device) {
        sentences.push(
            "Syncs marked “device” are flushes of the whole device’s cache, whoever asked for \
             them: syncs that share a flush count once, and a device without a volatile cache \
             counts none."
                .into(),
        );
    }
    sentences.join(" ")
}

/// What was counted, level by level, under such a title; `None` where nothing moved.
fn counted(layout: &DocumentLayout<'_>, title: &str) -> Option<ReportBlock> {
    let tables: Vec<ReportBlock> =
        layout.levels.iter().filter_map(|it| counters(layout, it)).collect();
    let is_any = !tables.is_empty();
    let folded = Folded { summary: title.to_owned(), blocks: tables, long: false };
    is_any.then_some(ReportBlock::Folded(folded))
}

/// What a level counted of itself at each condition, where something moved.
fn counters<'a>(layout: &DocumentLayout<'a>, level: &'a str) -> Option<ReportBlock> {
    let cell =
        |condition: &ConditionLevels<'a>| Some((condition.clone(), layout.cell(condition, level)?));
    let cells: Vec<(ConditionLevels, &CellView)> =
        layout.conditions.iter().filter_map(cell).collect();
    let moved = |(name, count): (&'a String, &u64)| (*count > 0).then_some(name.as_str());
    let names = cells.iter().flat_map(|(_, cell)| &cell.counters).filter_map(moved);
    let names: BTreeSet<&str> = names.collect();
    let mean = |cell: &CellView, name: &str| {
        let sum = cell.counters.get(name).map(|sum| *sum as f64);
        sum.map_or(NONE.into(), |sum| words::digits(sum / f64::from(cell.trials)))
    };
    let row = |name: &str| {
        let means = cells.iter().map(|(_, cell)| mean(cell, name));
        ReportRow::from_cells([name.to_owned()].into_iter().chain(means))
    };
    let place = |(condition, _): &(ConditionLevels, _)| {
        ReportColumn::new(ColumnKind::LongNumber, spot(layout, condition))
    };
    let caption = format!("{level}: while the clients ran, mean of the trials");
    let table = ReportTable {
        caption: ReportCell { style: Some(layout.style(level)), ..caption.into() },
        columns: [ReportColumn::new(ColumnKind::Name, "counter")]
            .into_iter()
            .chain(cells.iter().map(place))
            .collect(),
        rows: names.into_iter().map(row).collect(),
        ..ReportTable::default()
    };
    (!table.rows.is_empty()).then_some(ReportBlock::Table(table))
}

/// Where a condition is, in words, for a heading.
fn spot(layout: &DocumentLayout<'_>, condition: &ConditionLevels<'_>) -> String {
    match layout.place(condition) {
        none if none.is_empty() => "a trial".into(),
        place => place.trim_start_matches(" with ").into(),
    }
}
