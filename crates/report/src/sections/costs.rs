//! Shows the cost of the clients' work, and the targets' own counters.

use std::collections::BTreeSet;

use bakeoff_analysis::layout::{ConditionLevels, DocumentLayout};
use bakeoff_analysis::{CellView, CostView, GroupView, SyncObserver};

use crate::block::{
    ColumnKind, Folded, ReportBlock, ReportCell, ReportColumn, ReportRow, ReportTable,
};
use crate::cell_tables::{self, ColumnHead};
use crate::chart::find_style;
use crate::figures::{self, NONE, format_few};
use crate::group_tables;
use crate::words;

const COLUMNS: [ColumnHead; 5] = [
    ("device bytes per byte written", Some("device bytes/byte"), ColumnKind::Number),
    ("syncs per commit", Some("syncs/commit"), ColumnKind::Number),
    ("space on disk", Some("space"), ColumnKind::Number),
    ("space per byte of the rows", Some("space/byte"), ColumnKind::Number),
    ("engine CPU per operation", Some("engine CPU"), ColumnKind::Number),
];

const EXPLAINED: &str = "Over all of a cell’s trials, from their clients’ start to the end of the \
     drain. Device bytes per byte written: what went to the device for each byte of the rows that the \
     application wrote.";

const OF_SPACE: &str = "Space per byte of the rows: after the drain, for each byte of the rows that were \
     loaded; a row’s columns count, an integer as 8 bytes, a text as its own, an index as none.";

/// Without engines nothing has a cost: only what the target counted is shown.
pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    if !layout.has_engines() {
        return build_counted(layout, "What the target counted of itself").into_iter().collect();
    }
    let charted = layout.charted_levels();
    let marks = |condition: &_, level| cell_tables::mark_cell(layout, condition, level);
    // A level that does nothing costs nothing.
    let cells = |level: &str, cell: &CellView| {
        if charted.contains(&level) { format_cells(cell) } else { None }
    };
    let table =
        cell_tables::build_table(layout, "What it cost: every cell", &COLUMNS, marks, cells);
    let Some(table) = table else { return Vec::new() };
    let of_space = layout.document.cells.iter().any(|cell| cell.space.is_some());
    let of_space = if of_space { OF_SPACE } else { "" };
    let sentences = [EXPLAINED.to_owned(), of_space.to_owned(), counted_by(layout)];
    let sentences: Vec<String> = sentences.into_iter().filter(|it| !it.is_empty()).collect();
    let lead = sentences.join(" ");
    let mut blocks = vec![ReportBlock::Lead(lead.into()), ReportBlock::Table(table)];
    blocks.extend(build_groups(layout));
    blocks.extend(build_counted(layout, "What the engines counted of themselves"));
    blocks
}

fn format_cells(cell: &CellView) -> Option<[String; COLUMNS.len()]> {
    let cost = cell.cost?;
    Some([
        figures::format_optional(cost.write_amplification, words::format_digits),
        figures::format_optional(cost.syncs_per_commit, format_few) + remark_syncs(&cost),
        cell.space_bytes.map_or(NONE.into(), words::format_bytes),
        figures::format_optional(cell.space.map(|space| space.amplification), words::format_digits),
        figures::format_optional(cost.engine_cpu_per_operation_s, words::format_seconds),
    ])
}

const GROUP: [ColumnHead; 7] = [
    ("CPU per operation", Some("CPU"), ColumnKind::Main),
    ("memory limit", Some("limit"), ColumnKind::Number),
    ("memory at most", Some("at most"), ColumnKind::Number),
    ("page cache", Some("page cache"), ColumnKind::Number),
    ("read", Some("read"), ColumnKind::Number),
    ("written", Some("written"), ColumnKind::Number),
    ("written in the drain", None, ColumnKind::Number),
];

fn build_groups(layout: &DocumentLayout<'_>) -> Option<ReportBlock> {
    let caption = "What it cost: every group of processes, mean of the trials";
    let several = group_tables::are_several(layout);
    let is_told = |group: &GroupView| several || group.memory_limit_bytes.is_some();
    let cells = |group: &GroupView| is_told(group).then(|| group_cells(group));
    group_tables::build_table(layout, caption, &GROUP, cells).map(ReportBlock::Table)
}

fn group_cells(group: &GroupView) -> [String; GROUP.len()] {
    let bytes = |bytes| figures::format_optional(bytes, |bytes| words::format_bytes(bytes as u64));
    [
        figures::format_optional(group.cpu_per_operation_s, words::format_seconds),
        bytes(group.memory_limit_bytes),
        bytes(group.memory_peak_bytes),
        bytes(group.memory_cached_bytes),
        bytes(group.read_bytes),
        bytes(group.written_bytes),
        bytes(group.drain_written_bytes),
    ]
}

/// Notes that the syncs are not the engine's alone.
fn remark_syncs(cost: &CostView) -> &'static str {
    let counter = cost.syncs_per_commit.and(cost.sums.syncs).map(|syncs| syncs.counted_by);
    if counter == Some(SyncObserver::Device) { " (device)" } else { "" }
}

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
            words::join_list(&exact)
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

fn build_counted(layout: &DocumentLayout<'_>, title: &str) -> Option<ReportBlock> {
    let tables: Vec<ReportBlock> =
        layout.levels.iter().filter_map(|it| build_counters(layout, it)).collect();
    let is_any = !tables.is_empty();
    let folded = Folded { summary: title.to_owned(), blocks: tables, long: false };
    is_any.then_some(ReportBlock::Folded(folded))
}

fn build_counters<'a>(layout: &DocumentLayout<'a>, level: &'a str) -> Option<ReportBlock> {
    let cell =
        |condition: &ConditionLevels<'a>| Some((condition.clone(), layout.cell(condition, level)?));
    let cells: Vec<(ConditionLevels, &CellView)> =
        layout.conditions.iter().filter_map(cell).collect();
    let moved = |(name, count): (&'a String, &u64)| (*count > 0).then_some(name.as_str());
    let names = cells.iter().flat_map(|(_, cell)| &cell.counters).filter_map(moved);
    let names: BTreeSet<&str> = names.collect();
    let mean = |cell: &CellView, name: &str| {
        let sum = cell.counters.get(name).map(|sum| *sum as f64);
        sum.map_or(NONE.into(), |sum| words::format_digits(sum / f64::from(cell.trials)))
    };
    let row = |name: &str| {
        let means = cells.iter().map(|(_, cell)| mean(cell, name));
        ReportRow::from_cells([name.to_owned()].into_iter().chain(means))
    };
    let place = |(condition, _): &(ConditionLevels, _)| {
        ReportColumn::new(ColumnKind::LongNumber, describe_spot(layout, condition))
    };
    let caption = format!("{level}: while the clients ran, mean of the trials");
    let table = ReportTable {
        caption: ReportCell { style: Some(find_style(layout, level)), ..caption.into() },
        columns: [ReportColumn::new(ColumnKind::Name, "counter")]
            .into_iter()
            .chain(cells.iter().map(place))
            .collect(),
        rows: names.into_iter().map(row).collect(),
        ..ReportTable::default()
    };
    (!table.rows.is_empty()).then_some(ReportBlock::Table(table))
}

fn describe_spot(layout: &DocumentLayout<'_>, condition: &ConditionLevels<'_>) -> String {
    match words::describe_place(layout, condition) {
        none if none.is_empty() => "a trial".into(),
        place => place.trim_start_matches(" with ").into(),
    }
}
