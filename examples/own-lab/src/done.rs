//! A section of reports: how much was done in each cell, and in how many trials.

use bakeoff::report::block::{Block, Column, Kind, Row, Table};
use bakeoff::report::{Layout, Section};

/// The section.
pub struct Done;

impl Section for Done {
    fn name(&self) -> &str {
        "done"
    }

    fn title(&self) -> &str {
        "How much was done"
    }

    fn blocks(&self, layout: &Layout<'_>) -> Vec<Block> {
        let mut rows = Vec::new();
        for condition in &layout.conditions {
            for level in &layout.levels {
                let Some(cell) = layout.cell(condition, level) else { continue };
                let operations: u64 = cell.operations.iter().map(|it| it.count).sum();
                let names = condition.iter().chain([level]).map(|name| (*name).to_owned());
                rows.push(Row::of(names.chain([cell.trials.to_string(), operations.to_string()])));
            }
        }
        if rows.is_empty() {
            return Vec::new();
        }
        let conditions = layout.varying.iter().map(|factor| Column::new(Kind::Condition, *factor));
        let own = [
            Column::new(Kind::Name, layout.compare),
            Column::new(Kind::Number, "trials"),
            Column::new(Kind::Number, "operations"),
        ];
        let columns = conditions.chain(own).collect();
        let caption = "Operations of each cell, all trials together".into();
        vec![Block::Table(Table { caption, columns, rows, ..Table::default() })]
    }
}
