//! A row a point of a line over time, and a moment at which something was paid.

use bakeoff_analysis::{CellView, Document, OverTime, Piece};

use super::{line, maybe};
use crate::layout;

const POINT: [&str; 11] = [
    "block", "attempt", "kind", "name", "unit", "limit", "start_s", "end_s", "mean", "least",
    "most",
];

/// What a row is of, besides its cell.
struct Series<'a> {
    kind: &'a str,
    name: &'a str,
    unit: &'a str,
    limit: Option<u64>,
}

/// The lines of each cell, in the document's order. The factors' columns come first.
pub fn render(document: &Document) -> String {
    let factors: Vec<&str> = document.run.run.factors.iter().map(|(f, _)| f.as_str()).collect();
    let header = factors.iter().copied().chain(POINT).map(str::to_owned);
    let mut out = String::new();
    line(&mut out, &header.collect::<Vec<_>>());
    for cell in &document.cells {
        let Some(course) = &cell.over_time else { continue };
        let start = start(cell, course, &factors);
        let mut rows = |of: &Series, pieces: &[Piece]| {
            pieces.iter().for_each(|piece| line(&mut out, &row(&start, of, piece)));
        };
        let work = |name, unit| Series { kind: "work", name, unit, limit: None };
        rows(&work("operations", "1/s"), &course.per_second);
        rows(&work("latency", "s"), &course.latency_s);
        for owed in &course.owed {
            let (name, unit) = (&owed.name, &owed.unit);
            rows(&Series { kind: "owed", name, unit, limit: owed.limit }, &owed.pieces);
        }
        for payment in &course.payments {
            let of = Series { kind: "payment", name: &payment.name, unit: "1", limit: None };
            let moments = payment.ended.iter().map(|(at, number)| moment(*at, *number));
            rows(&of, &moments.collect::<Vec<_>>());
        }
    }
    out
}

fn start(cell: &CellView, course: &OverTime, factors: &[&str]) -> Vec<String> {
    let levels = factors.iter().map(|factor| layout::get(&cell.levels, factor).to_owned());
    levels.chain([course.block.to_string(), course.attempt.to_string()]).collect()
}

fn row(start: &[String], of: &Series<'_>, piece: &Piece) -> Vec<String> {
    let figures = [
        of.kind.to_owned(),
        of.name.to_owned(),
        of.unit.to_owned(),
        maybe(of.limit),
        piece.start_s.to_string(),
        piece.end_s.to_string(),
        maybe(piece.mean),
        maybe(piece.least),
        maybe(piece.most),
    ];
    [start, &figures].concat()
}

/// How often something ended at a moment.
fn moment(at: f64, number: u64) -> Piece {
    let number = Some(number as f64);
    Piece { start_s: at, end_s: at, mean: number, least: number, most: number }
}
