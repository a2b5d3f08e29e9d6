//! Stacked bars on one linear axis. The first part is the one asked for, and the darkest.

use std::fmt::Write;

use crate::chart::{self, draw_segment, draw_text, open_svg, shorten_name};
use crate::scale::{Linear, tick_label};
use crate::words;

/// Further parts have the last shade.
const SHADES: usize = 6;
const ROW: f64 = 30.0;
const BAR: f64 = 18.0;
const PLOT: f64 = 430.0;
const LETTER: f64 = 7.2;
const SIGN: f64 = 12.0;

pub struct Bar {
    pub name: String,
    pub parts: Vec<f64>,
}

impl Bar {
    pub fn whole(&self) -> f64 {
        self.parts.iter().sum()
    }
}

pub fn draw_bars(id: &str, title: &str, names: &[&str], bars: &[Bar]) -> String {
    let widest = bars.iter().map(|bar| bar.name.chars().count()).max().unwrap_or(0);
    let left = (widest as f64 * LETTER + 14.0).clamp(60.0, 330.0) + 66.0;
    let most = bars.iter().map(Bar::whole).fold(0.0, f64::max);
    let (scale, unit) = words::second_unit(most);
    let axis = Linear::up_to(most * scale);
    let x = |seconds: f64| left + axis.place(seconds * scale) * PLOT;
    let legend = Legend::from_names(names, left + PLOT);
    let top = legend.height + 6.0;
    let base = top + ROW * bars.len() as f64;

    let description =
        "Each bar is the sum of its parts, from left to right in the order of their names.";
    let mut out = open_svg(id, title, description, left + PLOT + 18.0, base + 38.0);
    legend.draw(&mut out);
    for tick in &axis.ticks {
        let at = left + axis.place(*tick) * PLOT;
        draw_segment(&mut out, "grid", (at, top), (at, base));
        draw_text(&mut out, "tick middle", at, base + 16.0, &tick_label(*tick));
    }
    draw_text(&mut out, "axis-title", left, base + 33.0, unit);
    for (number, bar) in bars.iter().enumerate() {
        let y = top + ROW * number as f64;
        draw_text(&mut out, "name end", left - 74.0, y + 19.0, &shorten_name(&bar.name, 44));
        draw_text(&mut out, "name end", left - 8.0, y + 19.0, &words::format_seconds(bar.whole()));
        let mut from = 0.0;
        for (part, (name, seconds)) in names.iter().zip(&bar.parts).enumerate() {
            if *seconds <= 0.0 {
                continue;
            }
            let (start, end) = (x(from), x(from + seconds));
            from += seconds;
            let share = words::format_percent(seconds / bar.whole());
            let says =
                format!("{}, {name}: {}, {share}", bar.name, words::format_seconds(*seconds));
            let shade = part.min(SHADES - 1);
            let _ = write!(
                out,
                "<rect class=\"part part{shade}\" x=\"{start:.1}\" y=\"{:.1}\" width=\"{:.1}\" \
                 height=\"{BAR}\">{}</rect>",
                y + (ROW - BAR) / 2.0,
                (end - start).max(0.5),
                chart::format_title(&says)
            );
        }
    }
    draw_segment(&mut out, "base", (left, top), (left, base));
    out + "</svg>"
}

struct Legend<'a> {
    places: Vec<(&'a str, f64, f64)>,
    height: f64,
}

impl<'a> Legend<'a> {
    fn from_names(names: &[&'a str], width: f64) -> Self {
        let (mut x, mut y, mut places) = (0.0, 4.0, Vec::new());
        for name in names {
            let wide = SIGN + 6.0 + name.chars().count() as f64 * LETTER + 14.0;
            if x > 0.0 && x + wide > width {
                (x, y) = (0.0, y + 20.0);
            }
            places.push((*name, x, y));
            x += wide;
        }
        Self { places, height: y + 18.0 }
    }

    fn draw(&self, out: &mut String) {
        for (part, (name, x, y)) in self.places.iter().enumerate() {
            let shade = part.min(SHADES - 1);
            let _ = write!(
                out,
                "<rect class=\"part part{shade}\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{SIGN}\" \
                 height=\"{SIGN}\"/>",
                x + 0.5
            );
            draw_text(out, "start", x + SIGN + 6.0, y + 10.5, name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_and_very_many_parts_are_drawn_as_well() {
        let none = draw_bars("x", "Nothing", &[], &[]);
        assert!(!none.contains("NaN") && none.ends_with("</svg>"), "{none}");
        let names: Vec<String> = (0..40).map(|it| format!("process <{it}>")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let bars = [Bar { name: "<all>".into(), parts: vec![1.0; 40] }];
        let many = draw_bars("x", "Many", &names, &bars);
        // Of the legend and of the bar.
        assert_eq!(many.matches("<rect class=\"part ").count(), 2 * 40);
        assert!(!many.contains("process <") && !many.contains("<all>"), "{many}");
        assert!(!many.contains("part6"), "there are {SHADES} shades");
    }
}
