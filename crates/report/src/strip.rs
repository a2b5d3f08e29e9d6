//! A strip: one mark on a logarithmic axis, with its interval, its trials and its figure. Places are parts
//! of the axis from 0 to 1, so that a page stretches a strip and a terminal sets it in signs.

mod interval;
mod legend;

use std::fmt::Write;

use bakeoff_results::FigureOfMerit;

use crate::amount;
use crate::chart::{escape, marker};
use crate::scale::{LogScale, tick_label};

pub use interval::{Interval, IntervalEnd};
pub use legend::{LegendKey, Means, legend_of_rates, legend_of_ratios, legend_of_tails};

/// Where the axis begins and ends on a page, in per cent of the strip: what is right of it is the
/// figure's.
const LEFT: f64 = 2.0;
const LENGTH: f64 = 80.0;
/// How far apart the numbers of an axis are at least, as a part of it.
const APART: f64 = 0.14;
/// The same of numbers with words.
const WORDS_APART: f64 = 0.36;
/// How much further that is where a strip is narrow, as on paper.
const NARROW: f64 = 2.0;
/// Dots that are nearer to each other than that are one.
const DOT: f64 = 0.004;

/// An axis that strips share.
pub struct StripAxis {
    scale: LogScale,
    ticks: Vec<(f64, String)>,
    /// How far apart these are at least.
    apart: f64,
    /// The place of a ratio of 1, on an axis of ratios.
    one: Option<f64>,
    /// Where ratios lie of what is the same twice.
    band: Option<(f64, f64)>,
}

impl StripAxis {
    /// For figures of merit, and the ends of their intervals where these are near.
    pub fn of_amounts(merit: FigureOfMerit, values: &[f64], ends: &[f64]) -> Self {
        let scale = LogScale::over(extent(values, ends).into_iter());
        let said = |tick: &f64| (scale.place(*tick), amount::tick(merit, *tick));
        let ticks = apart(scale.ticks.iter().map(said).collect(), APART, None);
        Self { scale, ticks, apart: APART, one: None, band: None }
    }

    /// For ratios of times, of which 1 is no change.
    pub fn of_ratios(values: &[f64], ends: &[f64], band: Option<(f64, f64)>) -> Self {
        let all = values.iter().copied().chain([1.0]).collect::<Vec<_>>();
        let scale = LogScale::around(extent(&all, ends).into_iter());
        let said = |tick: &f64| (scale.place(*tick), ratio_tick(*tick));
        let one = scale.place(1.0);
        let ticks = apart(scale.ticks.iter().map(said).collect(), WORDS_APART, Some(one));
        let band = band.map(|(low, high)| (scale.place(low), scale.place(high)));
        Self { scale, ticks, apart: WORDS_APART, one: Some(one), band }
    }

    /// For ratios of two levels, of which 1 is no difference.
    pub fn between_levels(values: &[f64], ends: &[f64]) -> Self {
        let mut axis = Self::of_ratios(values, ends, None);
        let one = axis.one;
        for (place, label) in &mut axis.ticks {
            if one.is_some_and(|one| (*place - one).abs() < 1e-9) {
                *label = "equal".into();
            }
        }
        axis
    }

    /// A value's place.
    pub fn place(&self, value: f64) -> f64 {
        self.scale.place(value)
    }

    /// Where an interval with such ends lies.
    pub fn interval(&self, (low, high): (f64, f64)) -> Interval {
        let end = |value, beyond| IntervalEnd { place: self.place(value), beyond };
        Interval {
            low: end(low, self.scale.is_below(low)),
            high: end(high, self.scale.is_above(high)),
        }
    }

    /// The numbers of the axis as an `<svg>` element.
    pub fn svg(&self) -> String {
        let mut out =
            "<svg class=\"strip axis\" width=\"100%\" height=\"20\" aria-hidden=\"true\">"
                .to_owned();
        let far = apart(self.ticks.clone(), NARROW * self.apart, self.one);
        for tick @ (place, label) in &self.ticks {
            let close = if far.contains(tick) { "" } else { " close" };
            let (x, label) = (percent(*place), escape(label));
            let _ =
                write!(out, "<text class=\"tick middle{close}\" x=\"{x}\" y=\"13\">{label}</text>");
        }
        out + "</svg>"
    }
}

/// What an axis must hold: all figures, and the ends of intervals unless they are far away.
fn extent(values: &[f64], ends: &[f64]) -> Vec<f64> {
    let usable = |value: &&f64| **value > 0.0 && value.is_finite();
    let values: Vec<f64> = values.iter().filter(usable).copied().collect();
    let least = values.iter().copied().reduce(f64::min);
    let most = values.iter().copied().reduce(f64::max);
    let Some((least, most)) = least.zip(most) else { return values };
    let ends = ends.iter().filter(usable).map(|end| end.clamp(least / 1.5, most * 1.5));
    values.iter().copied().chain(ends).collect()
}

fn ratio_tick(value: f64) -> String {
    match value {
        v if (v - 1.0).abs() < 1e-9 => "as now".into(),
        v if v < 1.0 => format!("{}× as fast", short(1.0 / v)),
        v => format!("{}× as long", short(v)),
    }
}

/// A factor without the digits that round numbers don't need.
fn short(value: f64) -> String {
    if value < 10.0 { tick_label((value * 10.0).round() / 10.0) } else { tick_label(value.round()) }
}

/// Those of the labels that have room beside each other: that at `first` before all others.
fn apart(labels: Vec<(f64, String)>, least: f64, first: Option<f64>) -> Vec<(f64, String)> {
    let is_first = |place: f64| first.is_some_and(|first| (place - first).abs() < 1e-9);
    let mut kept: Vec<(f64, String)> = Vec::new();
    for (place, label) in labels {
        if first.is_some_and(|first| !is_first(place) && (place - first).abs() < least) {
            continue;
        }
        if is_first(place) || kept.last().is_none_or(|(last, _)| place - last >= least) {
            kept.push((place, label));
        }
    }
    kept
}

/// What a strip shows.
#[derive(Clone, Debug, Default)]
pub struct StripContent {
    /// The number of the style of what it is of.
    pub style: usize,
    /// Whether its mark is hollow.
    pub hollow: bool,
    /// Where the mark is; `None` where there is no figure.
    pub at: Option<f64>,
    /// Where its interval is.
    pub interval: Option<Interval>,
    /// Where its trials are.
    pub each: Vec<f64>,
    /// Where the same is with less promised, and how many times as long it takes here.
    pub from: Option<(f64, Option<String>)>,
    /// Its figure; or why there is none.
    pub label: String,
    /// Whether the figure stands beside the mark on a page, and not below the strip.
    pub beside: bool,
    /// All that in words.
    pub said: String,
}

impl StripContent {
    /// The strip as an `<svg>` element of such a height, in pixels, and of any width.
    pub fn svg(&self, axis: &StripAxis, height: f64) -> String {
        let mut out = format!(
            "<svg class=\"strip c{}\" width=\"100%\" height=\"{height}\" role=\"img\" \
             aria-label=\"{}\">",
            self.style,
            escape(&self.said)
        );
        backdrop(&mut out, axis, height);
        let y = if self.each.is_empty() { height / 2.0 } else { height * 0.45 };
        if let Some((from, times)) = &self.from {
            self.price(&mut out, (*from, times.as_deref()), y);
        }
        if let Some(interval) = self.interval {
            interval.draw(&mut out, y);
        }
        let mut dots: Vec<f64> = self.each.clone();
        dots.sort_by(f64::total_cmp);
        dots.dedup_by(|one, other| (*one - *other).abs() < DOT);
        for dot in dots {
            let (x, y) = (percent(dot), y + 12.0);
            let _ = write!(out, "<circle class=\"trial\" cx=\"{x}\" cy=\"{y:.1}\" r=\"2.2\"/>");
        }
        match self.at {
            Some(at) => {
                mark(&mut out, if self.hollow { "hollow" } else { "mark" }, self.style, (at, y));
                self.figure(&mut out, at, y);
            }
            None => {
                let (x, label) = (percent(0.0), escape(&self.label));
                let y = y + 5.0;
                let _ = write!(out, "<text class=\"none\" x=\"{x}\" y=\"{y:.1}\">{label}</text>");
            }
        }
        out + "</svg>"
    }

    fn figure(&self, out: &mut String, at: f64, y: f64) {
        if !self.beside {
            return;
        }
        let end = self.interval.map_or(at, |interval| interval.high.place.max(at));
        let end = self.from.as_ref().map_or(end, |(from, _)| end.max(*from));
        let (x, y, label) = (percent(end), y + 5.0, escape(&self.label));
        let _ = write!(out, "<text class=\"val\" x=\"{x}\" dx=\"10\" y=\"{y:.1}\">{label}</text>");
    }

    /// The same with less promised, and the way from there.
    fn price(&self, out: &mut String, (from, times): (f64, Option<&str>), y: f64) {
        let Some(at) = self.at else { return };
        line(out, "price", (from, at), y);
        mark(out, "hollow", self.style, (from, y));
        // Where both marks stand close to each other there is no room for a number between them.
        if let Some(times) = times.filter(|_| (from - at).abs() > 0.06) {
            let (x, y, times) = (percent((from + at) / 2.0), y - 6.0, escape(times));
            let _ =
                write!(out, "<text class=\"times middle\" x=\"{x}\" y=\"{y:.1}\">{times}×</text>");
        }
    }

    /// The strip in so many signs, without its figure.
    pub fn signs(&self, width: usize, unicode: bool) -> String {
        let place = |part: f64| (part * (width.max(1) - 1) as f64).round() as usize;
        let mut signs = vec![' '; width.max(1)];
        let mut fill = |(one, other): (f64, f64), sign: char| {
            let (start, end) = (place(one.min(other)), place(one.max(other)));
            signs[start..=end].fill(sign);
        };
        if let Some((from, at)) = self.from.as_ref().map(|(from, _)| *from).zip(self.at) {
            fill((from, at), if unicode { '┄' } else { '.' });
            fill((from, from), if unicode { '○' } else { 'o' });
        }
        if let Some(interval) = self.interval {
            let ends = (interval.low.place, interval.high.place);
            fill(ends, if unicode { '─' } else { '-' });
            interval.arrows(unicode).for_each(|(at, sign)| fill((at, at), sign));
        }
        if let Some(at) = self.at {
            fill((at, at), sign(self.style, self.hollow, unicode));
        }
        signs.into_iter().collect::<String>().trim_end().to_owned()
    }
}

/// The sign of a style in a terminal: the shape of its marker on a page.
fn sign(style: usize, hollow: bool, unicode: bool) -> char {
    let of = |signs: [char; 5]| signs[style % 5];
    match (unicode, hollow) {
        (false, _) => '*',
        (true, false) => of(['●', '■', '▲', '◆', '▼']),
        (true, true) => of(['○', '□', '△', '◇', '▽']),
    }
}

fn backdrop(out: &mut String, axis: &StripAxis, height: f64) {
    if let Some((low, high)) = axis.band {
        let (x, width) = (percent(low), format!("{:.2}%", (high - low).max(0.0) * LENGTH));
        let _ = write!(
            out,
            "<rect class=\"outside\" x=\"{x}\" y=\"0\" width=\"{width}\" height=\"{height}\"/>"
        );
    }
    let ticks = axis.ticks.iter().map(|(place, _)| ("grid", *place));
    for (class, place) in ticks.chain(axis.one.map(|one| ("one", one))) {
        let x = percent(place);
        let _ =
            write!(out, "<line class=\"{class}\" x1=\"{x}\" x2=\"{x}\" y1=\"0\" y2=\"{height}\"/>");
    }
}

fn line(out: &mut String, class: &str, (from, to): (f64, f64), y: f64) {
    let [from, to] = [from, to].map(percent);
    let _ = write!(
        out,
        "<line class=\"{class}\" x1=\"{from}\" x2=\"{to}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"
    );
}

/// A marker at a place in per cent: in an element of its own, so that it is not stretched.
fn mark(out: &mut String, class: &str, style: usize, (at, y): (f64, f64)) {
    let (x, marker) = (percent(at), marker(style, 0.0, 0.0));
    let _ = write!(
        out,
        "<svg x=\"{x}\" y=\"{y:.1}\" width=\"1\" height=\"1\" overflow=\"visible\">\
         <g class=\"{class}\">{marker}</g></svg>"
    );
}

fn percent(place: f64) -> String {
    format!("{:.2}%", LEFT + place * LENGTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strip_in_signs_has_its_mark_interval_and_origin() {
        let end = |place| IntervalEnd { place, beyond: false };
        let drawn = StripContent {
            at: Some(0.8),
            interval: Some(Interval { low: end(0.7), high: end(0.9) }),
            from: Some((0.0, None)),
            ..StripContent::default()
        };
        assert_eq!(drawn.signs(11, true), "○┄┄┄┄┄┄─●─");
        assert_eq!(drawn.signs(11, false), "o......-*-");
        assert_eq!(StripContent::default().signs(11, true), "");
    }

    #[test]
    fn numbers_of_an_axis_have_room_and_no_change_is_among_them() {
        for values in [vec![1e-9, 1e5], vec![0.017, 0.019], vec![], vec![0.0, f64::INFINITY]] {
            let axis = StripAxis::of_amounts(FigureOfMerit::Time, &values, &[1e300]);
            assert!(axis.ticks.windows(2).all(|it| it[1].0 - it[0].0 >= APART), "{values:?}");
            assert!(!axis.ticks.is_empty(), "{values:?}");
            let axis = StripAxis::of_ratios(&values, &[], Some((0.9, 1.1)));
            assert!(axis.ticks.iter().any(|(_, label)| label == "as now"), "{values:?}");
        }
    }
}
