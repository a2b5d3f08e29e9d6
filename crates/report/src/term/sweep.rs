//! Lines over a numeric factor in a terminal: a table a panel, of the levels that have room.

use super::TerminalWriter as Terminal;
use crate::block::sweep::LinePanel;
use crate::block::{ReportTable, Sweeps};

/// What a table puts around each of its columns.
const AROUND: usize = 2;
/// The widest that a heading makes a column whose figures are narrower.
const HEADING: usize = 16;

impl Terminal {
    /// The panels as lines that end in a break.
    pub(super) fn sweeps(&self, of: &Sweeps) -> String {
        let tables: Vec<String> =
            of.charts.iter().map(|it| self.table(&self.that_fits(&it.panel))).collect();
        tables.join("\n")
    }

    /// A panel's table with as many of its levels as have room, the weightiest first.
    fn that_fits(&self, panel: &LinePanel) -> ReportTable {
        let mut levels = panel.by_weight();
        loop {
            let mut shown = levels.clone();
            shown.sort_unstable();
            let table = panel.table_of(&shown);
            // The ends are told at any width.
            if levels.len() <= 2 || width(&table) <= self.width {
                return table;
            }
            levels.pop();
        }
    }
}

/// How wide a table is where its headings may take several lines.
fn width(table: &ReportTable) -> usize {
    let column = |(at, column): (usize, &crate::block::ReportColumn)| {
        let word = column.name.split(' ').map(length).max().unwrap_or(0).min(HEADING);
        let cells = table.rows.iter().map(|row| length(&row.cells[at].text));
        cells.max().unwrap_or(0).max(word) + AROUND
    };
    table.columns.iter().enumerate().map(column).sum()
}

fn length(text: &str) -> usize {
    text.chars().count()
}
