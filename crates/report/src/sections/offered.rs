//! What was offered to each cell in an open loop, and whether it kept up.

use bakeoff_analysis::{CellView, OpenLoopView};

use crate::behind::{self, BEHIND};
use crate::block::{ColumnKind, ReportBlock};
use crate::cell_rows::{self, ColumnHead};
use crate::figures::{self, NONE};
use crate::layout::DocumentLayout;
use crate::section::Section;
use crate::words;

/// What was offered.
pub struct Offered;

/// What the figures mean, for a reader.
const EXPLAINED: &str = "Operations were due at the offered rate, whether or not those before \
     them had ended. Response time counts from the moment at which an operation was due, service \
     time from its start. Not started (left): due, and not begun when the time was over. Backlog: the \
     most that were due and had not started at any moment. Where a cell did \
     not keep up, its response times grow for as long as a trial runs: they say that it can’t serve \
     this rate, and nothing else.";

/// The columns that a cell can have: what matters most comes first; and shorter for a terminal, which
/// has no room for some.
const COLUMNS: [ColumnHead; 7] = [
    ("offered per second", Some("offered/s"), ColumnKind::Main),
    ("outcome", Some("outcome"), ColumnKind::Verdict),
    ("done per second", None, ColumnKind::Number),
    ("not started", Some("left"), ColumnKind::Number),
    ("of what was due", None, ColumnKind::Number),
    ("backlog", Some("backlog"), ColumnKind::Number),
    ("start delay, p99", None, ColumnKind::Number),
];

impl Section for Offered {
    fn name(&self) -> &str {
        behind::SECTION
    }

    fn title(&self) -> &str {
        "What was offered"
    }

    /// A row for each cell in an open loop.
    fn blocks(&self, layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
        let cells = |_: &str, cell: &CellView| cell.open_loop.map(|open| cells(cell, &open));
        let caption = "What was offered: every cell";
        let table = cell_rows::table(layout, caption, &COLUMNS, |_, _| Vec::new(), cells);
        table.map_or(Vec::new(), |table| {
            vec![ReportBlock::Note(EXPLAINED.into()), ReportBlock::Table(table)]
        })
    }

    fn is_of_cells(&self) -> bool {
        true
    }
}

/// A text for each of [`COLUMNS`].
fn cells(cell: &CellView, open: &OpenLoopView) -> [String; COLUMNS.len()] {
    let done: f64 = cell.operations.iter().map(|operation| operation.per_second).sum();
    let share = (!open.kept_up).then(|| words::percent(open.share_not_started()));
    [
        words::digits(open.offered_per_second),
        if open.kept_up { "kept up" } else { BEHIND }.into(),
        words::digits(done),
        words::count(open.not_started),
        share.unwrap_or_else(|| NONE.into()),
        open.backlog.map_or(NONE.into(), words::count),
        figures::latency(open.start_delay_p99_s),
    ]
}
