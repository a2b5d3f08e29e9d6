//! Shows the processor time of each group of processes.

mod shares;

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{CellView, GroupView};

use crate::block::{ColumnKind, ReportBlock, StyledText};
use crate::cell_tables::{self, ColumnHead};
use crate::figures;
use crate::group_tables;
use crate::words;

const COLUMNS: [ColumnHead; 5] = [
    ("engine, clients at work", Some("at work"), ColumnKind::Main),
    ("engine, drain", Some("drain"), ColumnKind::Number),
    ("bakeoff’s clients", Some("harness"), ColumnKind::Number),
    ("disk daemon", Some("disk daemon"), ColumnKind::Number),
    ("neighbours", Some("neighbours"), ColumnKind::Number),
];

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let cells = |_: &str, cell: &CellView| Some(format_cells(layout, cell));
    let caption = "Processor time of a trial: every cell";
    let drain = if layout.has_engines() { "; of the engine in the drain, too" } else { "" };
    let lead = StyledText::from(format!("Mean seconds of a trial while the clients ran{drain}."))
        .marked(" Clients: bakeoff’s own. Disk daemon: the virtual disk with its model of the background I/O.");
    let mut blocks = shares::build_blocks(layout);
    blocks.extend(cell_tables::build_blocks(layout, lead, caption, &COLUMNS, cells));
    blocks.extend(build_groups(layout));
    blocks
}

const GROUP: [ColumnHead; 6] = [
    ("clients at work", Some("at work"), ColumnKind::Main),
    ("drain", Some("drain"), ColumnKind::Number),
    ("processors", Some("processors"), ColumnKind::Number),
    ("periods with work", None, ColumnKind::Number),
    ("quota used up in", Some("used up"), ColumnKind::Number),
    ("waited for it", Some("waited"), ColumnKind::Number),
];

const QUOTAS: &str = "Processors: the quota of a group of processes. It counts in periods of 100 ms. Used \
     up: the part of the periods with work in which the group had used its quota up. Waited: how long it \
     then waited for the next period, summed over its processors.";

fn build_groups(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let several = group_tables::are_several(layout);
    let cells = |group: &GroupView| {
        (several || group.cpu_limit.is_some()).then(|| group_cells(group, several))
    };
    let caption = "Processor time of a trial: every group of processes";
    let Some(table) = group_tables::build_table(layout, caption, &GROUP, cells) else {
        return Vec::new();
    };
    let mut all = layout.document.cells.iter().flat_map(|cell| &cell.groups);
    let lead = all.any(|group| group.cpu_limit.is_some()).then(|| ReportBlock::Lead(QUOTAS.into()));
    lead.into_iter().chain([ReportBlock::Table(table)]).collect()
}

/// Processor time only where the table of cells doesn't have it.
fn group_cells(group: &GroupView, several: bool) -> [String; GROUP.len()] {
    let used = |seconds: Option<f64>| {
        figures::format_optional(seconds.filter(|_| several), words::format_seconds)
    };
    let share = |(throttled, periods): (f64, f64)| throttled / periods;
    let held = group.cpu_throttled.zip(group.cpu_periods.filter(|periods| *periods > 0.0));
    [
        used(group.cpu_s),
        used(group.drain_cpu_s),
        figures::format_optional(group.cpu_limit, words::format_digits),
        figures::format_optional(group.cpu_periods, words::format_digits),
        figures::format_optional(held.map(share), words::format_percent),
        figures::format_optional(group.cpu_waited_s, words::format_seconds),
    ]
}

fn format_cells(layout: &DocumentLayout<'_>, cell: &CellView) -> [String; COLUMNS.len()] {
    let cpu = cell.cpu_s;
    let counted = |seconds| figures::format_optional(seconds, words::format_seconds);
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
