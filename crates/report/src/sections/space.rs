//! What each level takes on disk.

use crate::block::{
    Charts, ColumnKind, ReportBlock, ReportCell, ReportColumn, ReportRow, ReportTable, SvgChart,
};
use crate::chart::{self, SizeBar};
use crate::figures;
use crate::layout::DocumentLayout;
use crate::panels::{self, ConditionPanel};
use crate::section::Section;
use crate::words;

/// Space on disk after the drain.
pub struct SpaceSection;

/// What a level takes over all cells of a panel, in bytes.
struct SpaceTaken<'a> {
    level: &'a str,
    median: u64,
    least: u64,
    most: u64,
    /// The median of the bytes on disk for each byte of the rows that were loaded, where that is known.
    amplification: Option<f64>,
}

impl Section for SpaceSection {
    fn name(&self) -> &str {
        "space"
    }

    fn title(&self) -> &str {
        "Space on disk"
    }

    fn blocks(&self, layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
        let panels = panels::panels(layout);
        let taken: Vec<Vec<SpaceTaken>> = panels.iter().map(|panel| taken(layout, panel)).collect();
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
            ReportBlock::Lead(lead.into()),
            ReportBlock::Charts(Charts { explained: explained.into(), legend: Vec::new(), charts }),
            ReportBlock::Table(table(layout, &panels, &taken)),
        ]
    }

    fn is_background(&self) -> bool {
        true
    }
}

fn taken<'a>(layout: &DocumentLayout<'a>, panel: &ConditionPanel<'a>) -> Vec<SpaceTaken<'a>> {
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
        Some(SpaceTaken { level, median: bytes[(bytes.len() - 1) / 2], least, most, amplification })
    };
    layout.levels.iter().filter_map(of).collect()
}

/// A chart of sizes for each combination of the factors that are no load.
fn charts(
    layout: &DocumentLayout<'_>,
    panels: &[ConditionPanel<'_>],
    taken: &[Vec<SpaceTaken<'_>>],
) -> Vec<SvgChart> {
    let charted = layout.charted();
    let chart = |(number, (panel, taken)): (usize, (&ConditionPanel, &Vec<SpaceTaken>))| {
        let shown = taken.iter().filter(|it| charted.contains(&it.level));
        let size = |it: &SpaceTaken| SizeBar {
            name: it.level.into(),
            style: layout.style(it.level),
            bytes: it.median,
            range: (it.least, it.most),
        };
        let rows: Vec<SizeBar> = shown.map(size).collect();
        let svg = chart::sizes(&format!("s{number}"), "Space on disk", &rows);
        SvgChart { caption: panels::caption(layout, panel), svg }
    };
    panels.iter().zip(taken).enumerate().map(chart).collect()
}

fn table(
    layout: &DocumentLayout<'_>,
    panels: &[ConditionPanel<'_>],
    taken: &[Vec<SpaceTaken<'_>>],
) -> ReportTable {
    let condition = panels::factors(layout).into_iter();
    let mut columns: Vec<ReportColumn> =
        condition.map(|factor| ReportColumn::new(ColumnKind::Condition, factor)).collect();
    columns.push(ReportColumn::new(ColumnKind::Name, layout.compare));
    columns.push(ReportColumn::new(ColumnKind::Main, "median"));
    let figures = ["least", "most", "median per byte of the rows"];
    columns.extend(figures.map(|name| ReportColumn::new(ColumnKind::Number, name)));
    let row = |(panel, it): (&ConditionPanel, &SpaceTaken)| {
        let name = ReportCell { style: Some(layout.style(it.level)), ..it.level.into() };
        let bytes = [it.median, it.least, it.most].map(|bytes| words::bytes(bytes).into());
        let share: ReportCell = figures::text(it.amplification, words::digits).into();
        let names = panel.levels.iter().map(|level| (*level).into()).chain([name]);
        ReportRow::from_cells(names.chain(bytes).chain([share]))
    };
    let rows =
        panels.iter().zip(taken).flat_map(|(panel, all)| all.iter().map(move |it| (panel, it)));
    let table = ReportTable {
        caption: "Over the load’s levels".into(),
        columns,
        rows: rows.map(row).collect(),
        ..ReportTable::default()
    };
    table.without_empty_columns(|_| true)
}
