//! Lines over a numeric factor as SVG. Both axes are logarithmic, and each line has its name and
//! last figure at its end.
//!
//! Made for a width that a phone shows whole: letters grow there (`svg.sweep`).

mod labels;
mod level_axis;
mod limits;
mod marks;
mod table;

use std::fmt::Write;

use level_axis::LevelAxis;

use crate::block::sweep::{
    DrawnPanel, Fastest, LeaderLabel, LinePanel, LinePoint, LineSource, LineValue, SweepLine,
    SweepUnit,
};
use crate::block::{ReportTable, StyledText, SvgChart, Sweeps};
use crate::chart::{draw_mark, draw_segment, draw_text, format_points, open_as};
use crate::scale::{LogScale, tick_label};
use crate::words;

const LEFT: f64 = 58.0;
const PLOT: f64 = 254.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 30.0;
/// Height of a plot, and of a name at a line's end.
const HEIGHT: f64 = 190.0;
const LABEL: f64 = 15.0;
const ROW: f64 = 19.0;
/// Below the least figure, for points without one.
const FOOT: f64 = 16.0;
/// Gap between a plot and the words beside rows below it.
const ROW_NAME: f64 = 14.0;
/// Intervals may stretch the scale this many times beyond the figures.
const STRETCH: f64 = 2.0;

impl Sweeps {
    pub fn from_panels(
        explained: StyledText,
        panels: Vec<LinePanel>,
        standing: Option<ReportTable>,
    ) -> Self {
        let most = panels.iter().map(|panel| panel.lines.len()).max().unwrap_or(0);
        let height = HEIGHT.max(most as f64 * LABEL);
        let scale = PanelScale::from_panels(&panels, height);
        let drawn = |panel: LinePanel| {
            let caption = panel.caption.clone();
            DrawnPanel { chart: SvgChart { caption, svg: draw_panel(&panel, &scale) }, panel }
        };
        Self { explained, charts: panels.into_iter().map(drawn).collect(), standing }
    }
}

struct PanelScale {
    axis: LogScale,
    height: f64,
    /// Room right of a plot, for the widest names and figures.
    right: f64,
    /// Factor and unit of seconds; `None` where each tick has its own.
    unit: Option<(f64, &'static str)>,
}

impl PanelScale {
    fn from_panels(panels: &[LinePanel], height: f64) -> Self {
        let figures: Vec<f64> = panels.iter().flat_map(list_figures).collect();
        let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
        let most = figures.iter().copied().fold(0.0, f64::max);
        let ends = panels.iter().flat_map(|panel| &panel.lines).flat_map(|line| &line.points);
        let ends =
            ends.filter_map(LinePoint::known_value).flat_map(|it| [it.ends.0, it.ends.1]).flatten();
        let near: Vec<f64> = ends.map(|end| end.clamp(least / STRETCH, most * STRETCH)).collect();
        let based = panels.iter().any(|panel| panel.base.is_some()).then_some(1.0);
        let all = figures.into_iter().chain(near).chain(based);
        let wide = most / least > 1e4;
        let unit = (!wide && most > 0.0).then(|| words::second_unit(most));
        let right = panels.iter().map(labels::measure_room).fold(RIGHT, f64::max).ceil();
        Self { axis: LogScale::of_height(all, height - FOOT), height, right, unit }
    }

    fn width(&self) -> f64 {
        LEFT + PLOT + self.right
    }

    fn base(&self) -> f64 {
        TOP + self.height
    }

    fn y(&self, value: f64) -> f64 {
        self.base() - FOOT - self.axis.place(value) * (self.height - FOOT)
    }

    fn format_tick(&self, amount: &SweepUnit, tick: f64) -> String {
        match (amount, self.unit) {
            (SweepUnit::Seconds, Some((scale, _))) => format_number(tick * scale),
            (SweepUnit::Seconds, None) => {
                let (scale, unit) = words::second_unit(tick);
                format!("{} {unit}", tick_label(tick * scale))
            }
            (SweepUnit::BytesRate, _) => format_number(tick / 1e6),
            (SweepUnit::Rate(_) | SweepUnit::Times, _) => format_number(tick),
        }
    }

    fn build_title(&self, panel: &LinePanel) -> String {
        match (&panel.amount, self.unit) {
            (SweepUnit::Seconds, Some((_, unit))) => format!("{unit}, {}", panel.title),
            _ => panel.title.clone(),
        }
    }
}

fn format_number(tick: f64) -> String {
    match tick {
        t if (1e4..1e6).contains(&t) => words::format_count(t.round() as u64),
        t => tick_label(t),
    }
}

fn list_figures(panel: &LinePanel) -> impl Iterator<Item = f64> {
    let points = panel.lines.iter().flat_map(|line| &line.points);
    let figure = |point: &LinePoint| match point {
        LinePoint::Known(value) => Some(value.value),
        LinePoint::SetAside(value, _) => *value,
        LinePoint::NotRun => None,
    };
    points.filter_map(figure).filter(|value| *value > 0.0 && value.is_finite())
}

impl SweepUnit {
    pub(crate) fn text(&self, value: f64) -> String {
        match self {
            Self::Seconds => words::format_seconds(value),
            Self::Rate(unit) => format!("{}{unit}", words::format_digits(value)),
            Self::BytesRate => format!("{} MB/s", words::format_digits(value / 1e6)),
            Self::Times => words::format_ratio(value),
        }
    }

    pub(crate) fn or_bound(&self, value: &LineValue) -> String {
        use bakeoff_analysis::RatioBound;
        let sign = match value.is {
            RatioBound::Exact => "",
            RatioBound::AtLeast => words::OVER,
            RatioBound::AtMost => "< ",
        };
        format!("{sign}{}", self.text(value.value))
    }
}

impl SweepLine {
    fn format_value(&self, amount: &SweepUnit, value: &LineValue) -> String {
        let (LineSource::Published, (Some(low), Some(high))) = (self.source, value.ends) else {
            return amount.or_bound(value);
        };
        match amount {
            SweepUnit::Times => words::ratio_range(low, high),
            SweepUnit::Rate(unit) => {
                format!("{}–{}{unit}", words::format_digits(low), words::format_digits(high))
            }
            SweepUnit::Seconds | SweepUnit::BytesRate => {
                format!("{} to {}", amount.text(low), amount.text(high))
            }
        }
    }
}

fn draw_panel(panel: &LinePanel, scale: &PanelScale) -> String {
    let across = LevelAxis::from_ticks(&panel.ticks);
    let x = |at: usize| LEFT + across.places[at] * PLOT;
    let mut body = String::new();
    draw_axes(&mut body, panel, scale, &across);
    if panel.slopes {
        draw_slopes(&mut body, panel, scale);
    }
    for it in &panel.lines {
        match it.source {
            LineSource::Modelled => limits::draw(&mut body, panel, it, &x, scale),
            LineSource::Ours | LineSource::Published => draw_line(&mut body, it, &x, scale),
        }
    }
    if let Some(base) = panel.base {
        let (x, y) = (x(base), scale.y(1.0));
        let _ = write!(
            body,
            "<rect class=\"one-of\" x=\"{:.1}\" y=\"{:.1}\" width=\"8\" height=\"8\"/>",
            x - 4.0,
            y - 4.0
        );
    }
    for (number, it) in panel.lines.iter().enumerate() {
        if !it.pale && it.source != LineSource::Modelled {
            marks::draw(&mut body, panel, (number, it), &x, scale);
        }
    }
    labels::draw(&mut body, panel, &x, scale);
    let rows = panel.fastest.iter().enumerate();
    for (row, fastest) in rows {
        draw_fastest(&mut body, fastest, row, &across, scale);
    }
    let height = scale.base() + ROW * (1.0 + panel.fastest.len() as f64) + 8.0;
    let (width, wide) = (scale.width(), if scale.right > RIGHT { " wide" } else { "" });
    let style = format!("class=\"sweep{wide}\" style=\"width:{width:.0}px\"");
    let says = (panel.caption.as_str(), panel.description.as_str());
    open_as(&style, &panel.id, says, (width, height)) + &body + "</svg>"
}

fn draw_axes(out: &mut String, panel: &LinePanel, scale: &PanelScale, across: &LevelAxis) {
    let (base, right) = (scale.base(), LEFT + PLOT);
    draw_text(out, "axis-title", LEFT, TOP - 14.0, &scale.build_title(panel));
    for tick in &scale.axis.ticks {
        let y = scale.y(*tick);
        draw_segment(out, "grid", (LEFT, y), (right, y));
        draw_text(out, "tick end", LEFT - 8.0, y + 4.0, &scale.format_tick(&panel.amount, *tick));
    }
    for (at, tick) in panel.ticks.iter().enumerate() {
        let x = LEFT + across.places[at] * PLOT;
        draw_segment(out, "grid", (x, TOP), (x, base));
        if across.named[at] {
            draw_text(out, "tick middle", x, base + 15.0, &tick.name);
        }
    }
    draw_segment(out, "base", (LEFT, base), (right, base));
    if let Some(place) = across.broken {
        let x = LEFT + place * PLOT;
        for x in [x - 2.5, x + 2.5] {
            draw_segment(out, "base", (x - 2.5, base + 5.0), (x + 2.5, base - 5.0));
        }
    }
    draw_text(out, "tick start", right + ROW_NAME, base + 15.0, words::name_axis(&panel.factor));
}

/// Along these faint lines a figure grows as the level does: more clients add nothing.
fn draw_slopes(out: &mut String, panel: &LinePanel, scale: &PanelScale) {
    let [first, .., last] = panel.ticks.as_slice() else { return };
    if first.value <= 0.0 || last.value <= first.value {
        return;
    }
    let growth = last.value / first.value;
    let (Some(low), Some(high)) = (scale.axis.ticks.first(), scale.axis.ticks.last()) else {
        return;
    };
    let mut start = low / growth;
    while start < *high {
        // Cut off where the ticks end.
        let (from, to) = (start.max(*low), (start * growth).min(*high));
        let x = |value: f64| LEFT + (value / start).ln() / growth.ln() * PLOT;
        draw_segment(out, "slope", (x(from), scale.y(from)), (x(to), scale.y(to)));
        start *= 10_f64.sqrt();
    }
}

/// Dotted across points that don't count.
fn draw_line(out: &mut String, it: &SweepLine, x: &dyn Fn(usize) -> f64, scale: &PanelScale) {
    let class = name_classes(it);
    let known: Vec<(usize, f64)> = it
        .points
        .iter()
        .enumerate()
        .filter_map(|(at, point)| Some((at, scale.y(point.known_value()?.value))))
        .collect();
    for run in known.chunk_by(|one, next| one.0 + 1 == next.0).filter(|run| run.len() > 1) {
        let points = format_points(run.iter().map(|(at, y)| (x(*at), *y)));
        let _ = write!(out, "<polyline class=\"course {class}\" points=\"{points}\"/>");
    }
    for pair in known.windows(2).filter(|pair| pair[0].0 + 1 < pair[1].0) {
        let [from, to] = [pair[0], pair[1]].map(|(at, y)| (x(at), y));
        draw_segment(out, &format!("course across {class}"), from, to);
    }
}

fn name_classes(it: &SweepLine) -> String {
    let source = if it.source == LineSource::Published { " published" } else { "" };
    let shade = it.shade.map_or(String::new(), |shade| format!(" shade{}", shade.min(3)));
    let pale = if it.pale { " pale" } else { "" };
    format!("c{}{source}{shade}{pale}", it.style)
}

fn mark_class(it: &SweepLine) -> String {
    let hollow = if it.source == LineSource::Published { " hollow" } else { "" };
    format!("mark{hollow} {}", name_classes(it))
}

impl Fastest {
    fn heading(&self) -> String {
        match self.name.as_str() {
            "" => "fastest".to_owned(),
            name => format!("fastest, {name}"),
        }
    }
}

fn draw_fastest(
    out: &mut String,
    it: &Fastest,
    row: usize,
    across: &LevelAxis,
    scale: &PanelScale,
) {
    let y = scale.base() + ROW * (row as f64 + 1.0) + 14.0;
    for (at, sign) in it.signs.iter().enumerate().filter(|(at, _)| across.named[*at]) {
        let x = LEFT + across.places[at] * PLOT;
        match sign {
            LeaderLabel::Known(name, style) => {
                draw_mark(out, &format!("mark c{style}"), *style, (x, y - 4.0), name);
            }
            LeaderLabel::TooClose(_) => draw_text(out, "label", x, y, "≈"),
            LeaderLabel::Unknown => draw_text(out, "label", x, y, "?"),
            LeaderLabel::Nothing => {}
        }
    }
    draw_text(out, "tick start", LEFT + PLOT + ROW_NAME, y, &it.heading());
}
