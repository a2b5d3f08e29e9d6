//! Rows of cells of the plan, for tables and charts.

use bakeoff_analysis::layout::{ConditionLevels, DocumentLayout};
use bakeoff_analysis::{ALL_OPERATIONS, CellView};
use bakeoff_results::Levels;

use crate::block::{
    CellMark, ColumnKind, ReportBlock, ReportCell, ReportColumn, ReportRow, ReportTable,
    StyledText, TableStyle,
};
use crate::chart::find_style;
use crate::offered_rate;
use crate::promises;
use crate::warning_names;
use crate::words;

/// Marks a cell whose reads the page cache answered, or whose writes it kept.
const CACHE: &str = "cache";

/// A heading, a shorter one for a terminal (`None`: no room for it), and the column's kind.
pub type ColumnHead = (&'static str, Option<&'static str>, ColumnKind);

pub fn build_table<'a, const N: usize>(
    layout: &DocumentLayout<'a>,
    caption: &str,
    heads: &[ColumnHead; N],
    marks: impl Fn(&ConditionLevels<'a>, &'a str) -> Vec<CellMark>,
    cells: impl Fn(&str, &CellView) -> Option<[String; N]>,
) -> Option<ReportTable> {
    let rows = |condition: &ConditionLevels<'a>, level: &'a str, cell: &CellView| {
        let cells = cells(level, cell)?.into_iter().zip(heads);
        let cells = cells.map(|(text, (_, _, kind))| match kind {
            ColumnKind::Verdict => ReportCell::verdict(text),
            _ => text.into(),
        });
        Some(vec![(marks(condition, level), cells.collect())])
    };
    assemble_table(layout, caption, build_columns(heads), |condition, level, cell| {
        rows(condition, level, cell).unwrap_or_default()
    })
}

/// The same below its explanation.
pub fn build_blocks<'a, const N: usize>(
    layout: &DocumentLayout<'a>,
    lead: impl Into<StyledText>,
    caption: &str,
    heads: &[ColumnHead; N],
    cells: impl Fn(&str, &CellView) -> Option<[String; N]>,
) -> Vec<ReportBlock> {
    let table = build_table(layout, caption, heads, |_, _| Vec::new(), cells);
    let blocks = |table| vec![ReportBlock::Lead(lead.into()), ReportBlock::Table(table)];
    table.map_or(Vec::new(), blocks)
}

pub fn build_columns(heads: &[ColumnHead]) -> impl Iterator<Item = ReportColumn> {
    heads.iter().map(|(name, short, kind)| ReportColumn::new(*kind, *name).with_short(*short))
}

/// Columns without a figure in any row are left out; `None` where nothing is left.
pub fn assemble_table<'a>(
    layout: &DocumentLayout<'a>,
    caption: &str,
    columns: impl Iterator<Item = ReportColumn>,
    cells: impl Fn(&ConditionLevels<'a>, &'a str, &CellView) -> Vec<(Vec<CellMark>, Vec<ReportCell>)>,
) -> Option<ReportTable> {
    let mut rows = Vec::new();
    for condition in &layout.conditions {
        let mut repeated = false;
        for level in &layout.levels {
            let Some(cell) = layout.cell(condition, level) else { continue };
            for (marks, cells) in cells(condition, level, cell) {
                rows.push(build_row(layout, condition, level, repeated, marks, cells.into_iter()));
                repeated = true;
            }
        }
    }
    let table = ReportTable {
        caption: caption.into(),
        look: TableStyle::Figures,
        columns: name_columns(layout).into_iter().chain(columns).collect(),
        rows,
        ..ReportTable::default()
    };
    let table = table.without_empty_columns(|_| true);
    table.has_figures().then_some(table)
}

pub fn name_columns(layout: &DocumentLayout<'_>) -> Vec<ReportColumn> {
    let name = ReportColumn::new(ColumnKind::Name, layout.compare);
    ReportColumn::from_factors(&layout.varying).chain([name]).collect()
}

pub fn build_row<'a>(
    layout: &DocumentLayout<'a>,
    condition: &ConditionLevels<'a>,
    level: &'a str,
    repeated: bool,
    marks: Vec<CellMark>,
    cells: impl Iterator<Item = ReportCell>,
) -> ReportRow {
    let name = ReportCell { style: Some(find_style(layout, level)), marks, ..level.into() };
    let place = words::describe_place(layout, condition).trim_start_matches(" with ").to_owned();
    ReportRow {
        cells: condition.iter().map(|level| (*level).into()).chain([name]).chain(cells).collect(),
        place: Some(place).filter(|place| !repeated && !place.is_empty()),
        repeated,
        bad: false,
    }
}

/// Faults of the whole cell: a broken promise, an offered rate that was not kept up, the page cache
/// measured instead of a disk.
pub fn mark_cell<'a>(
    layout: &DocumentLayout<'a>,
    condition: &ConditionLevels<'a>,
    level: &'a str,
) -> Vec<CellMark> {
    let broken = promises::find_broken_mark(layout, condition, level);
    let broken = broken.map(|text| CellMark { text, section: promises::SECTION });
    let late = layout.cell(condition, level).is_some_and(CellView::is_behind);
    let late =
        late.then_some(CellMark { text: offered_rate::BEHIND, section: offered_rate::SECTION });
    let cached = layout.cell(condition, level).is_some_and(CellView::is_from_cache);
    let cached = cached.then_some(CellMark { text: CACHE, section: warning_names::SECTION });
    [broken, late, cached].into_iter().flatten().collect()
}

/// Marks a ratio if the page cache was measured on either side.
pub fn mark_cached(layout: &DocumentLayout<'_>, sides: &[Levels]) -> Vec<CellMark> {
    let has = |cell: &CellView, side: &Levels| {
        side.iter().all(|(factor, level)| cell.levels.get(factor) == Some(level))
    };
    let is_cached =
        |cell: &CellView| cell.is_from_cache() && sides.iter().any(|side| has(cell, side));
    let cached = layout.document.cells.iter().any(is_cached);
    cached
        .then_some(CellMark { text: CACHE, section: warning_names::SECTION })
        .into_iter()
        .collect()
}

pub fn explain_missing<'a>(
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
