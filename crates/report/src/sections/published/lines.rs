//! Published ratios (hollow marks) and ours (filled) over the run's numeric factor.

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{
    PublishedStatement, RatioBound, RatioShape, Sweep, SweepLevel, UntoldReason,
};
use bakeoff_results::Levels;
use bakeoff_results::published::{PublishedValue as Theirs, Quantity};

use super::name_pair;
use crate::block::Sweeps;
use crate::block::sweep::{
    LinePanel, LinePoint, LineSource, LineValue, SweepLine, SweepUnit, Tick,
};
use crate::words;

const EXPLAINED: &str = "Hollow marks and thin lines: published. Filled marks: ours; a bar, where it is longer \
                         than the mark: its 95 % interval, and of what was published as a range this range, with \
                         the mark in its middle. Each is a ratio of two cells of the same hardware, so \
                         that the shapes can be compared. A dash at the foot: not run. Pale and crossed: set \
                         aside. An arrow: a bound.";

const MOST_SHADES: usize = 4;

/// One quantity, operation and pair, at fixed levels of all other factors.
type Panels<'a> = Vec<(PanelKey<'a>, Vec<&'a PublishedStatement>)>;
type PanelKey<'a> = (Option<&'a str>, String, Levels);

/// `None` where statements don't differ in a numeric factor.
pub fn build_lines(
    layout: &DocumentLayout<'_>,
    statements: &[PublishedStatement],
) -> Option<Sweeps> {
    let sweep = layout.document.sweep.as_ref()?;
    let second = sweep.second.as_ref().filter(|it| it.levels.len() <= MOST_SHADES);
    let second = second.map(|it| (it.factor.as_str(), it.levels.as_slice()));
    let mut panels: Panels<'_> = Vec::new();
    let charted =
        |it: &&PublishedStatement| it.of != Quantity::Space && !it.base.contains_key(&sweep.factor);
    for statement in statements.iter().filter(charted) {
        let mut rest = statement.levels.clone();
        rest.remove(&sweep.factor);
        second.into_iter().for_each(|(factor, _)| drop(rest.remove(factor)));
        let key = (statement.operation.as_deref(), name_pair(statement), rest);
        match panels.iter_mut().find(|(known, _)| *known == key) {
            Some((_, all)) => all.push(statement),
            None => panels.push((key, vec![statement])),
        }
    }
    let drawn: Vec<LinePanel> = panels
        .iter()
        .enumerate()
        .map(|(number, (key, all))| build_panel(layout, sweep, second, (number, key, all)))
        .filter(|panel| panel.lines.iter().any(|line| line.points.iter().any(is_known)))
        .collect();
    (!drawn.is_empty()).then(|| Sweeps::from_panels(EXPLAINED.into(), drawn, None))
}

fn is_known(point: &LinePoint) -> bool {
    point.known_value().is_some()
}

fn build_panel(
    layout: &DocumentLayout<'_>,
    sweep: &Sweep,
    second: Option<(&str, &[SweepLevel])>,
    (number, (operation, pair, rest), all): (usize, &PanelKey<'_>, &[&PublishedStatement]),
) -> LinePanel {
    let place = layout
        .varying
        .iter()
        .filter_map(|factor| rest.get(*factor).map(|level| words::phrase_level(factor, level)));
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
        let is_its = |it: &&&PublishedStatement| {
            factor.is_none_or(|factor| it.levels.get(factor).map(String::as_str) == *level)
        };
        let own: Vec<&PublishedStatement> = all.iter().filter(is_its).copied().collect();
        let name = factor.zip(*level).map(|(factor, level)| words::phrase_level(factor, level));
        for source in [LineSource::Published, LineSource::Ours] {
            let points = sweep.levels.iter().map(|it| {
                let at =
                    |one: &&&PublishedStatement| one.levels.get(&sweep.factor) == Some(&it.level);
                own.iter().find(at).map_or(LinePoint::NotRun, |it| build_point(it, source))
            });
            let points: Vec<LinePoint> = points.collect();
            // Without a published or measured point there is no line.
            if !points.iter().any(is_known) {
                continue;
            }
            lines.push(SweepLine {
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
    LinePanel {
        id: format!("published{number}"),
        description: format!("{caption}, over {}. The table below has every ratio.", sweep.factor),
        caption,
        factor: sweep.factor.clone(),
        ticks: sweep.levels.iter().map(tick).collect(),
        amount: SweepUnit::Times,
        title: "ratio to the base".into(),
        lines,
        fastest: Vec::new(),
        base: None,
        slopes: false,
        against: String::new(),
    }
}

fn build_point(statement: &PublishedStatement, source: LineSource) -> LinePoint {
    match source {
        LineSource::Published => {
            statement.theirs.map_or(LinePoint::NotRun, |it| LinePoint::Known(place_published(it)))
        }
        LineSource::Ours => match (statement.ours, &statement.shape) {
            (Some(it), _) => LinePoint::Known(LineValue {
                value: it.ratio,
                is: it.ratio_is,
                ends: (it.low, it.high),
            }),
            (
                None,
                RatioShape::CantTell {
                    why: why @ (UntoldReason::SetAside | UntoldReason::BaseSetAside),
                },
            ) => LinePoint::SetAside(None, why.words().into()),
            (None, _) => LinePoint::NotRun,
        },
        // Ratios to cells that were run have no model.
        LineSource::Modelled => LinePoint::NotRun,
    }
}

/// A range in words is drawn at its middle, with its ends.
pub(in crate::sections) fn place_published(value: Theirs) -> LineValue {
    match value {
        Theirs::Exactly(ratio) => ratio.into(),
        Theirs::AtLeast(value) => LineValue { value, is: RatioBound::AtLeast, ends: (None, None) },
        Theirs::AtMost(value) => LineValue { value, is: RatioBound::AtMost, ends: (None, None) },
        Theirs::Between(low, high) => {
            LineValue { ends: (Some(low), Some(high)), ..(low * high).sqrt().into() }
        }
    }
}
