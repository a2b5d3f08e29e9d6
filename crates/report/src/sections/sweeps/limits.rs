//! What a modelled device serves by its model alone, beside what was measured on it.

use bakeoff_analysis::SweepPoint;

use crate::block::sweep::{Line, Point, Source};

/// The line of the limits of a line's points; `None` where none has one.
pub fn line(measured: &Line, points: &[SweepPoint]) -> Option<Line> {
    let limits = points.iter().map(|it| it.limit);
    let points: Vec<Point> =
        limits.map(|limit| limit.map_or(Point::NotRun, |it| Point::Known(it.into()))).collect();
    points.iter().any(|point| point.known().is_some()).then(|| Line {
        name: format!("{}, the device alone", measured.name),
        source: Source::Modelled,
        pale: false,
        points,
        against: String::new(),
        ..measured.clone()
    })
}
