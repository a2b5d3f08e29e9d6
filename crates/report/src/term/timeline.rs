//! Timelines in a terminal: rows of signs, with one time axis for all tracks.

use bakeoff_analysis::LinePiece;

use super::TerminalWriter as Terminal;
use crate::block::{
    CourseTracks, Moments, TimelineUnit, Timelines, Track, TrackHeight, TrackLine, TrackLines,
};
use crate::chart::shorten_name;
use crate::scale::Time;
use crate::timeline::TrackAxis;
use crate::words;

const NAME: usize = 24;

const MOST: usize = 11;

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

const PLAIN: [char; 4] = ['.', ':', '+', '#'];

const IDLE: char = '0';

struct Frame {
    name: usize,
    plot: usize,
}

#[derive(Clone, Copy, Default)]
struct PlotColumn {
    mean: Option<f64>,
    idle: bool,
}

impl Terminal {
    pub(super) fn write_timelines(&self, of: &Timelines) -> String {
        of.charts.iter().map(|chart| self.write_course(&chart.course)).collect()
    }

    fn write_course(&self, course: &CourseTracks) -> String {
        let names = course.tracks.iter().flat_map(|track| match track {
            Track::Lines(lines) if lines.size == TrackHeight::Low => vec![lines.title.as_str()],
            Track::Lines(lines) => lines.lines.iter().map(|line| line.name.as_str()).collect(),
            Track::Moments(moments) => vec![moments.title.as_str()],
        });
        let name = names.map(|name| name.chars().count()).max().unwrap_or(0);
        let name = name.min(NAME).min(self.width / 3);
        let plot = self.width.saturating_sub(name + MOST + 2).max(10);
        let frame = Frame { name, plot };
        let caption = Some(&course.caption).filter(|caption| !caption.is_empty());
        let mut out = caption.map_or(String::new(), |text| self.fill(text) + "\n");
        for track in &course.tracks {
            out += &match track {
                Track::Lines(lines) => self.write_lines(lines, course.ran_s, &frame),
                Track::Moments(moments) => moment_row(moments, course.ran_s, &frame),
            };
        }
        out + &axis_row(&Time::up_to(course.ran_s), &frame) + "\n"
    }

    /// A plot for each line, below what they share.
    fn write_lines(&self, lines: &TrackLines, ran_s: f64, frame: &Frame) -> String {
        let axis = TrackAxis::from_lines(lines);
        let height = if lines.size == TrackHeight::Tall { 3 } else { 1 };
        let mut out = String::new();
        if lines.size != TrackHeight::Low {
            out += &format!("{}\n", self.fill(&build_heading(lines, &axis)));
        }
        for line in &lines.lines {
            let name = if lines.size == TrackHeight::Low { &lines.title } else { &line.name };
            let mut columns = sample_columns(line, ran_s, frame.plot);
            columns.iter_mut().for_each(|column| column.idle &= lines.unit == TimelineUnit::Rate);
            let rows = self.draw_rows(&columns, &axis, height);
            for (at, row) in rows.into_iter().enumerate() {
                let name = if at == 0 { shorten_name(name, frame.name) } else { String::new() };
                let most = if at == 0 { format_most(lines, line) } else { String::new() };
                out += &join_row(&name, &row, &most, frame);
            }
        }
        out
    }

    fn draw_rows(&self, columns: &[PlotColumn], axis: &TrackAxis, height: usize) -> Vec<String> {
        let signs: &[char] = if self.unicode { &BLOCKS } else { &PLAIN };
        let steps = signs.len() * height;
        let filled = |value: f64| match axis.place(value) * steps as f64 {
            // Any value above zero is visible.
            _ if value <= 0.0 => 0,
            steps => (steps.round() as usize).max(1),
        };
        let row = |row: usize| -> String {
            let sign = |column: &PlotColumn| {
                let filled = column.mean.map_or(0, filled).saturating_sub(row * signs.len());
                match filled {
                    _ if row == 0 && column.idle => IDLE,
                    0 => ' ',
                    filled => signs[filled.min(signs.len()) - 1],
                }
            };
            columns.iter().map(sign).collect()
        };
        (0..height).rev().map(row).collect()
    }
}

fn build_heading(lines: &TrackLines, axis: &TrackAxis) -> String {
    let title = match lines.unit {
        TimelineUnit::Rate => format!("{} ({IDLE}: a second without any)", lines.title),
        _ => lines.title.clone(),
    };
    let log = if axis.is_log() { ", on a logarithmic scale" } else { "" };
    format!("{title}{log}; the most at the right")
}

/// The maximum; near a limit, its share of the limit.
fn format_most(lines: &TrackLines, line: &TrackLine) -> String {
    let most = line.pieces.iter().filter_map(|piece| piece.most).reduce(f64::max);
    match (most, lines.near_limit()) {
        (Some(most), Some(limit)) => format!("{} full", words::format_percent(most / limit)),
        (Some(most), None) => lines.unit.text(most),
        (None, _) => String::new(),
    }
}

/// The mean in the column, or the last known value.
fn sample_columns(line: &TrackLine, ran_s: f64, number: usize) -> Vec<PlotColumn> {
    let width = ran_s / number as f64;
    let mut columns = Vec::with_capacity(number);
    let (mut next, mut last) = (0, PlotColumn::default());
    for at in 0..number {
        let end_s = (at as f64 + 1.0) * width;
        let starts = |piece: &&LinePiece| piece.start_s < end_s || at + 1 == number;
        let here = line.pieces[next..].iter().take_while(starts).count();
        let pieces = &line.pieces[next..next + here];
        next += here;
        if !pieces.is_empty() {
            let means: Vec<f64> = pieces.iter().filter_map(|piece| piece.mean).collect();
            let mean = means.iter().sum::<f64>() / means.len() as f64;
            last = PlotColumn {
                mean: (!means.is_empty()).then_some(mean),
                idle: pieces.iter().any(|piece| piece.least == Some(0.0)),
            };
        }
        columns.push(last);
    }
    columns
}

fn moment_row(moments: &Moments, ran_s: f64, frame: &Frame) -> String {
    let mut row = vec![' '; frame.plot];
    let mut number = 0_u64;
    for (at, ended) in &moments.ended {
        row[find_column(at / ran_s, frame)] = '|';
        number = number.saturating_add(*ended);
    }
    let row: String = row.into_iter().collect();
    join_row(&shorten_name(&moments.title, frame.name), &row, &words::format_count(number), frame)
}

fn find_column(place: f64, frame: &Frame) -> usize {
    ((place * frame.plot as f64) as usize).min(frame.plot - 1)
}

fn axis_row(time: &Time, frame: &Frame) -> String {
    let mut row = String::new();
    for (at, number) in &time.ticks {
        let column = find_column(time.place(*at), frame);
        if row.is_empty() || row.chars().count() < column {
            row = format!("{row:column$}{number}");
        }
    }
    join_row(time.unit, &row, "", frame)
}

fn join_row(name: &str, plot: &str, most: &str, frame: &Frame) -> String {
    let line = format!("{name:0$} {plot:1$} {most}", frame.name, frame.plot);
    format!("{}\n", line.trim_end())
}
