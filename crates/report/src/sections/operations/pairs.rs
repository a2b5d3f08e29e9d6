//! Compares levels other than the baseline with each other by their own pairs of trials, which are
//! more exact than overlapping intervals.

use bakeoff_analysis::Comparison;
use bakeoff_analysis::layout::{ConditionLevels, DocumentLayout};

use super::{format_interval, format_ratio};
use crate::block::{ColumnKind, ReportCell, ReportColumn, ReportRow, ReportTable, TableStyle};
use crate::verdict;
use crate::words;

pub fn build_table<'a>(layout: &DocumentLayout<'a>, operation: &'a str) -> Option<ReportTable> {
    let names = ReportColumn::from_factors(&layout.varying);
    let columns = [
        ReportColumn::new(ColumnKind::Name, layout.compare),
        ReportColumn::new(ColumnKind::Level, "against"),
        ReportColumn::new(ColumnKind::Main, "ratio"),
        ReportColumn::new(ColumnKind::Number, "95 % interval"),
        ReportColumn::new(ColumnKind::Verdict, "verdict"),
    ];
    let mut rows = Vec::new();
    let mut most = None;
    for condition in &layout.conditions {
        let pairs = layout
            .comparisons_without_baseline(operation, condition)
            .iter()
            .filter(|it| it.ratio.is_some());
        for (number, pair) in pairs.enumerate() {
            rows.push(build_row(layout, condition, pair, number > 0));
            most = most.max(pair.is_held_back().then_some(pair.adjusted_over));
        }
    }
    (!rows.is_empty()).then(|| ReportTable {
        caption: format!("{operation}: the others against each other, by their own pairs").into(),
        look: TableStyle::Figures,
        columns: names.chain(columns).collect(),
        rows,
        note: most.map(|over| verdict::explain_mark(Some(over))),
        ..ReportTable::default()
    })
}

fn build_row<'a>(
    layout: &DocumentLayout<'a>,
    condition: &ConditionLevels<'a>,
    pair: &Comparison,
    repeated: bool,
) -> ReportRow {
    let [level, against] = [&pair.level, &pair.baseline].map(|it| ReportCell::from(it.as_str()));
    let cells = [
        level,
        against,
        format_ratio(pair).into(),
        format_interval(pair).into(),
        ReportCell::verdict(verdict::format_verdict(pair)),
    ];
    let place: Vec<String> = layout
        .varying
        .iter()
        .zip(condition)
        .map(|(it, level)| words::phrase_level(it, level))
        .collect();
    ReportRow {
        place: Some(place.join(", ")).filter(|place| !repeated && !place.is_empty()),
        repeated,
        ..ReportRow::from_cells(condition.iter().map(|level| (*level).into()).chain(cells))
    }
}
