//! Compares the p99 of levels, where each trial has enough operations for one.

use bakeoff_analysis::{Comparison, Contrast};

use crate::block::{ColumnKind, ReportCell, ReportColumn, ReportRow, ReportTable, TableStyle};
use crate::figures::NONE;
use crate::layout::DocumentLayout;
use crate::verdict;
use crate::words;

pub fn build_table(layout: &DocumentLayout<'_>) -> Option<ReportTable> {
    let tails = &layout.document.tails;
    let names = ReportColumn::from_factors(&layout.varying);
    let columns = [
        ReportColumn::new(ColumnKind::Name, "operation"),
        ReportColumn::new(ColumnKind::Level, layout.compare),
        ReportColumn::new(ColumnKind::Level, "against"),
        ReportColumn::new(ColumnKind::Main, "p99, times as long"),
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
    let word = match tail.is_held_back() {
        true => verdict::mark_verdict(tail.verdict),
        false => tail.verdict.word().to_owned(),
    };
    let contrast = Contrast::from_shown_comparison(tail);
    let ratio = contrast.map(|it| words::ratio_or_bound(it.ratio, it.is));
    let interval = contrast.and_then(|it| words::format_ends(it.ends, it.is, it.blocks));
    let place = layout.varying.iter().map(|it| tail.levels.get(*it).cloned().unwrap_or_default());
    let names =
        [&tail.operation, &tail.level, &tail.baseline].map(|it| ReportCell::from(it.as_str()));
    let figures = [ratio, interval].map(|it| it.unwrap_or_else(|| NONE.into()).into());
    let place = place.map(ReportCell::from);
    let cells = place.chain(names).chain(figures).chain([ReportCell::verdict(word)]);
    ReportRow::from_cells(cells)
}
