//! Names and figures at the ends of lines: each at the height of its line's end, or as near to it as the
//! others let it.

use super::{LABEL, LEFT, PLOT, PanelScale, ROW_NAME, TOP, class};
use crate::block::sweep::{LinePanel, LinePoint, LineSource, SweepLine};
use crate::chart::{escape, line, marker, shortened, text};
use std::fmt::Write;

/// How many characters of a name are shown.
const NAME: usize = 22;
/// Where the signs before names stand, and where names begin, right of the plot.
const SIGN: f64 = 22.0;
const TEXT: f64 = SIGN + 9.0;
/// Widths in pixels of a letter of a name, of the space behind it, and of a letter of a figure, which is bold: by
/// the widest fonts that pages are shown in (DejaVu Sans, Verdana) at the size that `svg text` has.
const LETTER: f64 = 6.9;
const SPACE: f64 = 3.7;
const BOLD: f64 = 7.4;
/// What is left free at the right.
const FREE: f64 = 1.0;

/// A name at the end of a line.
struct Label<'a> {
    line: &'a SweepLine,
    /// Where the line ends.
    end: (f64, f64),
    /// What it is there.
    figure: String,
    y: f64,
}

/// Draws the names of a panel's lines.
pub(super) fn draw<'a>(
    out: &mut String,
    panel: &'a LinePanel,
    x: &dyn Fn(usize) -> f64,
    scale: &PanelScale,
) {
    let label = |line: &'a SweepLine| {
        let (at, value) = last(line)?;
        let y = scale.y(value.value);
        Some(Label { line, end: (x(at), y), figure: line.says(&panel.amount, &value), y })
    };
    let mut labels: Vec<Label<'a>> =
        panel.lines.iter().filter(|it| is_named(it)).filter_map(label).collect();
    labels.sort_by(|one, other| one.y.total_cmp(&other.y));
    let wanted: Vec<f64> = labels.iter().map(|label| label.y).collect();
    for (label, y) in labels.iter_mut().zip(apart(&wanted, (TOP + 4.0, scale.base() - 4.0))) {
        label.y = y;
    }
    for label in &labels {
        draw_label(out, label);
    }
}

/// How much room the names and figures of a panel need right of its plot.
pub(super) fn room(panel: &LinePanel) -> f64 {
    let letters = |text: &str| text.chars().count() as f64;
    let label = |it: &SweepLine| {
        let (_, value) = last(it)?;
        let figure = letters(&it.says(&panel.amount, &value)) * BOLD;
        Some(TEXT + letters(&shortened(&it.name, NAME)) * LETTER + SPACE + figure + FREE)
    };
    let beside = |text: &str| ROW_NAME + letters(text) * LETTER + FREE;
    let labels = panel.lines.iter().filter(|it| is_named(it)).filter_map(label);
    let rows = panel.fastest.iter().map(|row| beside(&row.heading()));
    labels.chain(rows).chain([beside(&panel.factor)]).fold(0.0, f64::max)
}

/// Whether a line has its name at its end; a model's is told beside the line that it is for.
fn is_named(it: &SweepLine) -> bool {
    !it.pale && it.source != LineSource::Modelled
}

/// The last figure of a line.
fn last(line: &SweepLine) -> Option<(usize, crate::block::sweep::LineValue)> {
    let points = line.points.iter().enumerate().rev();
    points.filter_map(|(at, point)| Some((at, LinePoint::known(point)?))).next()
}

/// The heights at which labels stand that want such heights, from the top: apart from each other, and
/// within the edges as far as there is room.
fn apart(wanted: &[f64], (top, bottom): (f64, f64)) -> Vec<f64> {
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
    line(out, "leader", (end.0 + 6.0, end.1), (right + SIGN - 8.0, y));
    let mark = if it.source == LineSource::Published { "mark hollow" } else { "mark" };
    let (style, sign) = (class(it), marker(it.style, right + SIGN, y));
    let _ = write!(out, "<g class=\"{mark} {style}\">{sign}</g>");
    let (name, full) = (escape(&shortened(&it.name, NAME)), escape(&it.name));
    let _ = write!(
        out,
        "<text class=\"name start\" x=\"{:.1}\" y=\"{:.1}\"><title>{full}</title>{name} \
         <tspan class=\"figure\">{}</tspan></text>",
        right + TEXT,
        y + 4.0,
        escape(figure)
    );
}

/// Draws a word at the foot of a level.
pub(super) fn foot(out: &mut String, class: &str, x: f64, base: f64, sign: &str) {
    text(out, class, x, base - 5.0, sign);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_stand_apart_and_stay_inside() {
        let edges = (0.0, 100.0);
        assert_eq!(apart(&[10.0, 50.0], edges), [10.0, 50.0], "there is room");
        for wanted in [vec![50.0; 5], vec![99.0; 4], vec![0.0, 0.0, 99.0], vec![]] {
            let heights = apart(&wanted, edges);
            assert!(heights.windows(2).all(|it| it[1] - it[0] >= LABEL - 1e-9), "{heights:?}");
            assert!(heights.iter().all(|it| (0.0..=100.0).contains(it)), "{heights:?}");
        }
    }
}
