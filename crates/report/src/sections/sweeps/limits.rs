//! Adds the rate that a modelled device serves by its model alone to the measured line.

use bakeoff_analysis::SweepPoint;

use crate::block::sweep::{LinePoint, LineSource, SweepLine};

pub fn build_limit_line(measured: &SweepLine, points: &[SweepPoint]) -> Option<SweepLine> {
    let limits = points.iter().map(|it| it.limit);
    let points: Vec<LinePoint> = limits
        .map(|limit| limit.map_or(LinePoint::NotRun, |it| LinePoint::Known(it.into())))
        .collect();
    points.iter().any(|point| point.known_value().is_some()).then(|| SweepLine {
        name: format!("{}, the device alone", measured.name),
        source: LineSource::Modelled,
        pale: false,
        points,
        against: String::new(),
        ..measured.clone()
    })
}
