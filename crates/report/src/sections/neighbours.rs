use bakeoff_analysis::layout::DocumentLayout;

use crate::block::{ColumnKind, ReportBlock, ReportColumn, ReportRow, ReportTable, StyledText};
use crate::figures;
use crate::words;

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let rows: Vec<ReportRow> = build_rows(layout);
    if rows.is_empty() {
        return Vec::new();
    }
    let condition = ReportColumn::from_factors(&layout.varying);
    let levels = layout.levels.iter().map(|level| ReportColumn::new(ColumnKind::Number, *level));
    let table = ReportTable {
        caption: "Requests a second of the background I/O".into(),
        columns: condition.chain(levels).collect(),
        rows,
        ..ReportTable::default()
    };
    vec![ReportBlock::Lead(build_lead(layout)), ReportBlock::Table(table)]
}

fn build_lead(layout: &DocumentLayout<'_>) -> StyledText {
    let alone = layout.document.run.run.neighbour_alone_per_second;
    let alone = alone
        .map(|rate| format!(" One stream alone reached {} a second.", words::format_digits(rate)));
    let text = format!(
        "Requests a second that the background I/O on the disk (the factor neighbours) got done beside each \
         {}. A level that leaves it less has more of the disk for itself, and looks better for it.{}",
        layout.compare,
        alone.unwrap_or_default()
    );
    text.into()
}

fn build_rows(layout: &DocumentLayout<'_>) -> Vec<ReportRow> {
    let mut rows = Vec::new();
    for condition in &layout.conditions {
        let rate = |level| Some(layout.cell(condition, level)?.neighbour_per_second);
        let rates: Vec<Option<f64>> = layout.levels.iter().map(|level| rate(level)).collect();
        if rates.iter().flatten().any(|rate| *rate > 0.0) {
            let condition = condition.iter().map(|level| (*level).to_owned());
            let rates =
                rates.into_iter().map(|rate| figures::format_optional(rate, words::format_digits));
            rows.push(ReportRow::from_cells(condition.chain(rates)));
        }
    }
    rows
}
