//! Charts as SVG: bars of amounts in groups, and over them the ratios to the baseline.
//!
//! A series keeps its colour, pattern and marker in every chart of a page, so that it can be
//! told from the others without colour. The page defines the patterns `p0` … and the classes.

use std::fmt::Write;

use bakeoff_analysis::RatioIs;
use bakeoff_results::FigureOfMerit;

use crate::amount::{self, Amount};
use crate::scale::{Linear, Log, tick_label};
use crate::words;

/// How many colours, patterns and markers there are; further series start over.
pub const STYLES: usize = 8;

/// A chart of grouped bars with the ratios of their heights above them.
pub struct Grouped {
    /// Unique in the page.
    pub id: String,
    /// What it shows, in a few words.
    pub title: String,
    /// What it shows, for a reader who doesn't see it.
    pub description: String,
    /// What each row of labels under the groups says.
    pub factors: Vec<String>,
    /// The names of the series, each with the number of its style.
    pub series: Vec<(String, usize)>,
    /// The groups, from left to right.
    pub groups: Vec<Group>,
    /// What the ratios are held against.
    pub baseline: String,
    /// What the bars are, as `mean time`.
    pub metric: &'static str,
    /// What they are figures of.
    pub merit: FigureOfMerit,
}

/// Bars that stand together.
pub struct Group {
    /// A label for each of the chart's factors.
    pub labels: Vec<String>,
    /// A bar for each series: a figure, and its ratio to the baseline's.
    pub bars: Vec<Bar>,
}

/// One bar, and the point over it.
#[derive(Clone, Copy, Default)]
pub struct Bar {
    /// Mean seconds, or so much a second; `None` when no trial counts.
    pub amount: Option<f64>,
    /// Whether operations were cut off, so that a mean is a lower bound and a rate an upper one: the bar
    /// has an open end.
    pub cut_off: bool,
    /// The ratio to the baseline; `None` for the baseline itself.
    pub ratio: Option<Ratio>,
}

/// A ratio with its interval.
#[derive(Clone, Copy)]
pub struct Ratio {
    /// The ratio.
    pub ratio: f64,
    /// What it is: of a bound the whisker has an open end.
    pub is: RatioIs,
    /// The ends of its interval.
    pub ends: (Option<f64>, Option<f64>),
}

const LEFT: f64 = 82.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 30.0;
const RATIO_BAND: f64 = 130.0;
const BETWEEN: f64 = 34.0;
const BAR_BAND: f64 = 190.0;
const LABEL_ROW: f64 = 19.0;

/// The measures that follow from how many bars there are.
struct Frame {
    group: f64,
    bar: f64,
    width: f64,
    height: f64,
    bars_top: f64,
    base: f64,
}

impl Frame {
    fn of(chart: &Grouped, has_ratios: bool) -> Self {
        let (groups, series) = (chart.groups.len().max(1) as f64, chart.series.len().max(1) as f64);
        let wanted = (groups * (series * 44.0 + 34.0)).clamp(300.0, 850.0);
        let group = (wanted / groups).max(series * 9.0 + 10.0);
        let bar = ((group - group.min(60.0) * 0.35) / series).min(64.0);
        let bars_top = if has_ratios { TOP + RATIO_BAND + BETWEEN } else { TOP };
        let base = bars_top + BAR_BAND;
        Self {
            group,
            bar,
            width: LEFT + group * groups + RIGHT,
            height: base + 8.0 + LABEL_ROW * chart.factors.len() as f64,
            bars_top,
            base,
        }
    }

    fn right(&self) -> f64 {
        self.width - RIGHT
    }

    /// The middle of a series' bar in a group.
    fn center(&self, group: usize, series: usize, of: usize) -> f64 {
        let middle = LEFT + self.group * (group as f64 + 0.5);
        middle + (series as f64 - (of as f64 - 1.0) / 2.0) * self.bar
    }
}

impl Grouped {
    /// The chart as an `<svg>` element.
    pub fn svg(&self) -> String {
        let has_ratios = self.bars().any(|bar| bar.ratio.is_some());
        let frame = Frame::of(self, has_ratios);
        let mut out = open(&self.id, &self.title, &self.description, frame.width, frame.height);
        self.draw_bars(&mut out, &frame);
        if has_ratios {
            self.draw_ratios(&mut out, &frame);
        }
        self.draw_labels(&mut out, &frame);
        out + "</svg>"
    }

    fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.groups.iter().flat_map(|group| &group.bars)
    }

    fn draw_bars(&self, out: &mut String, frame: &Frame) {
        let most = self.bars().filter_map(|bar| bar.amount).fold(0.0, f64::max);
        let (scale, unit) = amount::unit(self.merit, most);
        // Above a bar with an open end stand an arrow and its text.
        let room = if self.bars().any(|bar| bar.cut_off) { 1.15 } else { 1.0 };
        let axis = Linear::up_to(most * scale * room);
        let y = |value: f64| frame.base - axis.place(value) * BAR_BAND;
        let title = match self.merit.is_rate() {
            true => self.metric.to_owned(),
            false => format!("{}, {unit}", self.metric),
        };
        text(out, "axis-title", LEFT, frame.bars_top - 12.0, &title);
        for tick in &axis.ticks {
            line(out, "grid", (LEFT, y(*tick)), (frame.right(), y(*tick)));
            text(out, "tick end", LEFT - 8.0, y(*tick) + 4.0, &tick_label(*tick));
        }
        for (g, group) in self.groups.iter().enumerate() {
            for (s, (bar, (name, style))) in group.bars.iter().zip(&self.series).enumerate() {
                let x = frame.center(g, s, self.series.len());
                let Some(value) = bar.amount else {
                    text(out, "missing", x, frame.base - 5.0, "×");
                    continue;
                };
                // A bar too small to see is still a line.
                let height = (frame.base - y(value * scale)).max(1.0);
                let amount = Amount { merit: self.merit, value, is_bound: bar.cut_off };
                let words = format!("{name}: {}", amount.text());
                draw_bar(out, frame, *style, (x, height), &words);
                let top = frame.base - height;
                if bar.cut_off {
                    line(out, &format!("whisker open c{style}"), (x, top), (x, top - 11.0));
                    // Up where it is longer, down where it is lower.
                    let tip = if self.merit.is_rate() { (top, 1.0) } else { (top - 11.0, -1.0) };
                    arrow(out, *style, x, tip.0, tip.1);
                }
                let label = format!("{}{}", amount.sign(), words::digits(value * scale));
                // That it is no more than a bound must be read at any width.
                if bar.cut_off || frame.bar >= 6.4 * label.chars().count() as f64 {
                    text(out, "value", x, top - if bar.cut_off { 15.0 } else { 5.0 }, &label);
                }
            }
        }
        line(out, "base", (LEFT, frame.base), (frame.right(), frame.base));
    }

    fn draw_ratios(&self, out: &mut String, frame: &Frame) {
        let axis = Log::around(self.ratio_extent());
        let bottom = TOP + RATIO_BAND;
        let y = |ratio: f64| bottom - axis.place(ratio) * RATIO_BAND;
        let what = if self.merit.is_rate() { self.metric } else { "time" };
        let title = format!("{what} ÷ {}’s", self.baseline);
        text(out, "axis-title", LEFT, TOP - 12.0, &title);
        for tick in &axis.ticks {
            let class = if (tick - 1.0).abs() < 1e-9 { "one" } else { "grid" };
            line(out, class, (LEFT, y(*tick)), (frame.right(), y(*tick)));
            let label = format!("×{}", tick_label(*tick));
            text(out, "tick end", LEFT - 8.0, y(*tick) + 4.0, &label);
        }
        for series in 0..self.series.len() {
            self.draw_slowdown(out, frame, series, y);
        }
    }

    /// A series' ratios: points with whiskers, and a line where only the last factor changes.
    fn draw_slowdown(
        &self,
        out: &mut String,
        frame: &Frame,
        series: usize,
        y: impl Fn(f64) -> f64,
    ) {
        let (name, style) = &self.series[series];
        let outer = |group: &Group| group.labels.len().saturating_sub(1);
        let points: Vec<_> = self
            .groups
            .iter()
            .enumerate()
            .filter_map(|(number, group)| {
                let ratio = group.bars[series].ratio?;
                let x = frame.center(number, series, self.series.len());
                Some((number, &group.labels[..outer(group)], x, ratio))
            })
            .collect();
        // A line stops where a bar is missing, and where one of the slower factors changes.
        for run in points.chunk_by(|a, b| a.0 + 1 == b.0 && a.1 == b.1) {
            let corners: Vec<String> =
                run.iter().map(|(_, _, x, r)| format!("{x:.1},{:.1}", y(r.ratio))).collect();
            if corners.len() > 1 {
                let corners = corners.join(" ");
                let _ = write!(out, "<polyline class=\"slow c{style}\" points=\"{corners}\"/>");
            }
        }
        for (_, _, x, ratio) in points {
            match (ratio.is, ratio.ends) {
                (RatioIs::AtLeast, (low, _)) => {
                    open_whisker(out, *style, x, y(low.unwrap_or(ratio.ratio)), TOP);
                }
                (RatioIs::AtMost, (_, high)) => {
                    open_whisker(out, *style, x, y(high.unwrap_or(ratio.ratio)), TOP + RATIO_BAND);
                }
                (RatioIs::Exact, (low, high)) => {
                    whisker(out, *style, x, low.zip(high).map(|(low, high)| (y(low), y(high))));
                }
            }
            let words = escape(&format!("{name}: {}", ratio_words(ratio)));
            let marker = marker(*style, x, y(ratio.ratio));
            let _ = write!(out, "<g class=\"mark c{style}\">{marker}<title>{words}</title></g>");
        }
    }

    /// What the ratios' axis must hold: every ratio, and its interval unless that is very wide.
    fn ratio_extent(&self) -> impl Iterator<Item = f64> {
        let ratios: Vec<Ratio> = self.bars().filter_map(|bar| bar.ratio).collect();
        let least = ratios.iter().map(|r| r.ratio).fold(1.0, f64::min);
        let most = ratios.iter().map(|r| r.ratio).fold(1.0, f64::max);
        let ends = |r: Ratio| [r.ends.0.unwrap_or(r.ratio), r.ends.1.unwrap_or(r.ratio)];
        ratios.into_iter().flat_map(ends).map(move |end| end.clamp(least / 2.0, most * 2.0))
    }

    /// A row of labels a factor; equal neighbours in a row share one label and a line over it.
    fn draw_labels(&self, out: &mut String, frame: &Frame) {
        let rows = self.factors.len();
        for (row, factor) in self.factors.iter().enumerate() {
            // The factor that changes fastest stands next to the bars.
            let level = rows - 1 - row;
            let y = frame.base + LABEL_ROW * (level as f64 + 1.0);
            text(out, "factor end", LEFT - 8.0, y, factor);
            let mut start = 0;
            while start < self.groups.len() {
                let key = &self.groups[start].labels[..=row];
                let same = |group: &&Group| group.labels[..=row] == *key;
                let span = self.groups[start..].iter().take_while(same).count();
                let left = LEFT + self.group_x(frame, start);
                let right = LEFT + self.group_x(frame, start + span);
                text(out, "label", (left + right) / 2.0, y, &key[row]);
                if row + 1 < rows {
                    line(out, "span", (left + 4.0, y - 14.0), (right - 4.0, y - 14.0));
                }
                start += span;
            }
        }
    }

    fn group_x(&self, frame: &Frame, group: usize) -> f64 {
        frame.group * group as f64
    }
}

/// A horizontal bar of bytes, with the least and the most of what it stands for.
pub struct Size {
    /// What it is.
    pub name: String,
    /// The number of its style.
    pub style: usize,
    /// The median.
    pub bytes: u64,
    /// The least and the most.
    pub range: (u64, u64),
}

/// Horizontal bars of bytes as an `<svg>` element.
pub fn sizes(id: &str, title: &str, rows: &[Size]) -> String {
    const ROW: f64 = 30.0;
    let widest = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let names = (widest as f64 * 7.2 + 14.0).clamp(60.0, 230.0);
    // Beside the names and not at the bars' ends, which a narrow screen doesn't show.
    let (left, plot, right) = (names + 62.0, 430.0, 18.0);
    let base = 8.0 + ROW * rows.len() as f64;
    let most = rows.iter().map(|row| row.range.1).max().unwrap_or(0) as f64;
    let (scale, unit) = words::byte_unit(most);
    let axis = Linear::up_to(most * scale);
    let x = |bytes: u64| left + axis.place(bytes as f64 * scale) * plot;

    let mut out =
        open(id, title, "The table below has every figure.", left + plot + right, base + 38.0);
    for tick in &axis.ticks {
        let at = left + axis.place(*tick) * plot;
        line(&mut out, "grid", (at, 4.0), (at, base));
        text(&mut out, "tick middle", at, base + 16.0, &tick_label(*tick));
    }
    text(&mut out, "axis-title", left, base + 33.0, unit);
    for (number, row) in rows.iter().enumerate() {
        let (y, style) = (8.0 + ROW * number as f64, row.style);
        text(&mut out, "name end", names - 8.0, y + 16.0, &shortened(&row.name, 30));
        text(&mut out, "name end", left - 8.0, y + 16.0, &words::bytes(row.bytes));
        let _ = write!(
            out,
            "<rect class=\"bar c{style}\" fill=\"url(#p{style})\" x=\"{left:.1}\" y=\"{:.1}\" \
             width=\"{:.1}\" height=\"18\"/>",
            y + 3.0,
            (x(row.bytes) - left).max(1.0)
        );
        let (low, high) = (x(row.range.0), x(row.range.1));
        if high - low > 2.0 {
            line(&mut out, &format!("whisker c{style}"), (low, y + 12.0), (high, y + 12.0));
        }
    }
    line(&mut out, "base", (left, 4.0), (left, base));
    out + "</svg>"
}

/// The sign of a series in a legend: its bar and its marker.
pub fn key(style: usize) -> String {
    format!(
        "<svg class=\"key\" viewBox=\"0 0 34 14\" width=\"34\" height=\"14\" aria-hidden=\"true\">\
         <rect class=\"bar c{style}\" fill=\"url(#p{style})\" x=\"0.5\" y=\"0.5\" width=\"16\" \
         height=\"13\"/><g class=\"mark c{style}\">{}</g></svg>",
        marker(style, 27.0, 7.0)
    )
}

/// The marker of a series alone, before its name.
pub fn sign(style: usize) -> String {
    format!(
        "<svg class=\"sign\" viewBox=\"-7 -7 14 14\" width=\"14\" height=\"14\" aria-hidden=\"true\">\
         <g class=\"mark c{style}\">{}</g></svg>",
        marker(style, 0.0, 0.0)
    )
}

pub(crate) fn open(id: &str, title: &str, description: &str, width: f64, height: f64) -> String {
    // Letters stay legible: a chart that needs more room scrolls in its box.
    let style = format!("style=\"width:{width:.0}px;min-width:{:.0}px\"", width * 0.8);
    open_as(&style, id, (title, description), (width, height))
}

/// An `<svg>` element with such attributes.
pub(crate) fn open_as(
    attributes: &str,
    id: &str,
    (title, description): (&str, &str),
    (width, height): (f64, f64),
) -> String {
    let (title, description) = (escape(title), escape(description));
    format!(
        "<svg role=\"img\" aria-labelledby=\"{id}-t {id}-d\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         {attributes}>\
         <title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{description}</desc>"
    )
}

/// A marker with an outline that sets it off from what it lies on.
pub(crate) fn marker(style: usize, x: f64, y: f64) -> String {
    let polygon = |corners: &[(f64, f64)]| {
        let points: Vec<String> =
            corners.iter().map(|(dx, dy)| format!("{:.1},{:.1}", x + dx, y + dy)).collect();
        format!("<polygon points=\"{}\"/>", points.join(" "))
    };
    match style % 5 {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.2\"/>"),
        1 => polygon(&[(-3.9, -3.9), (3.9, -3.9), (3.9, 3.9), (-3.9, 3.9)]),
        2 => polygon(&[(0.0, -5.0), (4.8, 3.8), (-4.8, 3.8)]),
        3 => polygon(&[(0.0, -5.4), (5.4, 0.0), (0.0, 5.4), (-5.4, 0.0)]),
        _ => polygon(&[(-4.8, -3.8), (4.8, -3.8), (0.0, 5.0)]),
    }
}

fn whisker(out: &mut String, style: usize, x: f64, ends: Option<(f64, f64)>) {
    let Some((low, high)) = ends else { return };
    let class = format!("whisker c{style}");
    line(out, &class, (x, low), (x, high));
    for y in [low, high] {
        line(out, &class, (x - 3.5, y), (x + 3.5, y));
    }
}

/// A whisker from its one end to the edge of the chart, where an arrow says that it goes on.
fn open_whisker(out: &mut String, style: usize, x: f64, end: f64, edge: f64) {
    let class = format!("whisker c{style}");
    line(out, &class, (x, end), (x, edge));
    line(out, &class, (x - 3.5, end), (x + 3.5, end));
    arrow(out, style, x, edge, (edge - end).signum());
}

/// The head of an arrow that points down (1) or up (-1).
fn arrow(out: &mut String, style: usize, x: f64, tip: f64, down: f64) {
    let class = format!("whisker open c{style}");
    for side in [-4.0, 4.0] {
        line(out, &class, (x, tip), (x + side, tip - 5.0 * down));
    }
}

/// A bar whose middle and height are known, with words for a reader who asks.
fn draw_bar(out: &mut String, frame: &Frame, style: usize, (x, height): (f64, f64), words: &str) {
    let (left, width) = (x - frame.bar / 2.0 + 1.0, (frame.bar - 2.0).max(2.0));
    let _ = write!(
        out,
        "<rect class=\"bar c{style}\" fill=\"url(#p{style})\" x=\"{left:.1}\" y=\"{:.1}\" \
         width=\"{width:.1}\" height=\"{height:.1}\"><title>{}</title></rect>",
        frame.base - height,
        escape(words),
    );
}

fn ratio_words(ratio: Ratio) -> String {
    let interval = words::ends(ratio.ends, ratio.is, 1);
    let interval = interval.map_or(String::new(), |words| format!(" ({words})"));
    let bound = match ratio.is {
        RatioIs::Exact => "",
        RatioIs::AtLeast => "at least ",
        RatioIs::AtMost => "at most ",
    };
    format!("{bound}×{}{interval}", words::ratio(ratio.ratio))
}

/// A name cut to so many characters, with an ellipsis.
pub fn shortened(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.into();
    }
    name.chars().take(most - 1).chain(['…']).collect()
}

pub(crate) fn text(out: &mut String, class: &str, x: f64, y: f64, words: &str) {
    let words = escape(words);
    let _ = write!(out, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{words}</text>");
}

pub(crate) fn line(out: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = write!(
        out,
        "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
    );
}

pub(crate) fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#x27;")
}
