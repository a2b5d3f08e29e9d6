//! How each line stands at the ends of the axis, and what its engine lost at worst.

use bakeoff_analysis::{Sweep, SweepFastest, SweepPanel, SweepSeries};

use super::panels::against_fastest;
use crate::block::{Cell, Column, Kind, Look, Row, Table};
use crate::layout::{self, Layout};
use crate::promises;
use crate::verdict::{self, HELD_BACK};
use crate::words;

/// A row a line: against the fastest at the first and at the last level, and what power cuts took at
/// worst. `None` where nothing is compared.
pub fn table(layout: &Layout<'_>, sweep: &Sweep) -> Option<Table> {
    let ([first, .., last], 2..) = (&sweep.levels[..], layout.contenders().len()) else {
        return None;
    };
    let others: Vec<&str> =
        layout.varying.iter().copied().filter(|factor| *factor != sweep.factor).collect();
    let loss = !layout.document.promises.is_empty();
    let conditions = std::iter::once("operation").chain(others.iter().copied());
    let mut columns: Vec<Column> =
        conditions.map(|name| Column::new(Kind::Condition, name)).collect();
    columns.push(Column::new(Kind::Name, layout.compare));
    for level in [first, last] {
        columns.push(Column::new(
            Kind::Text,
            format!("with {}", words::level(&sweep.factor, &level.level)),
        ));
    }
    columns.extend(loss.then(|| Column::new(Kind::Text, "lost at worst")));
    let rows = sweep.panels.iter().flat_map(|panel| rows(layout, sweep, panel, &others, loss));
    let rows: Vec<Row> = rows.collect();
    let texts = || rows.iter().flat_map(|row| &row.cells);
    let asides = || texts().filter_map(|cell| cell.aside.as_deref());
    let is_marked =
        texts().map(|cell| &*cell.text).chain(asides()).any(|it| it.ends_with(HELD_BACK));
    Some(Table {
        caption: "Against the fastest (95 % interval)".into(),
        look: Look::Figures,
        columns,
        note: is_marked.then(|| verdict::explained(None)),
        rows,
        ..Table::default()
    })
}

fn rows(
    layout: &Layout<'_>,
    sweep: &Sweep,
    panel: &SweepPanel,
    others: &[&str],
    loss: bool,
) -> Vec<Row> {
    let place = |factor: &&str| words::level(factor, layout::get(&panel.levels, factor));
    let place: Vec<String> =
        std::iter::once(panel.operation.clone()).chain(others.iter().map(place)).collect();
    let ends = [0, sweep.levels.len() - 1];
    let row = |(number, it): (usize, &SweepSeries)| {
        let levels = others.iter().map(|factor| layout::get(&panel.levels, factor));
        let condition = std::iter::once(panel.operation.as_str()).chain(levels).map(Cell::from);
        let name = Cell { style: Some(layout.style(&it.level)), ..it.level.as_str().into() };
        let stands = ends.map(|at| {
            let fastest: &SweepFastest = &panel.fastest[at];
            stands(against_fastest(panel, &it.level, &it.points[at], fastest))
        });
        let lost = loss.then(|| Cell::from(lost(layout, panel, &it.level)));
        Row {
            place: (number == 0).then(|| place.join(", ")),
            repeated: number > 0,
            ..Row::of(condition.chain([name]).chain(stands).chain(lost))
        }
    };
    panel.series.iter().enumerate().map(row).collect()
}

/// A cell with its interval beside its figure, so that a narrow screen sets it below.
fn stands(text: String) -> Cell {
    match text.split_once(" (") {
        Some((figure, interval)) => Cell { aside: Some(format!("({interval}")), ..figure.into() },
        None => text.into(),
    }
}

/// How much was lost in the worst of the power cuts of a panel's promise: transactions of an engine, or
/// blocks of files.
fn lost(layout: &Layout<'_>, panel: &SweepPanel, level: &str) -> String {
    let of = |factor: &str| match factor == layout.compare {
        true => level,
        false => layout::get(&panel.levels, factor),
    };
    let factors = promises::factors(layout.document.run.run.cuts.as_ref());
    let promises = layout.document.promises.iter();
    let own =
        promises.filter(|it| it.engine == of(&factors.who) && it.durability == of(&factors.what));
    let most = own.flat_map(|it| &it.rules).map(|rule| rule.lost.most).max();
    match most {
        None => "not cut".into(),
        Some(0) => "nothing".into(),
        Some(most) if factors.is_of_engines() => words::many(most as usize, "transaction"),
        Some(most) => words::many(most as usize, "block"),
    }
}
