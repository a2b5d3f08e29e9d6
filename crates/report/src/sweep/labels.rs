//! Names and figures at line ends, each as near to its line's end as the others allow.

use super::{LABEL, LEFT, PLOT, PanelScale, ROW_NAME, TOP, mark_class};
use crate::block::sweep::{LinePanel, LinePoint, LineSource, SweepLine};
use crate::chart::{draw_mark, draw_segment, draw_text, escape, shorten_name};
use crate::words;
use std::fmt::Write;

const NAME: usize = 22;
const SIGN: f64 = 22.0;
const TEXT: f64 = SIGN + 9.0;
/// Pixels of a letter of a name, a space, and a bold letter of a figure, in the widest fonts of
/// pages (DejaVu Sans, Verdana) at the size of `svg text`.
const LETTER: f64 = 6.9;
const SPACE: f64 = 3.7;
const BOLD: f64 = 7.4;
const FREE: f64 = 1.0;

struct Label<'a> {
    line: &'a SweepLine,
    end: (f64, f64),
    figure: String,
    y: f64,
}

pub(super) fn draw<'a>(
    out: &mut String,
    panel: &'a LinePanel,
    x: &dyn Fn(usize) -> f64,
    scale: &PanelScale,
) {
    let label = |line: &'a SweepLine| {
        let (at, value) = last_figure(line)?;
        let y = scale.y(value.value);
        Some(Label { line, end: (x(at), y), figure: line.format_value(&panel.amount, &value), y })
    };
    let mut labels: Vec<Label<'a>> =
        panel.lines.iter().filter(|it| is_named(it)).filter_map(label).collect();
    labels.sort_by(|one, other| one.y.total_cmp(&other.y));
    let wanted: Vec<f64> = labels.iter().map(|label| label.y).collect();
    for (label, y) in
        labels.iter_mut().zip(spread_heights(&wanted, (TOP + 4.0, scale.base() - 4.0)))
    {
        label.y = y;
    }
    for label in &labels {
        draw_label(out, label);
    }
}

pub(super) fn measure_room(panel: &LinePanel) -> f64 {
    let letters = |text: &str| text.chars().count() as f64;
    let label = |it: &SweepLine| {
        let (_, value) = last_figure(it)?;
        let figure = letters(&it.format_value(&panel.amount, &value)) * BOLD;
        Some(TEXT + letters(&shorten_name(&it.name, NAME)) * LETTER + SPACE + figure + FREE)
    };
    let beside = |text: &str| ROW_NAME + letters(text) * LETTER + FREE;
    let labels = panel.lines.iter().filter(|it| is_named(it)).filter_map(label);
    let rows = panel.fastest.iter().map(|row| beside(&row.heading()));
    labels.chain(rows).chain([beside(words::name_axis(&panel.factor))]).fold(0.0, f64::max)
}

/// The line of a model is named beside its measured line.
fn is_named(it: &SweepLine) -> bool {
    !it.pale && it.source != LineSource::Modelled
}

fn last_figure(line: &SweepLine) -> Option<(usize, crate::block::sweep::LineValue)> {
    let points = line.points.iter().enumerate().rev();
    points.filter_map(|(at, point)| Some((at, LinePoint::known_value(point)?))).next()
}

/// Heights nearest to the wanted ones, from the top: apart from each other, and within the edges as
/// far as there is room.
fn spread_heights(wanted: &[f64], (top, bottom): (f64, f64)) -> Vec<f64> {
    let mut heights = wanted.to_vec();
    let mut least = top;
    for height in &mut heights {
        *height = height.max(least);
        least = *height + LABEL;
    }
    let mut most = bottom;
    for height in heights.iter_mut().rev() {
        *height = height.min(most);
        most = *height - LABEL;
    }
    heights
}

fn draw_label(out: &mut String, label: &Label<'_>) {
    let Label { line: it, end, figure, y } = label;
    let (right, y) = (LEFT + PLOT, *y);
    draw_segment(out, "leader", (end.0 + 6.0, end.1), (right + SIGN - 8.0, y));
    draw_mark(out, &mark_class(it), it.style, (right + SIGN, y), "");
    let (name, full) = (escape(&shorten_name(&it.name, NAME)), escape(&it.name));
    let _ = write!(
        out,
        "<text class=\"name start\" x=\"{:.1}\" y=\"{:.1}\"><title>{full}</title>{name} \
         <tspan class=\"figure\">{}</tspan></text>",
        right + TEXT,
        y + 4.0,
        escape(figure)
    );
}

pub(super) fn draw_foot(out: &mut String, class: &str, x: f64, base: f64, sign: &str) {
    draw_text(out, class, x, base - 5.0, sign);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_stand_apart_and_stay_inside() {
        let edges = (0.0, 100.0);
        assert_eq!(spread_heights(&[10.0, 50.0], edges), [10.0, 50.0], "there is room");
        for wanted in [vec![50.0; 5], vec![99.0; 4], vec![0.0, 0.0, 99.0], vec![]] {
            let heights = spread_heights(&wanted, edges);
            assert!(heights.windows(2).all(|it| it[1] - it[0] >= LABEL - 1e-9), "{heights:?}");
            assert!(heights.iter().all(|it| (0.0..=100.0).contains(it)), "{heights:?}");
        }
    }
}
