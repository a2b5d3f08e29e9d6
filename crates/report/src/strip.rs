//! A strip: a mark on a logarithmic axis, with interval, trials and figure. Places go from 0 to 1:
//! a page stretches them, a terminal uses signs.

mod interval;
mod legend;

use std::fmt::Write;

use bakeoff_results::FigureOfMerit;

use crate::amount;
use crate::chart::{draw_marker, escape};
use crate::scale::{LogScale, tick_label};

pub use interval::{Interval, IntervalEnd};
pub use legend::{LegendKey, Means, legend_of_rates, legend_of_ratios, legend_of_tails};

/// Ends of the axis on a page, in per cent; the figure is right of it.
const LEFT: f64 = 2.0;
const LENGTH: f64 = 80.0;
/// Least distance of numbers, as a part of the axis.
const APART: f64 = 0.14;
/// The same for numbers with words.
const WORDS_APART: f64 = 0.36;
/// Times the distance where a strip is narrow, as on paper.
const NARROW: f64 = 2.0;
const DOT: f64 = 0.004;

pub struct StripAxis {
    scale: LogScale,
    ticks: Vec<(f64, String)>,
    apart: f64,
    one: Option<f64>,
    band: Option<(f64, f64)>,
}

impl StripAxis {
    /// Ends of intervals count if they are near the values.
    pub fn of_amounts(merit: FigureOfMerit, values: &[f64], ends: &[f64]) -> Self {
        let scale = LogScale::from_values(find_extent(values, ends).into_iter());
        let said = |tick: &f64| (scale.place(*tick), amount::format_tick(merit, *tick));
        let ticks = select_apart(scale.ticks.iter().map(said).collect(), APART, None);
        Self { scale, ticks, apart: APART, one: None, band: None }
    }

    pub fn of_ratios(values: &[f64], ends: &[f64], band: Option<(f64, f64)>) -> Self {
        let all = values.iter().copied().chain([1.0]).collect::<Vec<_>>();
        let scale = LogScale::from_ratios(find_extent(&all, ends).into_iter());
        let said = |tick: &f64| (scale.place(*tick), ratio_tick(*tick));
        let one = scale.place(1.0);
        let ticks = select_apart(scale.ticks.iter().map(said).collect(), WORDS_APART, Some(one));
        let band = band.map(|(low, high)| (scale.place(low), scale.place(high)));
        Self { scale, ticks, apart: WORDS_APART, one: Some(one), band }
    }

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

    pub fn place(&self, value: f64) -> f64 {
        self.scale.place(value)
    }

    pub fn interval(&self, (low, high): (f64, f64)) -> Interval {
        let end = |value, beyond| IntervalEnd { place: self.place(value), beyond };
        Interval {
            low: end(low, self.scale.is_below(low)),
            high: end(high, self.scale.is_above(high)),
        }
    }

    pub fn svg(&self) -> String {
        let mut out =
            "<svg class=\"strip axis\" width=\"100%\" height=\"20\" aria-hidden=\"true\">"
                .to_owned();
        let far = select_apart(self.ticks.clone(), NARROW * self.apart, self.one);
        for tick @ (place, label) in &self.ticks {
            let close = if far.contains(tick) { "" } else { " close" };
            let (x, label) = (format_percent(*place), escape(label));
            let _ =
                write!(out, "<text class=\"tick middle{close}\" x=\"{x}\" y=\"13\">{label}</text>");
        }
        out + "</svg>"
    }
}

/// All figures, and those ends of intervals that are not far away.
fn find_extent(values: &[f64], ends: &[f64]) -> Vec<f64> {
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
        v if v < 1.0 => format!("{}× as fast", format_factor(1.0 / v)),
        v => format!("{}× as long", format_factor(v)),
    }
}

fn format_factor(value: f64) -> String {
    if value < 10.0 { tick_label((value * 10.0).round() / 10.0) } else { tick_label(value.round()) }
}

/// Labels that have room beside each other; the one at `first` goes before all others.
fn select_apart(labels: Vec<(f64, String)>, least: f64, first: Option<f64>) -> Vec<(f64, String)> {
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

#[derive(Clone, Debug, Default)]
pub struct StripContent {
    pub style: usize,
    pub hollow: bool,
    pub at: Option<f64>,
    pub interval: Option<Interval>,
    pub each: Vec<f64>,
    /// The place of the same level with less promised, and how many times as long it takes here.
    pub from: Option<(f64, Option<String>)>,
    pub label: String,
    /// On a page the figure stands beside the mark, not below the strip.
    pub beside: bool,
    pub said: String,
}

impl StripContent {
    /// `height` in pixels; stretches to any width.
    pub fn svg(&self, axis: &StripAxis, height: f64) -> String {
        let mut out = format!(
            "<svg class=\"strip c{}\" width=\"100%\" height=\"{height}\" role=\"img\" \
             aria-label=\"{}\">",
            self.style,
            escape(&self.said)
        );
        draw_backdrop(&mut out, axis, height);
        let y = if self.each.is_empty() { height / 2.0 } else { height * 0.45 };
        if let Some((from, times)) = &self.from {
            self.draw_price(&mut out, (*from, times.as_deref()), y);
        }
        if let Some(interval) = self.interval {
            interval.draw(&mut out, y);
        }
        let mut dots: Vec<f64> = self.each.clone();
        dots.sort_by(f64::total_cmp);
        dots.dedup_by(|one, other| (*one - *other).abs() < DOT);
        for dot in dots {
            let (x, y) = (format_percent(dot), y + 12.0);
            let _ = write!(out, "<circle class=\"trial\" cx=\"{x}\" cy=\"{y:.1}\" r=\"2.2\"/>");
        }
        match self.at {
            Some(at) => {
                draw_mark(
                    &mut out,
                    if self.hollow { "hollow" } else { "mark" },
                    self.style,
                    (at, y),
                );
                self.draw_figure(&mut out, at, y);
            }
            None => {
                let (x, label) = (format_percent(0.0), escape(&self.label));
                let y = y + 5.0;
                let _ = write!(out, "<text class=\"none\" x=\"{x}\" y=\"{y:.1}\">{label}</text>");
            }
        }
        out + "</svg>"
    }

    fn draw_figure(&self, out: &mut String, at: f64, y: f64) {
        if !self.beside {
            return;
        }
        let end = self.interval.map_or(at, |interval| interval.high.place.max(at));
        let end = self.from.as_ref().map_or(end, |(from, _)| end.max(*from));
        let (x, y, label) = (format_percent(end), y + 5.0, escape(&self.label));
        let _ = write!(out, "<text class=\"val\" x=\"{x}\" dx=\"10\" y=\"{y:.1}\">{label}</text>");
    }

    /// The mark with less promised, and the way from there.
    fn draw_price(&self, out: &mut String, (from, times): (f64, Option<&str>), y: f64) {
        let Some(at) = self.at else { return };
        draw_line(out, "price", (from, at), y);
        draw_mark(out, "hollow", self.style, (from, y));
        // No room for a number between close marks.
        if let Some(times) = times.filter(|_| (from - at).abs() > 0.06) {
            let (x, y, times) = (format_percent((from + at) / 2.0), y - 6.0, escape(times));
            let _ =
                write!(out, "<text class=\"times middle\" x=\"{x}\" y=\"{y:.1}\">{times}×</text>");
        }
    }

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
            interval.list_arrows(unicode).for_each(|(at, sign)| fill((at, at), sign));
        }
        if let Some(at) = self.at {
            fill((at, at), choose_sign(self.style, self.hollow, unicode));
        }
        signs.into_iter().collect::<String>().trim_end().to_owned()
    }
}

/// As the shape of its marker on a page.
fn choose_sign(style: usize, hollow: bool, unicode: bool) -> char {
    let of = |signs: [char; 5]| signs[style % 5];
    match (unicode, hollow) {
        (false, _) => '*',
        (true, false) => of(['●', '■', '▲', '◆', '▼']),
        (true, true) => of(['○', '□', '△', '◇', '▽']),
    }
}

fn draw_backdrop(out: &mut String, axis: &StripAxis, height: f64) {
    if let Some((low, high)) = axis.band {
        let (x, width) = (format_percent(low), format!("{:.2}%", (high - low).max(0.0) * LENGTH));
        let _ = write!(
            out,
            "<rect class=\"outside\" x=\"{x}\" y=\"0\" width=\"{width}\" height=\"{height}\"/>"
        );
    }
    let ticks = axis.ticks.iter().map(|(place, _)| ("grid", *place));
    for (class, place) in ticks.chain(axis.one.map(|one| ("one", one))) {
        let x = format_percent(place);
        let _ =
            write!(out, "<line class=\"{class}\" x1=\"{x}\" x2=\"{x}\" y1=\"0\" y2=\"{height}\"/>");
    }
}

fn draw_line(out: &mut String, class: &str, (from, to): (f64, f64), y: f64) {
    let [from, to] = [from, to].map(format_percent);
    let _ = write!(
        out,
        "<line class=\"{class}\" x1=\"{from}\" x2=\"{to}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"
    );
}

/// In an element of its own, so that it is not stretched.
fn draw_mark(out: &mut String, class: &str, style: usize, (at, y): (f64, f64)) {
    let (x, marker) = (format_percent(at), draw_marker(style, 0.0, 0.0));
    let _ = write!(
        out,
        "<svg x=\"{x}\" y=\"{y:.1}\" width=\"1\" height=\"1\" overflow=\"visible\">\
         <g class=\"{class}\">{marker}</g></svg>"
    );
}

fn format_percent(place: f64) -> String {
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
