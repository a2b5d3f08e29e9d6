//! A table with a row for each cell: what costs, debts and offers have in common.

use bakeoff_analysis::CellView;

use crate::figures::{self, Column, Figures, Mark, Row};
use crate::layout::{Layout, Setting};

/// A column: its heading, shorter for a terminal (`None` where it has no room for it), and how it is
/// set.
pub type Head = (&'static str, Option<&'static str>, &'static str);

/// A row for each cell that has one; without the columns that say nothing of any of them. `None` where
/// nothing is left.
pub fn table<'a, const N: usize>(
    layout: &Layout<'a>,
    heads: &[Head; N],
    marks: impl Fn(&Setting<'a>, &'a str) -> Vec<Mark>,
    cells: impl Fn(&str, &CellView) -> Option<[String; N]>,
) -> Option<Figures> {
    let column = |(name, _, class): &Head| Column { name: (*name).into(), class };
    let mut figures = Figures { columns: heads.iter().map(column).collect(), rows: Vec::new() };
    for setting in &layout.settings {
        let mut first = true;
        for (series, level) in layout.levels.iter().enumerate() {
            let cell = layout.cell(setting, level);
            let Some(cells) = cell.and_then(|cell| cells(level, cell)) else { continue };
            figures.rows.push(Row {
                setting: setting.iter().map(|l| (*l).into()).collect(),
                place: layout.place(setting).trim_start_matches(" with ").into(),
                first: std::mem::take(&mut first),
                level: (*level).into(),
                series,
                marks: marks(setting, level),
                cells: cells.into(),
            });
        }
    }
    let kept = figures::said(figures.columns.len(), figures.rows.iter().map(|row| &row.cells));
    figures::keep(&mut figures.columns, &kept);
    figures.rows.iter_mut().for_each(|row| figures::keep(&mut row.cells, &kept));
    let says_something = !figures.rows.is_empty() && !figures.columns.is_empty();
    says_something.then_some(figures)
}

/// A heading as a terminal has room for it, if it has.
pub fn short(heads: &[Head], name: &str) -> Option<&'static str> {
    heads.iter().find(|(long, ..)| *long == name).and_then(|(_, short, _)| *short)
}
