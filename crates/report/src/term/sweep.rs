//! Lines over a numeric factor in a terminal: a table of the levels that have room.

use super::TerminalWriter as Terminal;
use super::table::{AROUND, HEADING, length};
use crate::block::sweep::LinePanel;
use crate::block::{ReportTable, Sweeps};

impl Terminal {
    pub(super) fn write_sweeps(&self, of: &Sweeps) -> String {
        let tables: Vec<String> =
            of.charts.iter().map(|it| self.write_table(&self.that_fits(&it.panel))).collect();
        tables.join("\n")
    }

    pub(super) fn that_fits(&self, panel: &LinePanel) -> ReportTable {
        let mut levels = panel.by_weight();
        loop {
            let mut shown = levels.clone();
            shown.sort_unstable();
            let table = panel.table_of(&shown);
            // The ends are shown at any width.
            if levels.len() <= 2 || measure_width(&table) <= self.width {
                return table;
            }
            levels.pop();
        }
    }
}

/// With headings on several lines.
fn measure_width(table: &ReportTable) -> usize {
    let column = |(at, column): (usize, &crate::block::ReportColumn)| {
        let word = column.name.split(' ').map(length).max().unwrap_or(0).min(HEADING);
        let cells = table.rows.iter().map(|row| length(&row.cells[at].text));
        cells.max().unwrap_or(0).max(word) + AROUND
    };
    table.columns.iter().enumerate().map(column).sum()
}
