//! Compares the p99 of levels, where each trial has enough operations for one.

use bakeoff_analysis::Comparison;
use bakeoff_analysis::layout::DocumentLayout;

use crate::block::{ColumnKind, ReportCell, ReportColumn, ReportRow, ReportTable, TableStyle};
use crate::sections::operations::{format_interval, format_ratio};
use crate::verdict;

pub fn build_table(layout: &DocumentLayout<'_>) -> Option<ReportTable> {
    let tails = &layout.document.tails;
    let names = ReportColumn::from_factors(&layout.varying);
    let columns = [
        ReportColumn::new(ColumnKind::Name, "operation"),
        ReportColumn::new(ColumnKind::Level, layout.compare),
        ReportColumn::new(ColumnKind::Level, "against"),
        ReportColumn::new(ColumnKind::Main, "ratio of p99"),
        ReportColumn::new(ColumnKind::Number, "95 % interval"),
        ReportColumn::new(ColumnKind::Verdict, "verdict"),
    ];
    let held_back = tails.iter().filter(|it| it.is_held_back()).map(|it| it.adjusted_over).max();
    let rows = tails.iter().map(|tail| build_row(layout, tail)).collect();
    (!tails.is_empty()).then(|| ReportTable {
        caption: "The p99 of levels against each other".into(),
        look: TableStyle::Figures,
        columns: names.chain(columns).collect(),
        rows,
        note: held_back.map(|over| verdict::explain_mark(Some(over))),
        ..ReportTable::default()
    })
}

fn build_row(layout: &DocumentLayout<'_>, tail: &Comparison) -> ReportRow {
    let place = layout.varying.iter().map(|it| tail.levels.get(*it).cloned().unwrap_or_default());
    let names =
        [&tail.operation, &tail.level, &tail.baseline].map(|it| ReportCell::from(it.as_str()));
    let figures = [format_ratio(tail), format_interval(tail)].map(ReportCell::from);
    let cells = place.map(ReportCell::from).chain(names).chain(figures);
    ReportRow::from_cells(cells.chain([ReportCell::verdict(verdict::format_verdict(tail))]))
}
