//! The space that each level takes on disk.

use bakeoff_analysis::layout::DocumentLayout;

use crate::block::{
    Charts, ColumnKind, ReportBlock, ReportCell, ReportColumn, ReportRow, ReportTable, SvgChart,
};
use crate::chart::{self, SizeBar, find_style};
use crate::figures;
use crate::panels::{self, ConditionPanel};
use crate::words;

struct SpaceUsage<'a> {
    level: &'a str,
    median: u64,
    least: u64,
    most: u64,
    amplification: Option<f64>,
}

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let panels = panels::group_panels(layout);
    let taken: Vec<Vec<SpaceUsage>> =
        panels.iter().map(|panel| measure_taken(layout, panel)).collect();
    if taken.iter().all(Vec::is_empty) {
        return Vec::new();
    }
    let scale = if panels.len() > 1 { "; each chart has its own scale" } else { "" };
    let explained = format!(
        "Bars: the median over the load’s levels{scale}; lines: from the least to the most."
    );
    let lead = "After everything put off was done: checkpoints, flushes, compactions.";
    let charts = draw_charts(layout, &panels, &taken);
    vec![
        ReportBlock::Lead(lead.into()),
        ReportBlock::Charts(Charts { explained: explained.into(), legend: Vec::new(), charts }),
        ReportBlock::Table(build_table(layout, &panels, &taken)),
    ]
}

fn measure_taken<'a>(
    layout: &DocumentLayout<'a>,
    panel: &ConditionPanel<'a>,
) -> Vec<SpaceUsage<'a>> {
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
        Some(SpaceUsage { level, median: bytes[(bytes.len() - 1) / 2], least, most, amplification })
    };
    layout.levels.iter().filter_map(of).collect()
}

fn draw_charts(
    layout: &DocumentLayout<'_>,
    panels: &[ConditionPanel<'_>],
    taken: &[Vec<SpaceUsage<'_>>],
) -> Vec<SvgChart> {
    let charted = layout.charted_levels();
    let chart = |(number, (panel, taken)): (usize, (&ConditionPanel, &Vec<SpaceUsage>))| {
        let shown = taken.iter().filter(|it| charted.contains(&it.level));
        let size = |it: &SpaceUsage| SizeBar {
            name: it.level.into(),
            style: find_style(layout, it.level),
            bytes: it.median,
            range: (it.least, it.most),
        };
        let rows: Vec<SizeBar> = shown.map(size).collect();
        let svg = chart::draw_sizes(&format!("s{number}"), "Space on disk", &rows);
        SvgChart { caption: panels::build_caption(layout, panel), svg }
    };
    panels.iter().zip(taken).enumerate().map(chart).collect()
}

fn build_table(
    layout: &DocumentLayout<'_>,
    panels: &[ConditionPanel<'_>],
    taken: &[Vec<SpaceUsage<'_>>],
) -> ReportTable {
    let mut columns: Vec<ReportColumn> =
        ReportColumn::from_factors(panels::list_factors(layout)).collect();
    columns.push(ReportColumn::new(ColumnKind::Name, layout.compare));
    columns.push(ReportColumn::new(ColumnKind::Main, "median"));
    let figures = ["least", "most", "median per byte of the rows"];
    columns.extend(figures.map(|name| ReportColumn::new(ColumnKind::Number, name)));
    let row = |(panel, it): (&ConditionPanel, &SpaceUsage)| {
        let name = ReportCell { style: Some(find_style(layout, it.level)), ..it.level.into() };
        let bytes = [it.median, it.least, it.most].map(|bytes| words::format_bytes(bytes).into());
        let share: ReportCell =
            figures::format_optional(it.amplification, words::format_digits).into();
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
