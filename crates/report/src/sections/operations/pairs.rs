//! Levels other than the baseline against each other: by their own pairs of trials, which tell more than
//! two intervals that overlap.

use bakeoff_analysis::Comparison;

use super::{interval, ratio};
use crate::block::{Cell, Column, Kind, Look, Row, Table};
use crate::layout::{Condition, Layout};
use crate::verdict;
use crate::words;

/// A row for each condition and pair of an operation; `None` where there is no such pair.
pub fn table<'a>(layout: &Layout<'a>, operation: &'a str) -> Option<Table> {
    let names = layout.varying.iter().map(|factor| Column::new(Kind::Condition, *factor));
    let columns = [
        Column::new(Kind::Name, layout.compare),
        Column::new(Kind::Level, "against"),
        Column::new(Kind::Main, "ratio"),
        Column::new(Kind::Number, "95 % interval"),
        Column::new(Kind::Verdict, "verdict"),
    ];
    let mut rows = Vec::new();
    let mut most = None;
    for condition in &layout.conditions {
        let pairs = layout.between(operation, condition).iter().filter(|it| it.ratio.is_some());
        for (number, pair) in pairs.enumerate() {
            rows.push(row(layout, condition, pair, number > 0));
            most = most.max(pair.is_held_back().then_some(pair.adjusted_over));
        }
    }
    (!rows.is_empty()).then(|| Table {
        caption: format!("{operation}: the others against each other, by their own pairs").into(),
        look: Look::Figures,
        columns: names.chain(columns).collect(),
        rows,
        note: most.map(|over| verdict::explained(Some(over))),
        ..Table::default()
    })
}

fn row<'a>(
    layout: &Layout<'a>,
    condition: &Condition<'a>,
    pair: &Comparison,
    repeated: bool,
) -> Row {
    let word = match pair.is_held_back() {
        true => verdict::marked(pair.verdict),
        false => pair.verdict.word().to_owned(),
    };
    let [level, against] = [&pair.level, &pair.baseline].map(|it| Cell::from(it.as_str()));
    let cells = [level, against, ratio(pair).into(), interval(pair).into(), Cell::verdict(word)];
    let place: Vec<String> =
        layout.varying.iter().zip(condition).map(|(it, level)| words::level(it, level)).collect();
    Row {
        place: Some(place.join(", ")).filter(|place| !repeated && !place.is_empty()),
        repeated,
        ..Row::of(condition.iter().map(|level| (*level).into()).chain(cells))
    }
}
