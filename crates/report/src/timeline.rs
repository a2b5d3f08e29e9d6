//! Timelines as SVG: tracks below each other on one time axis.
//!
//! Made for a width that a phone shows whole: letters grow there (`svg.timeline`), and everything
//! leaves them room.

use std::fmt::Write;

use bakeoff_analysis::LinePiece;

use crate::block::{
    CourseTracks, Moments, SvgChart, Timeline, TimelineUnit, Track, TrackHeight, TrackLine,
    TrackLines,
};
use crate::chart::{self, draw_mark, draw_segment, draw_text, format_points, open_as};
use crate::scale::{Linear, LogScale, Time, tick_label};
use crate::words;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 16.0;
const PLOT: f64 = WIDTH - LEFT - RIGHT;
const TITLE: f64 = 30.0;
const NUMBERS: f64 = 24.0;
const IDLE: f64 = 6.0;
const TICK: f64 = 14.0;
const MARKERS: usize = 5;

/// From this factor between least and most on, seconds have a logarithmic axis.
const LOG_FROM: f64 = 30.0;
/// Farther limits are written, not drawn.
const NEAR: f64 = 20.0;

pub(crate) struct TrackAxis {
    kind: AxisScale,
    scale: f64,
    /// Unit of the ticks; empty where each has its own, or there is none.
    pub unit: &'static str,
}

enum AxisScale {
    Linear(Linear),
    Log(LogScale),
}

impl TrackAxis {
    pub(crate) fn from_lines(lines: &TrackLines) -> Self {
        let of = |end: fn(&LinePiece) -> Option<f64>| {
            lines.lines.iter().flat_map(|line| &line.pieces).filter_map(end)
        };
        let most = of(|piece| piece.most).fold(0.0, f64::max);
        let least = of(|piece| piece.least).filter(|it| *it > 0.0).reduce(f64::min);
        let wide = least.is_some_and(|least| most / least > LOG_FROM);
        if lines.unit == TimelineUnit::Seconds && wide {
            let ends = of(|piece| piece.least).chain(of(|piece| piece.most));
            return Self {
                kind: AxisScale::Log(LogScale::from_values(ends)),
                scale: 1.0,
                unit: "",
            };
        }
        let most = most.max(lines.near_limit().unwrap_or(0.0));
        let (scale, unit) = match lines.unit {
            TimelineUnit::Seconds => words::second_unit(most),
            TimelineUnit::Bytes => words::byte_unit(most),
            TimelineUnit::Rate | TimelineUnit::Count => (1.0, ""),
        };
        Self { kind: AxisScale::Linear(Linear::up_to(most * scale)), scale, unit }
    }

    pub(crate) fn place(&self, value: f64) -> f64 {
        match &self.kind {
            AxisScale::Linear(axis) => axis.place(value * self.scale),
            AxisScale::Log(axis) => axis.place(value),
        }
    }

    /// Places and texts; a low track has only the ends.
    fn ticks(&self, size: TrackHeight) -> Vec<(f64, String)> {
        match &self.kind {
            AxisScale::Linear(axis) => {
                let ends = [0.0, axis.end];
                let ticks = if size == TrackHeight::Low { &ends[..] } else { &axis.ticks };
                ticks.iter().map(|tick| (axis.place(*tick), format_short(*tick))).collect()
            }
            AxisScale::Log(axis) => {
                let says = |tick: &f64| {
                    let (scale, unit) = words::second_unit(*tick);
                    format!("{} {unit}", tick_label(tick * scale))
                };
                axis.ticks.iter().map(|tick| (axis.place(*tick), says(tick))).collect()
            }
        }
    }

    /// Equal steps are equal factors.
    pub(crate) fn is_log(&self) -> bool {
        matches!(self.kind, AxisScale::Log(_))
    }
}

fn format_short(tick: f64) -> String {
    match tick {
        t if t >= 1e9 => format!("{t:.0e}"),
        t if t >= 1e6 => format!("{}M", tick_label(t / 1e6)),
        t if t >= 1e4 => format!("{}k", tick_label(t / 1e3)),
        t => tick_label(t),
    }
}

impl TimelineUnit {
    /// With its unit, where that is not plain.
    pub(crate) fn text(self, value: f64) -> String {
        match self {
            Self::Seconds => words::format_seconds(value),
            Self::Bytes => words::format_bytes(value.max(0.0) as u64),
            Self::Count if value.fract() == 0.0 => words::format_count(value.max(0.0) as u64),
            Self::Rate | Self::Count => words::format_digits(value),
        }
    }
}

impl TrackLines {
    pub(crate) fn most(&self) -> Option<f64> {
        let all = self.lines.iter().flat_map(|line| &line.pieces);
        all.filter_map(|piece| piece.most).reduce(f64::max)
    }

    pub(crate) fn near_limit(&self) -> Option<f64> {
        let is_near = |(limit, most): &(f64, f64)| *limit > 0.0 && *limit <= most * NEAR;
        self.limit.zip(self.most()).filter(is_near).map(|(limit, _)| limit)
    }

    fn build_title(&self, axis: &TrackAxis) -> String {
        let unit = if axis.unit.is_empty() { String::new() } else { format!(", {}", axis.unit) };
        let log = if axis.is_log() { ", on a logarithmic scale" } else { "" };
        let limit = match (self.limit, self.near_limit()) {
            (Some(limit), None) => format!("; its limit of {} is far off", self.unit.text(limit)),
            (Some(limit), _) => format!("; dashed: its limit, {}", self.unit.text(limit)),
            (None, _) => String::new(),
        };
        format!("{}{unit}{log}{limit}", self.title)
    }

    fn height(&self) -> f64 {
        match self.size {
            TrackHeight::Tall => 180.0,
            TrackHeight::Middle => 120.0,
            TrackHeight::Low => 44.0,
        }
    }
}

impl From<CourseTracks> for Timeline {
    fn from(course: CourseTracks) -> Self {
        Self {
            chart: SvgChart { caption: course.caption.clone(), svg: draw_course(&course) },
            course,
        }
    }
}

fn draw_course(course: &CourseTracks) -> String {
    let time = Time::up_to(course.ran_s);
    let mut body = String::new();
    let mut top = 0.0;
    for track in &course.tracks {
        top = match track {
            Track::Lines(lines) => draw_lines(&mut body, course, &time, lines, top),
            Track::Moments(moments) => draw_moments(&mut body, &time, moments, top),
        };
    }
    for (at, number) in &time.ticks {
        draw_text(&mut body, "tick middle", place_x(&time, *at), top + 16.0, number);
    }
    draw_text(
        &mut body,
        "axis-title",
        LEFT,
        top + NUMBERS + 16.0,
        &format!("{} from the start", time.unit),
    );
    let size = (WIDTH, top + NUMBERS + 24.0);
    let style = format!("class=\"timeline\" style=\"width:{WIDTH:.0}px\"");
    open_as(&style, &course.id, (&course.caption, &course.description), size) + &body + "</svg>"
}

fn place_x(time: &Time, seconds: f64) -> f64 {
    LEFT + time.place(seconds) * PLOT
}

fn draw_lines(
    out: &mut String,
    course: &CourseTracks,
    time: &Time,
    lines: &TrackLines,
    top: f64,
) -> f64 {
    let axis = TrackAxis::from_lines(lines);
    let (top, height) = (top + TITLE, lines.height());
    let base = top + height;
    let y = |value: f64| base - axis.place(value) * height;
    draw_title(out, &lines.build_title(&axis), find_owner(lines), top);
    let edges =
        course.window_s.map_or([(0.0, 0.0); 2], |(from, to)| [(0.0, from), (to, course.ran_s)]);
    for (from, to) in edges.map(|(from, to)| (place_x(time, from), place_x(time, to))) {
        if to - from > 0.5 {
            draw_rectangle(out, "outside", (from, top), (to - from, height), "");
        }
    }
    for (at, _) in time.ticks.iter().skip(1) {
        draw_segment(out, "grid", (place_x(time, *at), top), (place_x(time, *at), base));
    }
    for (place, says) in axis.ticks(lines.size) {
        let y = base - place * height;
        draw_segment(out, "grid", (LEFT, y), (WIDTH - RIGHT, y));
        draw_text(out, "tick end", LEFT - 8.0, y + 4.0, &says);
    }
    if let Some(limit) = lines.near_limit() {
        draw_segment(out, "limit", (LEFT, y(limit)), (WIDTH - RIGHT, y(limit)));
    }
    let x = |seconds: f64| place_x(time, seconds);
    lines.lines.iter().for_each(|it| draw_line(out, it, &x, &y));
    if lines.size != TrackHeight::Low {
        lines.lines.iter().for_each(|it| draw_markers(out, it, lines.unit, &x, &y));
    }
    draw_segment(out, "base", (LEFT, base), (WIDTH - RIGHT, base));
    if lines.unit == TimelineUnit::Rate { draw_idle(out, time, lines, base) } else { base + 3.0 }
}

fn find_owner(lines: &TrackLines) -> Option<usize> {
    match &lines.lines[..] {
        [line] if lines.size == TrackHeight::Low => Some(line.style),
        _ => None,
    }
}

fn draw_title(out: &mut String, words: &str, owner: Option<usize>, top: f64) {
    let baseline = top - 8.0;
    if let Some(style) = owner {
        draw_mark(out, &format!("mark c{style}"), style, (LEFT + 5.0, baseline - 4.5), "");
    }
    let left = if owner.is_some() { LEFT + 16.0 } else { LEFT };
    draw_text(out, "axis-title", left, baseline, words);
}

/// Through the middles of pieces, with a band from least to most; it stops where there is no
/// figure.
fn draw_line(out: &mut String, it: &TrackLine, x: &dyn Fn(f64) -> f64, y: &dyn Fn(f64) -> f64) {
    let TrackLine { style, pieces, .. } = it;
    let known =
        |piece: &LinePiece| Some((middle_x(piece, x), piece.mean?, piece.least?, piece.most?));
    for run in pieces.chunk_by(|one, next| one.mean.is_some() == next.mean.is_some()) {
        let points: Vec<_> = run.iter().filter_map(known).collect();
        let Some((first, mean, ..)) = points.first().copied() else { continue };
        if points.iter().any(|(_, _, least, most)| (y(*least) - y(*most)).abs() > 0.5) {
            let upper = points.iter().map(|(x, _, _, most)| (*x, y(*most)));
            let lower = points.iter().rev().map(|(x, _, least, _)| (*x, y(*least)));
            let corners = format_points(upper.chain(lower));
            let _ = write!(out, "<polygon class=\"range c{style}\" points=\"{corners}\"/>");
        }
        let mut line: Vec<(f64, f64)> = points.iter().map(|(x, mean, ..)| (*x, y(*mean))).collect();
        if line.len() == 1 {
            // A single point is still visible.
            line.push((first + 1.0, y(mean)));
        }
        let _ = write!(
            out,
            "<polyline class=\"course c{style}\" points=\"{}\"/>",
            format_points(line.into_iter())
        );
    }
}

/// Signs tell lines apart without colour; those of two lines are at different places.
fn draw_markers(
    out: &mut String,
    it: &TrackLine,
    unit: TimelineUnit,
    x: &dyn Fn(f64) -> f64,
    y: &dyn Fn(f64) -> f64,
) {
    let TrackLine { name, style, pieces } = it;
    for number in 0..MARKERS {
        let share = (number as f64 + 0.15 + 0.1 * (*style % 8) as f64) / MARKERS as f64;
        let Some(piece) = pieces.get((share * pieces.len() as f64) as usize) else { continue };
        let Some(mean) = piece.mean else { continue };
        let words = format!("{name}: {}", unit.text(mean));
        let at = (middle_x(piece, x), y(mean));
        draw_mark(out, &format!("mark c{style}"), *style, at, &words);
    }
}

fn middle_x(piece: &LinePiece, x: &dyn Fn(f64) -> f64) -> f64 {
    x(f64::midpoint(piece.start_s, piece.end_s))
}

/// A stripe for each line, at seconds with a rate of 0; returns where they end.
fn draw_idle(out: &mut String, time: &Time, lines: &TrackLines, base: f64) -> f64 {
    let is_idle = |piece: &LinePiece| piece.least == Some(0.0);
    let idle = || lines.lines.iter().filter(|line| line.pieces.iter().any(is_idle));
    let number = idle().count();
    if number == 0 {
        return base + 3.0;
    }
    let top = base + IDLE;
    for (at, TrackLine { name, style, pieces }) in idle().enumerate() {
        let y = top + IDLE * 1.7 * at as f64;
        for run in pieces.chunk_by(|one, next| is_idle(one) == is_idle(next)) {
            let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
            if is_idle(first) {
                let (from, to) = (place_x(time, first.start_s), place_x(time, last.end_s));
                let (first, last) = (format_seconds(first.start_s), format_seconds(last.end_s));
                let words = format!("{name}: seconds without any, {first} to {last}");
                let size = ((to - from).max(1.5), IDLE);
                draw_rectangle(out, &format!("ink c{style}"), (from, y), size, &words);
            }
        }
    }
    let height = IDLE * 1.7 * number as f64;
    draw_text(out, "tick end", LEFT - 8.0, top + height / 2.0 + 6.0, "none");
    top + height
}

fn draw_moments(out: &mut String, time: &Time, moments: &Moments, top: f64) -> f64 {
    let Moments { title: name, style, ended } = moments;
    let top = top + TITLE;
    let number = ended.iter().fold(0_u64, |sum, (_, number)| sum.saturating_add(*number));
    let words = match number {
        0 => format!("{name}: none ended"),
        number => format!("{name}: {} ended", words::format_count(number)),
    };
    draw_title(out, &words, Some(*style), top);
    let base = top + TICK;
    draw_segment(out, "grid", (LEFT, base), (WIDTH - RIGHT, base));
    for (at, number) in ended {
        let at_x = place_x(time, *at);
        let title = chart::format_title(&format!("{name} × {number} at {}", format_seconds(*at)));
        let _ = write!(
            out,
            "<line class=\"moment c{style}\" x1=\"{at_x:.1}\" y1=\"{top:.1}\" x2=\"{at_x:.1}\" \
             y2=\"{base:.1}\">{title}</line>"
        );
    }
    base + 3.0
}

fn format_seconds(at: f64) -> String {
    format!("{} s", words::format_count(at.max(0.0).round() as u64))
}

fn draw_rectangle(out: &mut String, class: &str, at: (f64, f64), size: (f64, f64), words: &str) {
    let ((x, y), (width, height)) = (at, size);
    let title = chart::format_title(words);
    let _ = write!(
        out,
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
         height=\"{height:.1}\">{title}</rect>"
    );
}
