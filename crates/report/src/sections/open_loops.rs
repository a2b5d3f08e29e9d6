//! Shows the rate offered to each open-loop cell, and whether it kept up.

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{CellView, OpenLoopView};

use crate::block::{ColumnKind, ReportBlock};
use crate::cell_tables::{self, ColumnHead};
use crate::figures::{self, NONE};
use crate::offered_rate::BEHIND;
use crate::words;

const EXPLAINED: &str = "Operations were due at the offered rate, whether or not those before \
     them had ended. Response time counts from the moment at which an operation was due, service \
     time from its start. Not started (left): due, and not begun when the time was over. Backlog: the \
     most that were due and had not started at any moment. Where a cell did \
     not keep up, its response times grow for as long as a trial runs: they say that it can’t serve \
     this rate, and nothing else.";

const COLUMNS: [ColumnHead; 7] = [
    ("offered per second", Some("offered/s"), ColumnKind::Main),
    ("outcome", Some("outcome"), ColumnKind::Verdict),
    ("done per second", None, ColumnKind::Number),
    ("not started", Some("left"), ColumnKind::Number),
    ("of what was due", None, ColumnKind::Number),
    ("backlog", Some("backlog"), ColumnKind::Number),
    ("start delay, p99", None, ColumnKind::Number),
];

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let cells = |_: &str, cell: &CellView| cell.open_loop.map(|open| format_cells(cell, &open));
    let caption = "What was offered: every cell";
    let table = cell_tables::build_table(layout, caption, &COLUMNS, |_, _| Vec::new(), cells);
    table.map_or(Vec::new(), |table| {
        vec![ReportBlock::Note(EXPLAINED.into()), ReportBlock::Table(table)]
    })
}

fn format_cells(cell: &CellView, open: &OpenLoopView) -> [String; COLUMNS.len()] {
    let done: f64 = cell.operations.iter().map(|operation| operation.per_second).sum();
    let share = (!open.kept_up).then(|| words::format_percent(open.share_not_started()));
    [
        words::format_digits(open.offered_per_second),
        if open.kept_up { "kept up" } else { BEHIND }.into(),
        words::format_digits(done),
        words::format_count(open.not_started),
        share.unwrap_or_else(|| NONE.into()),
        open.backlog.map_or(NONE.into(), words::format_count),
        figures::format_latency(open.start_delay_p99_s),
    ]
}
