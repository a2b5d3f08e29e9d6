//! Published ratios and ours over the run's numeric factor: hollow marks theirs, filled ones ours.

use bakeoff_analysis::{RatioIs, Shape, Statement, Sweep, SweepLevel, Why};
use bakeoff_results::Levels;
use bakeoff_results::published::{Quantity, Value as Theirs};

use super::pair;
use crate::block::Sweeps;
use crate::block::sweep::{Amount, Line, Panel, Point, Source, Tick, Value};
use crate::layout::Layout;
use crate::words;

/// How the charts are read.
const EXPLAINED: &str = "Hollow marks and thin lines: published. Filled marks: ours; a bar, where it is longer \
                         than the mark: its 95 % interval, and of what was published as a range this range, with \
                         the mark in its middle. Each is a ratio of two cells of the same hardware, so \
                         that the shapes can be compared. A dash at the foot: not run. Pale and crossed: set \
                         aside. An arrow: a bound.";

/// The most lines of one hue.
const MOST_SHADES: usize = 4;

/// The statements of one panel: of one quantity, operation and pair, at the levels of all factors but
/// those of the axis and of the lines.
type Panels<'a> = Vec<(PanelKey<'a>, Vec<&'a Statement>)>;
type PanelKey<'a> = (Option<&'a str>, String, Levels);

/// The charts; `None` where no factor of the run is numeric, or the statements differ in no such one.
pub fn lines(layout: &Layout<'_>, statements: &[Statement]) -> Option<Sweeps> {
    let sweep = layout.document.sweep.as_ref()?;
    let second = sweep.second.as_ref().filter(|it| it.levels.len() <= MOST_SHADES);
    let second = second.map(|it| (it.factor.as_str(), it.levels.as_slice()));
    let mut panels: Panels<'_> = Vec::new();
    let charted =
        |it: &&Statement| it.of != Quantity::Space && !it.base.contains_key(&sweep.factor);
    for statement in statements.iter().filter(charted) {
        let mut rest = statement.levels.clone();
        rest.remove(&sweep.factor);
        second.into_iter().for_each(|(factor, _)| drop(rest.remove(factor)));
        let key = (statement.operation.as_deref(), pair(statement), rest);
        match panels.iter_mut().find(|(known, _)| *known == key) {
            Some((_, all)) => all.push(statement),
            None => panels.push((key, vec![statement])),
        }
    }
    let drawn: Vec<Panel> = panels
        .iter()
        .enumerate()
        .map(|(number, (key, all))| panel(layout, sweep, second, (number, key, all)))
        .filter(|panel| panel.lines.iter().any(|line| line.points.iter().any(is_known)))
        .collect();
    (!drawn.is_empty()).then(|| Sweeps::of(EXPLAINED.into(), drawn, None))
}

fn is_known(point: &Point) -> bool {
    point.known().is_some()
}

fn panel(
    layout: &Layout<'_>,
    sweep: &Sweep,
    second: Option<(&str, &[SweepLevel])>,
    (number, (operation, pair, rest), all): (usize, &PanelKey<'_>, &[&Statement]),
) -> Panel {
    let place = layout
        .varying
        .iter()
        .filter_map(|factor| rest.get(*factor).map(|level| words::level(factor, level)));
    let caption: Vec<String> =
        operation.iter().map(|name| (*name).to_owned()).chain(place).collect();
    let caption = format!("{}: {pair}", caption.join(", "));
    let tick = |it: &SweepLevel| Tick { name: it.level.clone(), value: it.value, marked: true };
    let shades: Vec<Option<&str>> = match second {
        Some((_, levels)) => levels.iter().map(|it| Some(it.level.as_str())).collect(),
        None => vec![None],
    };
    let mut lines = Vec::new();
    for (shade, level) in shades.iter().enumerate() {
        let factor = second.map(|(factor, _)| factor);
        let is_its = |it: &&&Statement| {
            factor.is_none_or(|factor| it.levels.get(factor).map(String::as_str) == *level)
        };
        let own: Vec<&Statement> = all.iter().filter(is_its).copied().collect();
        let name = factor.zip(*level).map(|(factor, level)| words::level(factor, level));
        for source in [Source::Published, Source::Ours] {
            let points = sweep.levels.iter().map(|it| {
                let at = |one: &&&Statement| one.levels.get(&sweep.factor) == Some(&it.level);
                own.iter().find(at).map_or(Point::NotRun, |it| point(it, source))
            });
            let points: Vec<Point> = points.collect();
            // Of what was never published or never run, no line is missed.
            if !points.iter().any(is_known) {
                continue;
            }
            lines.push(Line {
                name: name.clone().unwrap_or_else(|| pair.clone()),
                style: 0,
                source,
                shade: second.is_some().then_some(shade),
                pale: false,
                points,
                against: String::new(),
            });
        }
    }
    Panel {
        id: format!("published{number}"),
        description: format!("{caption}, over {}. The table below has every ratio.", sweep.factor),
        caption,
        factor: sweep.factor.clone(),
        ticks: sweep.levels.iter().map(tick).collect(),
        amount: Amount::Times,
        title: "ratio to the base".into(),
        lines,
        fastest: Vec::new(),
        base: None,
        slopes: false,
        against: String::new(),
    }
}

fn point(statement: &Statement, source: Source) -> Point {
    match source {
        Source::Published => statement.theirs.map_or(Point::NotRun, |it| Point::Known(theirs(it))),
        Source::Ours => match (statement.ours, &statement.shape) {
            (Some(it), _) => {
                Point::Known(Value { value: it.ratio, is: it.ratio_is, ends: (it.low, it.high) })
            }
            (None, Shape::CantTell { why: why @ (Why::SetAside | Why::BaseSetAside) }) => {
                Point::SetAside(None, why.words().into())
            }
            (None, _) => Point::NotRun,
        },
        // Ratios to cells that were run have no model.
        Source::Modelled => Point::NotRun,
    }
}

/// A published ratio as a mark; what is said in words stands in the middle, with its ends.
pub(in crate::sections) fn theirs(value: Theirs) -> Value {
    match value {
        Theirs::Exactly(ratio) => ratio.into(),
        Theirs::AtLeast(value) => Value { value, is: RatioIs::AtLeast, ends: (None, None) },
        Theirs::AtMost(value) => Value { value, is: RatioIs::AtMost, ends: (None, None) },
        Theirs::Between(low, high) => {
            Value { ends: (Some(low), Some(high)), ..(low * high).sqrt().into() }
        }
    }
}
