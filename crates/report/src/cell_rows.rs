//! Rows of the cells of the plan: what all tables and charts of cells have in common.

use bakeoff_analysis::{ALL_OPERATIONS, CellView};
use bakeoff_results::Levels;

use crate::behind;
use crate::block::{
    CellMark, ColumnKind, ReportCell, ReportColumn, ReportRow, ReportTable, TableStyle,
};
use crate::layout::{ConditionLevels, DocumentLayout};
use crate::misleads;
use crate::promises;

/// What is said of a cell whose reads the page cache answered, or whose writes it kept.
const CACHE: &str = "cache";

/// A column: its heading, shorter for a terminal (`None` where it has no room for it), and what is in
/// it.
pub type ColumnHead = (&'static str, Option<&'static str>, ColumnKind);

/// A row for each cell that has one; without the columns that say nothing of any of them. `None` where
/// nothing is left.
pub fn table<'a, const N: usize>(
    layout: &DocumentLayout<'a>,
    caption: &str,
    heads: &[ColumnHead; N],
    marks: impl Fn(&ConditionLevels<'a>, &'a str) -> Vec<CellMark>,
    cells: impl Fn(&str, &CellView) -> Option<[String; N]>,
) -> Option<ReportTable> {
    let mut columns = names(layout);
    columns.extend(
        heads.iter().map(|(name, short, kind)| ReportColumn::new(*kind, *name).short(*short)),
    );
    let mut rows = Vec::new();
    for condition in &layout.conditions {
        let mut repeated = false;
        for level in &layout.levels {
            let cell = layout.cell(condition, level);
            let Some(cells) = cell.and_then(|cell| cells(level, cell)) else { continue };
            let cells = cells.into_iter().zip(heads).map(|(text, (_, _, kind))| match kind {
                ColumnKind::Verdict => ReportCell::verdict(text),
                _ => text.into(),
            });
            rows.push(row(layout, condition, level, repeated, marks(condition, level), cells));
            repeated = true;
        }
    }
    let table = ReportTable {
        caption: caption.into(),
        look: TableStyle::Figures,
        columns,
        rows,
        ..ReportTable::default()
    };
    let table = table.without_empty_columns(|_| true);
    table.has_figures().then_some(table)
}

/// The columns that say which cell of the plan a row is of.
pub fn names(layout: &DocumentLayout<'_>) -> Vec<ReportColumn> {
    let condition =
        layout.varying.iter().map(|factor| ReportColumn::new(ColumnKind::Condition, *factor));
    condition.chain([ReportColumn::new(ColumnKind::Name, layout.compare)]).collect()
}

/// A row of a cell of the plan.
pub fn row<'a>(
    layout: &DocumentLayout<'a>,
    condition: &ConditionLevels<'a>,
    level: &'a str,
    repeated: bool,
    marks: Vec<CellMark>,
    cells: impl Iterator<Item = ReportCell>,
) -> ReportRow {
    let name = ReportCell { style: Some(layout.style(level)), marks, ..level.into() };
    let place = layout.place(condition).trim_start_matches(" with ").to_owned();
    ReportRow {
        cells: condition.iter().map(|level| (*level).into()).chain([name]).chain(cells).collect(),
        place: Some(place).filter(|place| !repeated && !place.is_empty()),
        repeated,
        bad: false,
    }
}

/// What is wrong with a cell as a whole, whatever is measured of it: that power cuts have broken its
/// promise, that it did not keep up with the rate that was offered, and that the page cache was measured
/// in the place of a disk.
pub fn marks<'a>(
    layout: &DocumentLayout<'a>,
    condition: &ConditionLevels<'a>,
    level: &'a str,
) -> Vec<CellMark> {
    let broken = layout.broken(condition, level);
    let broken = broken.map(|text| CellMark { text, section: promises::SECTION });
    let late = layout.cell(condition, level).is_some_and(behind::is_behind);
    let late = late.then_some(CellMark { text: behind::BEHIND, section: behind::SECTION });
    let cached = layout.cell(condition, level).is_some_and(CellView::is_from_cache);
    let cached = cached.then_some(CellMark { text: CACHE, section: misleads::SECTION });
    [broken, late, cached].into_iter().flatten().collect()
}

/// The mark of a ratio whose sides have these levels, where a cell of either was of the page cache.
pub fn cached(layout: &DocumentLayout<'_>, sides: &[Levels]) -> Vec<CellMark> {
    let has = |cell: &CellView, side: &Levels| {
        side.iter().all(|(factor, level)| cell.levels.get(factor) == Some(level))
    };
    let is_cached =
        |cell: &CellView| cell.is_from_cache() && sides.iter().any(|side| has(cell, side));
    let cached = layout.document.cells.iter().any(is_cached);
    cached.then_some(CellMark { text: CACHE, section: misleads::SECTION }).into_iter().collect()
}

/// Why a cell has no figure of an operation.
pub fn missing<'a>(
    layout: &DocumentLayout<'a>,
    operation: &str,
    condition: &ConditionLevels<'a>,
    level: &'a str,
) -> &'static str {
    match layout.cell(condition, level) {
        None => "no trial that counts",
        Some(_) if operation == ALL_OPERATIONS => "no figure",
        Some(_) if layout.figures(operation, condition, level).is_none() => "not done here",
        Some(_) => "no figure",
    }
}
