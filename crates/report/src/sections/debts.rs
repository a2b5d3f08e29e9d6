//! Shows the work that each cell had put off when its clients stopped.

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{CellView, DebtView};

use crate::block::{ColumnKind, ReportBlock};
use crate::cell_tables::{self, ColumnHead};
use crate::figures::{self, NONE};
use crate::words;

const EXPLAINED: &str = "What an engine puts off (dirty pages, tables to flush and to compact, a \
                         log to checkpoint) was written back after the clients had stopped, on \
                         the same disk beside the same neighbours. Clients’ time an operation: \
                         clients × the time that they ran, the warm-up among it, ÷ operations of all \
                         kinds, which is no mean of their times; with deferred work: the same with \
                         the time of the drain. A drain that took longer than the clients had run was \
                         cut off there: it took over that long, so that the time with deferred \
                         work is over twice the other. Nothing: by its own counters the engine \
                         wrote back none of its deferred work while the clients ran, so that its \
                         figures are those before the first checkpoint or compaction, and not \
                         those of a database that has been in use for long.";

const COLUMNS: [ColumnHead; 6] = [
    ("time to write it back", Some("drain"), ColumnKind::Main),
    ("bytes", Some("bytes"), ColumnKind::Number),
    ("engine CPU", Some("CPU"), ColumnKind::Number),
    ("clients’ time an operation", Some("time/op"), ColumnKind::Number),
    ("the same with deferred work", Some("with deferred"), ColumnKind::Number),
    ("written back while clients ran", Some("meanwhile"), ColumnKind::Verdict),
];

/// Only engines put work off.
pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let charted = layout.charted_levels();
    let cells = |level: &str, cell: &CellView| {
        let shown = layout.has_engines() && charted.contains(&level);
        cell.debt.filter(|_| shown).map(|debt| format_cells(&debt))
    };
    let caption = "What was left to write back: every cell";
    cell_tables::build_blocks(layout, EXPLAINED, caption, &COLUMNS, cells)
}

fn format_cells(debt: &DebtView) -> [String; COLUMNS.len()] {
    let over = if debt.cut_off > 0 { words::OVER } else { "" };
    let with = |value| {
        figures::format_optional(value, |value| format!("{over}{}", words::format_seconds(value)))
    };
    [
        with(Some(debt.drain_s)),
        figures::format_optional(debt.bytes, |bytes| words::format_bytes(bytes as u64)),
        figures::format_optional(debt.cpu_s, words::format_seconds),
        figures::format_optional(debt.mean_s, words::format_seconds),
        with(debt.mean_with_debt_s),
        match (debt.fresh, debt.bytes) {
            (Some(true), _) => "nothing",
            (Some(false), _) => "some",
            (None, Some(0.0)) => "had nothing to",
            (None, _) => NONE,
        }
        .into(),
    ]
}
