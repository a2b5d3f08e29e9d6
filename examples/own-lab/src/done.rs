//! A section of reports: how much was done in each cell, and in how many trials.

use bakeoff::report::block::{ColumnKind, ReportBlock, ReportColumn, ReportRow, ReportTable};
use bakeoff::report::{DocumentLayout, Section};

/// The section.
pub struct DoneSection;

impl Section for DoneSection {
    fn name(&self) -> &str {
        "done"
    }

    fn title(&self) -> &str {
        "How much was done"
    }

    fn blocks(&self, layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
        let mut rows = Vec::new();
        for condition in &layout.conditions {
            for level in &layout.levels {
                let Some(cell) = layout.cell(condition, level) else { continue };
                let operations: u64 = cell.operations.iter().map(|it| it.count).sum();
                let names = condition.iter().chain([level]).map(|name| (*name).to_owned());
                rows.push(ReportRow::from_cells(
                    names.chain([cell.trials.to_string(), operations.to_string()]),
                ));
            }
        }
        if rows.is_empty() {
            return Vec::new();
        }
        let conditions =
            layout.varying.iter().map(|factor| ReportColumn::new(ColumnKind::Condition, *factor));
        let own = [
            ReportColumn::new(ColumnKind::Name, layout.compare),
            ReportColumn::new(ColumnKind::Number, "trials"),
            ReportColumn::new(ColumnKind::Number, "operations"),
        ];
        let columns = conditions.chain(own).collect();
        let caption = "Operations of each cell, all trials together".into();
        vec![ReportBlock::Table(ReportTable { caption, columns, rows, ..ReportTable::default() })]
    }
}
