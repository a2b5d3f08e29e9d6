//! Compares the lines at the ends of the axis, with the engine's worst loss.

use bakeoff_analysis::layout::{self, DocumentLayout};
use bakeoff_analysis::{Sweep, SweepFastest, SweepPanel, SweepSeries};

use super::panels::against_fastest;
use crate::block::{ColumnKind, ReportCell, ReportColumn, ReportRow, ReportTable, TableStyle};
use crate::chart::find_style;
use crate::promises;
use crate::verdict::{self, HELD_BACK};
use crate::words;

pub fn build_table(layout: &DocumentLayout<'_>, sweep: &Sweep) -> Option<ReportTable> {
    let ([first, .., last], 2..) = (&sweep.levels[..], layout.contenders().len()) else {
        return None;
    };
    let others: Vec<&str> =
        layout.varying.iter().copied().filter(|factor| *factor != sweep.factor).collect();
    let loss = !layout.document.promises.is_empty();
    let conditions = std::iter::once("operation").chain(others.iter().copied());
    let mut columns: Vec<ReportColumn> = ReportColumn::from_factors(conditions).collect();
    columns.push(ReportColumn::new(ColumnKind::Name, layout.compare));
    for level in [first, last] {
        columns.push(ReportColumn::new(
            ColumnKind::Text,
            format!("with {}", words::phrase_level(&sweep.factor, &level.level)),
        ));
    }
    columns.extend(loss.then(|| ReportColumn::new(ColumnKind::Text, "lost at worst")));
    let rows =
        sweep.panels.iter().flat_map(|panel| build_rows(layout, sweep, panel, &others, loss));
    let rows: Vec<ReportRow> = rows.collect();
    let texts = || rows.iter().flat_map(|row| &row.cells);
    let asides = || texts().filter_map(|cell| cell.aside.as_deref());
    let is_marked =
        texts().map(|cell| &*cell.text).chain(asides()).any(|it| it.ends_with(HELD_BACK));
    Some(ReportTable {
        caption: "Against the fastest (95 % interval)".into(),
        look: TableStyle::Figures,
        columns,
        note: is_marked.then(|| verdict::explain_mark(None)),
        rows,
        ..ReportTable::default()
    })
}

fn build_rows(
    layout: &DocumentLayout<'_>,
    sweep: &Sweep,
    panel: &SweepPanel,
    others: &[&str],
    loss: bool,
) -> Vec<ReportRow> {
    let place =
        |factor: &&str| words::phrase_level(factor, layout::level_or_empty(&panel.levels, factor));
    let place: Vec<String> =
        std::iter::once(panel.operation.clone()).chain(others.iter().map(place)).collect();
    let ends = [0, sweep.levels.len() - 1];
    let row = |(number, it): (usize, &SweepSeries)| {
        let levels = others.iter().map(|factor| layout::level_or_empty(&panel.levels, factor));
        let condition =
            std::iter::once(panel.operation.as_str()).chain(levels).map(ReportCell::from);
        let name =
            ReportCell { style: Some(find_style(layout, &it.level)), ..it.level.as_str().into() };
        let stands = ends.map(|at| {
            let fastest: &SweepFastest = &panel.fastest[at];
            build_cell(against_fastest(panel, &it.level, &it.points[at], fastest))
        });
        let lost = loss.then(|| ReportCell::from(describe_loss(layout, panel, &it.level)));
        ReportRow {
            place: (number == 0).then(|| place.join(", ")),
            repeated: number > 0,
            ..ReportRow::from_cells(condition.chain([name]).chain(stands).chain(lost))
        }
    };
    panel.series.iter().enumerate().map(row).collect()
}

/// A narrow screen sets the interval below the figure.
fn build_cell(text: String) -> ReportCell {
    match text.split_once(" (") {
        Some((figure, interval)) => {
            ReportCell { aside: Some(format!("({interval}")), ..figure.into() }
        }
        None => text.into(),
    }
}

/// Transactions of an engine, or blocks of files, lost in the worst power cut.
fn describe_loss(layout: &DocumentLayout<'_>, panel: &SweepPanel, level: &str) -> String {
    let of = |factor: &str| match factor == layout.compare {
        true => level,
        false => layout::level_or_empty(&panel.levels, factor),
    };
    let factors = promises::plan_factors(layout.document.run.run.cuts.as_ref());
    let promises = layout.document.promises.iter();
    let own =
        promises.filter(|it| it.engine == of(&factors.who) && it.durability == of(&factors.what));
    let most = own.flat_map(|it| &it.rules).map(|rule| rule.lost.most).max();
    match most {
        None => "not cut".into(),
        Some(0) => "nothing".into(),
        Some(most) if factors.is_of_engines() => words::count_nouns(most as usize, "transaction"),
        Some(most) => words::count_nouns(most as usize, "repetition"),
    }
}
