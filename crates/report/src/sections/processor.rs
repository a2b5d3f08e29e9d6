//! Who used the processor.

mod shares;

use bakeoff_analysis::{CellView, GroupView};

use crate::block::{ColumnKind, ReportBlock, StyledText};
use crate::cell_rows::{self, ColumnHead};
use crate::figures;
use crate::group_rows;
use crate::layout::DocumentLayout;
use crate::section::Section;
use crate::words;

/// Processor time of a trial, by who used it.
pub struct Processor;

const COLUMNS: [ColumnHead; 5] = [
    ("engine, clients at work", Some("at work"), ColumnKind::Main),
    ("engine, drain", Some("drain"), ColumnKind::Number),
    ("bakeoff’s clients", Some("harness"), ColumnKind::Number),
    ("disk daemon", Some("disk daemon"), ColumnKind::Number),
    ("neighbours", Some("neighbours"), ColumnKind::Number),
];

impl Section for Processor {
    fn name(&self) -> &str {
        "processor"
    }

    fn title(&self) -> &str {
        "Processor time of a trial"
    }

    fn link(&self) -> &str {
        "Processor time"
    }

    fn blocks(&self, layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
        let cells = |_: &str, cell: &CellView| Some(cells(layout, cell));
        let caption = "Processor time of a trial: every cell";
        let table = cell_rows::table(layout, caption, &COLUMNS, |_, _| Vec::new(), cells);
        let drain = if layout.has_engines() { "; of the engine in the drain, too" } else { "" };
        let lead = StyledText::from(format!("Mean seconds of a trial while the clients ran{drain}."))
            .marked(" Clients: bakeoff’s own. Disk daemon: the virtual disk with its model of the background I/O.");
        let mut blocks = shares::blocks(layout);
        blocks.extend(
            table.map_or(Vec::new(), |it| vec![ReportBlock::Lead(lead), ReportBlock::Table(it)]),
        );
        blocks.extend(groups(layout));
        blocks
    }

    fn is_of_cells(&self) -> bool {
        true
    }
}

/// The columns that a group can have.
const GROUP: [ColumnHead; 6] = [
    ("clients at work", Some("at work"), ColumnKind::Main),
    ("drain", Some("drain"), ColumnKind::Number),
    ("processors", Some("processors"), ColumnKind::Number),
    ("periods with work", None, ColumnKind::Number),
    ("quota used up in", Some("used up"), ColumnKind::Number),
    ("waited for it", Some("waited"), ColumnKind::Number),
];

/// What the columns of a quota hold.
const QUOTAS: &str = "Processors: the quota of a group of processes. It counts in periods of 100 ms. Used \
     up: the part of the periods with work in which the group had used its quota up. Waited: how long it \
     then waited for the next period, summed over its processors.";

/// What each group used where there are several, and how far quotas held them back.
fn groups(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let several = group_rows::are_several(layout);
    let cells = |group: &GroupView| {
        (several || group.cpu_limit.is_some()).then(|| group_cells(group, several))
    };
    let caption = "Processor time of a trial: every group of processes";
    let Some(table) = group_rows::table(layout, caption, &GROUP, cells) else { return Vec::new() };
    let mut all = layout.document.cells.iter().flat_map(|cell| &cell.groups);
    let lead = all.any(|group| group.cpu_limit.is_some()).then(|| ReportBlock::Lead(QUOTAS.into()));
    lead.into_iter().chain([ReportBlock::Table(table)]).collect()
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
fn cells(layout: &DocumentLayout<'_>, cell: &CellView) -> [String; COLUMNS.len()] {
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
