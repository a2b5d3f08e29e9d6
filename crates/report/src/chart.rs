//! Draws SVG charts, and bars of bytes.
//!
//! A series keeps colour, pattern and marker in every chart of a page, so that it is recognised
//! without colour. The page defines the patterns `p0` … and the classes.

use std::fmt::Write;

use bakeoff_analysis::layout::DocumentLayout;

use crate::scale::{Linear, tick_label};
use crate::words;

/// Colours, patterns and markers; further series start over.
pub const STYLES: usize = 8;

/// The style's number is the same in every chart. The last is the harness's.
pub fn find_style(layout: &DocumentLayout<'_>, level: &str) -> usize {
    if layout.is_harness(level) {
        return STYLES - 1;
    }
    layout.contenders().iter().position(|l| *l == level).unwrap_or(0) % (STYLES - 1)
}

pub struct SizeBar {
    pub name: String,
    pub style: usize,
    pub bytes: u64,
    pub range: (u64, u64),
}

pub fn draw_sizes(id: &str, title: &str, rows: &[SizeBar]) -> String {
    const ROW: f64 = 30.0;
    let widest = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let names = (widest as f64 * 7.2 + 14.0).clamp(60.0, 230.0);
    // Beside the names: a narrow screen cuts off the ends of bars.
    let (left, plot, right) = (names + 62.0, 430.0, 18.0);
    let base = 8.0 + ROW * rows.len() as f64;
    let most = rows.iter().map(|row| row.range.1).max().unwrap_or(0) as f64;
    let (scale, unit) = words::byte_unit(most);
    let axis = Linear::up_to(most * scale);
    let x = |bytes: u64| left + axis.place(bytes as f64 * scale) * plot;

    let mut out =
        open_svg(id, title, "The table below has every figure.", left + plot + right, base + 38.0);
    for tick in &axis.ticks {
        let at = left + axis.place(*tick) * plot;
        draw_segment(&mut out, "grid", (at, 4.0), (at, base));
        draw_text(&mut out, "tick middle", at, base + 16.0, &tick_label(*tick));
    }
    draw_text(&mut out, "axis-title", left, base + 33.0, unit);
    for (number, row) in rows.iter().enumerate() {
        let (y, style) = (8.0 + ROW * number as f64, row.style);
        draw_text(&mut out, "name end", names - 8.0, y + 16.0, &shorten_name(&row.name, 30));
        draw_text(&mut out, "name end", left - 8.0, y + 16.0, &words::format_bytes(row.bytes));
        let _ = write!(
            out,
            "<rect class=\"bar c{style}\" fill=\"url(#p{style})\" x=\"{left:.1}\" y=\"{:.1}\" \
             width=\"{:.1}\" height=\"18\"/>",
            y + 3.0,
            (x(row.bytes) - left).max(1.0)
        );
        let (low, high) = (x(row.range.0), x(row.range.1));
        if high - low > 2.0 {
            draw_segment(&mut out, &format!("whisker c{style}"), (low, y + 12.0), (high, y + 12.0));
        }
    }
    draw_segment(&mut out, "base", (left, 4.0), (left, base));
    out + "</svg>"
}

pub fn draw_key(style: usize) -> String {
    format!(
        "<svg class=\"key\" viewBox=\"0 0 34 14\" width=\"34\" height=\"14\" aria-hidden=\"true\">\
         <rect class=\"bar c{style}\" fill=\"url(#p{style})\" x=\"0.5\" y=\"0.5\" width=\"16\" \
         height=\"13\"/><g class=\"mark c{style}\">{}</g></svg>",
        draw_marker(style, 27.0, 7.0)
    )
}

/// For use before a name.
pub fn draw_sign(style: usize) -> String {
    format!(
        "<svg class=\"sign\" viewBox=\"-7 -7 14 14\" width=\"14\" height=\"14\" aria-hidden=\"true\">\
         <g class=\"mark c{style}\">{}</g></svg>",
        draw_marker(style, 0.0, 0.0)
    )
}

pub(crate) fn open_svg(
    id: &str,
    title: &str,
    description: &str,
    width: f64,
    height: f64,
) -> String {
    // Letters stay legible: a wider chart scrolls in its box.
    let style = format!("style=\"width:{width:.0}px;min-width:{:.0}px\"", width * 0.8);
    open_as(&style, id, (title, description), (width, height))
}

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

/// The outline sets the marker off from what is below it.
pub(crate) fn draw_marker(style: usize, x: f64, y: f64) -> String {
    let polygon = |corners: &[(f64, f64)]| {
        let corners = corners.iter().map(|(dx, dy)| (x + dx, y + dy));
        format!("<polygon points=\"{}\"/>", format_points(corners))
    };
    match style % 5 {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.2\"/>"),
        1 => polygon(&[(-3.9, -3.9), (3.9, -3.9), (3.9, 3.9), (-3.9, 3.9)]),
        2 => polygon(&[(0.0, -5.0), (4.8, 3.8), (-4.8, 3.8)]),
        3 => polygon(&[(0.0, -5.4), (5.4, 0.0), (0.0, 5.4), (-5.4, 0.0)]),
        _ => polygon(&[(-4.8, -3.8), (4.8, -3.8), (0.0, 5.0)]),
    }
}

/// A marker with a text for a reader who points at it; the text may be empty.
pub(crate) fn draw_mark(
    out: &mut String,
    class: &str,
    style: usize,
    (x, y): (f64, f64),
    text: &str,
) {
    let marker = draw_marker(style, x, y);
    let _ = write!(out, "<g class=\"{class}\">{marker}{}</g>", format_title(text));
}

pub(crate) fn format_title(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<title>{}</title>", escape(text)) }
}

pub(crate) fn format_points(points: impl Iterator<Item = (f64, f64)>) -> String {
    let points: Vec<String> = points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    points.join(" ")
}

pub fn shorten_name(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.into();
    }
    name.chars().take(most - 1).chain(['…']).collect()
}

pub(crate) fn draw_text(out: &mut String, class: &str, x: f64, y: f64, words: &str) {
    let words = escape(words);
    let _ = write!(out, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{words}</text>");
}

pub(crate) fn draw_segment(out: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
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
