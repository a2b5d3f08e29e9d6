//! What each level takes on disk.

use crate::block::{Block, Cell, Chart, Charts, Column, Kind, Row, Table};
use crate::chart::{self, Size};
use crate::figures;
use crate::layout::Layout;
use crate::panels::{self, Panel};
use crate::section::Section;
use crate::words;

/// Space on disk after the drain.
pub struct Space;

/// What a level takes over all cells of a panel, in bytes.
struct Taken<'a> {
    level: &'a str,
    median: u64,
    least: u64,
    most: u64,
    /// The median of the bytes on disk for each byte of the rows that were loaded, where that is known.
    amplification: Option<f64>,
}

impl Section for Space {
    fn name(&self) -> &str {
        "space"
    }

    fn title(&self) -> &str {
        "Space on disk"
    }

    fn blocks(&self, layout: &Layout<'_>) -> Vec<Block> {
        let panels = panels::panels(layout);
        let taken: Vec<Vec<Taken>> = panels.iter().map(|panel| taken(layout, panel)).collect();
        if taken.iter().all(Vec::is_empty) {
            return Vec::new();
        }
        let scale = if panels.len() > 1 { "; each chart has its own scale" } else { "" };
        let explained = format!(
            "Bars: the median over the load’s levels{scale}; lines: from the least to the most."
        );
        let lead = "After everything put off was done: checkpoints, flushes, compactions.";
        let charts = charts(layout, &panels, &taken);
        vec![
            Block::Lead(lead.into()),
            Block::Charts(Charts { explained: explained.into(), legend: Vec::new(), charts }),
            Block::Table(table(layout, &panels, &taken)),
        ]
    }

    fn is_background(&self) -> bool {
        true
    }
}

fn taken<'a>(layout: &Layout<'a>, panel: &Panel<'a>) -> Vec<Taken<'a>> {
    let of = |level: &&'a str| {
        let bytes = |condition| layout.cell(condition, level)?.space_bytes;
        let mut bytes: Vec<u64> = panel.conditions.iter().filter_map(bytes).collect();
        bytes.sort_unstable();
        let (least, most) = (*bytes.first()?, *bytes.last()?);
        let of_rows =
            |condition| Some(layout.cell(condition, level)?.space.as_ref()?.amplification);
        let mut shares: Vec<f64> = panel.conditions.iter().filter_map(of_rows).collect();
        shares.sort_by(f64::total_cmp);
        // A target without an engine has no rows.
        let middle = shares.get(shares.len().saturating_sub(1) / 2);
        let amplification = middle.copied().filter(|_| layout.has_engines());
        Some(Taken { level, median: bytes[(bytes.len() - 1) / 2], least, most, amplification })
    };
    layout.levels.iter().filter_map(of).collect()
}

/// A chart of sizes for each combination of the factors that are no load.
fn charts(layout: &Layout<'_>, panels: &[Panel<'_>], taken: &[Vec<Taken<'_>>]) -> Vec<Chart> {
    let charted = layout.charted();
    let chart = |(number, (panel, taken)): (usize, (&Panel, &Vec<Taken>))| {
        let shown = taken.iter().filter(|it| charted.contains(&it.level));
        let size = |it: &Taken| Size {
            name: it.level.into(),
            style: layout.style(it.level),
            bytes: it.median,
            range: (it.least, it.most),
        };
        let rows: Vec<Size> = shown.map(size).collect();
        let svg = chart::sizes(&format!("s{number}"), "Space on disk", &rows);
        Chart { caption: panels::caption(layout, panel), svg }
    };
    panels.iter().zip(taken).enumerate().map(chart).collect()
}

fn table(layout: &Layout<'_>, panels: &[Panel<'_>], taken: &[Vec<Taken<'_>>]) -> Table {
    let condition = panels::factors(layout).into_iter();
    let mut columns: Vec<Column> =
        condition.map(|factor| Column::new(Kind::Condition, factor)).collect();
    columns.push(Column::new(Kind::Name, layout.compare));
    columns.push(Column::new(Kind::Main, "median"));
    let figures = ["least", "most", "median per byte of the rows"];
    columns.extend(figures.map(|name| Column::new(Kind::Number, name)));
    let row = |(panel, it): (&Panel, &Taken)| {
        let name = Cell { style: Some(layout.style(it.level)), ..it.level.into() };
        let bytes = [it.median, it.least, it.most].map(|bytes| words::bytes(bytes).into());
        let share: Cell = figures::text(it.amplification, words::digits).into();
        let names = panel.levels.iter().map(|level| (*level).into()).chain([name]);
        Row::of(names.chain(bytes).chain([share]))
    };
    let rows =
        panels.iter().zip(taken).flat_map(|(panel, all)| all.iter().map(move |it| (panel, it)));
    let table = Table {
        caption: "Over the load’s levels".into(),
        columns,
        rows: rows.map(row).collect(),
        ..Table::default()
    };
    table.without_empty_columns(|_| true)
}
