//! Scales the figures of an article: their ratio to a base cell, times our figure of that cell.

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{ALL_OPERATIONS, PointState, PublishedStatement, Sweep, SweepPanel};
use bakeoff_results::FigureOfMerit;
use bakeoff_results::published::Quantity;

use crate::block::sweep::{LinePoint, LineSource, LineValue, SweepLine};
use crate::sections::published::figure_of;

pub fn build_published_line(
    layout: &DocumentLayout<'_>,
    sweep: &Sweep,
    of: &SweepPanel,
    (measured, level): (&SweepLine, &str),
) -> Option<SweepLine> {
    let statements = &layout.document.published.as_ref()?.statements;
    let is_rate = FigureOfMerit::of_metric(&of.metric).is_some_and(FigureOfMerit::is_rate);
    let found = |at: usize| {
        let place = SweepCell { layout, sweep, of, level, at };
        statements.iter().filter(|_| is_rate).find_map(|it| place.shape_value(it))
    };
    let points = (0..sweep.levels.len()).map(found);
    let points: Vec<LinePoint> =
        points.map(|it| it.map_or(LinePoint::NotRun, LinePoint::Known)).collect();
    points.iter().any(|point| point.known_value().is_some()).then(|| SweepLine {
        source: LineSource::Published,
        pale: false,
        points,
        against: String::new(),
        ..measured.clone()
    })
}

/// Whether a published figure can be shown with lines of rates.
pub fn has_published(layout: &DocumentLayout<'_>, sweep: &Sweep) -> bool {
    sweep.panels.iter().any(|of| {
        let shaped = |level: &str, at: usize| {
            let place = SweepCell { layout, sweep, of, level, at };
            let mut statements = layout.document.published.iter().flat_map(|it| &it.statements);
            statements.any(|it| place.shape_value(it).is_some())
        };
        let is_rate = FigureOfMerit::of_metric(&of.metric).is_some_and(FigureOfMerit::is_rate);
        let ats = 0..sweep.levels.len();
        is_rate && of.series.iter().any(|it| ats.clone().any(|at| shaped(&it.level, at)))
    })
}

/// A panel, a compared level, and the number of a level on the axis.
struct SweepCell<'a> {
    layout: &'a DocumentLayout<'a>,
    sweep: &'a Sweep,
    of: &'a SweepPanel,
    level: &'a str,
    at: usize,
}

impl SweepCell<'_> {
    fn shape_value(&self, statement: &PublishedStatement) -> Option<LineValue> {
        let Self { layout, sweep, of, level, at } = self;
        let tick = &sweep.levels.get(*at)?.level;
        let is_here = |(factor, published): (&String, &String)| match factor.as_str() {
            it if it == layout.compare => published == level,
            it if it == sweep.factor => published == tick,
            it => of.levels.get(it).is_none_or(|own| own == published),
        };
        let is_of_axes = |it: &String| it == layout.compare || *it == sweep.factor;
        let is_its = statement.of == Quantity::Rate
            && statement.levels.contains_key(&sweep.factor)
            && statement.levels.iter().all(is_here)
            && statement.base.keys().all(is_of_axes)
            && self.does(statement.operation.as_deref()?);
        let base = statement.base.get(layout.compare).map_or(*level, String::as_str);
        let series = of.series.iter().find(|it| it.level == base).filter(|_| is_its)?;
        let base = statement.base.get(&sweep.factor).unwrap_or(tick);
        let base = sweep.levels.iter().position(|it| it.level == *base)?;
        let base = series.points.get(base).filter(|it| it.state == PointState::Known)?.value?;
        let ratio = figure_of(statement.theirs?);
        let ends = (ratio.ends.0.map(|end| end * base), ratio.ends.1.map(|end| end * base));
        Some(LineValue { value: ratio.value * base, is: ratio.is, ends })
    }

    /// The panel is of the operation, or of all where it is the only one.
    fn does(&self, operation: &str) -> bool {
        let Self { layout, of, .. } = self;
        if of.operation != ALL_OPERATIONS {
            return of.operation == operation;
        }
        let cells = layout.document.cells.iter();
        let mut here = cells.filter(|cell| {
            of.levels.iter().all(|(factor, level)| cell.levels.get(factor) == Some(level))
        });
        here.any(|cell| matches!(&cell.operations[..], [only] if only.name == operation))
    }
}
