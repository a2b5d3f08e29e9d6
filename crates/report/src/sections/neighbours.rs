//! What the background I/O did.

use crate::block::{Block, Column, Kind, Row, Table, Words};
use crate::figures;
use crate::layout::Layout;
use crate::section::Section;
use crate::words;

/// What the neighbours did beside each level, in the cells that had any.
pub struct Neighbours;

impl Section for Neighbours {
    fn name(&self) -> &str {
        "neighbours"
    }

    fn title(&self) -> &str {
        "What the background I/O did"
    }

    fn link(&self) -> &str {
        "Background I/O"
    }

    fn blocks(&self, layout: &Layout<'_>) -> Vec<Block> {
        let rows: Vec<Row> = rows(layout);
        if rows.is_empty() {
            return Vec::new();
        }
        let condition = layout.varying.iter().map(|factor| Column::new(Kind::Condition, *factor));
        let levels = layout.levels.iter().map(|level| Column::new(Kind::Number, *level));
        let table = Table {
            caption: "Requests a second of the background I/O".into(),
            columns: condition.chain(levels).collect(),
            rows,
            ..Table::default()
        };
        vec![Block::Lead(lead(layout)), Block::Table(table)]
    }

    fn is_background(&self) -> bool {
        true
    }
}

fn lead(layout: &Layout<'_>) -> Words {
    let alone = layout.document.run.run.neighbour_alone_per_second;
    let alone =
        alone.map(|rate| format!(" One stream alone reached {} a second.", words::digits(rate)));
    let text = format!(
        "Requests a second that the background I/O on the disk (the factor neighbours) got done beside each \
         {}. A level that leaves it less has more of the disk for itself, and looks better for it.{}",
        layout.compare,
        alone.unwrap_or_default()
    );
    text.into()
}

fn rows(layout: &Layout<'_>) -> Vec<Row> {
    let mut rows = Vec::new();
    for condition in &layout.conditions {
        let rate = |level| Some(layout.cell(condition, level)?.neighbour_per_second);
        let rates: Vec<Option<f64>> = layout.levels.iter().map(|level| rate(level)).collect();
        if rates.iter().flatten().any(|rate| *rate > 0.0) {
            let condition = condition.iter().map(|level| (*level).to_owned());
            let rates = rates.into_iter().map(|rate| figures::text(rate, words::digits));
            rows.push(Row::of(condition.chain(rates)));
        }
    }
    rows
}
