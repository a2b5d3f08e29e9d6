//! Bars of parts that make a whole, on one linear axis from zero: the first part is the one that is asked
//! for, and the darkest.

use std::fmt::Write;

use crate::chart::{escape, line, open, shortened, text};
use crate::scale::{Linear, tick_label};
use crate::words;

/// How many shades there are: further parts have the last.
const SHADES: usize = 6;
/// The height of a row, and of the bar in it, in pixels.
const ROW: f64 = 30.0;
const BAR: f64 = 18.0;
/// The room for all bars.
const PLOT: f64 = 430.0;
/// The widths of a letter of a name and of a sign of the legend, in pixels.
const LETTER: f64 = 7.2;
const SIGN: f64 = 12.0;

/// A whole.
pub struct Bar {
    /// What it is.
    pub name: String,
    /// How many seconds each part takes, in the order of their names; 0 for one that it has not.
    pub parts: Vec<f64>,
}

impl Bar {
    /// The whole in seconds.
    pub fn whole(&self) -> f64 {
        self.parts.iter().sum()
    }
}

/// The bars as an `<svg>` element, with the names of their parts above them.
pub fn svg(id: &str, title: &str, names: &[&str], bars: &[Bar]) -> String {
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
    let mut out = open(id, title, description, left + PLOT + 18.0, base + 38.0);
    legend.draw(&mut out);
    for tick in &axis.ticks {
        let at = left + axis.place(*tick) * PLOT;
        line(&mut out, "grid", (at, top), (at, base));
        text(&mut out, "tick middle", at, base + 16.0, &tick_label(*tick));
    }
    text(&mut out, "axis-title", left, base + 33.0, unit);
    for (number, bar) in bars.iter().enumerate() {
        let y = top + ROW * number as f64;
        text(&mut out, "name end", left - 74.0, y + 19.0, &shortened(&bar.name, 44));
        text(&mut out, "name end", left - 8.0, y + 19.0, &words::seconds(bar.whole()));
        let mut from = 0.0;
        for (part, (name, seconds)) in names.iter().zip(&bar.parts).enumerate() {
            if *seconds <= 0.0 {
                continue;
            }
            let (start, end) = (x(from), x(from + seconds));
            from += seconds;
            let share = words::percent(seconds / bar.whole());
            let says =
                escape(&format!("{}, {name}: {}, {share}", bar.name, words::seconds(*seconds)));
            let shade = part.min(SHADES - 1);
            let _ = write!(
                out,
                "<rect class=\"part part{shade}\" x=\"{start:.1}\" y=\"{:.1}\" width=\"{:.1}\" \
                 height=\"{BAR}\"><title>{says}</title></rect>",
                y + (ROW - BAR) / 2.0,
                (end - start).max(0.5)
            );
        }
    }
    line(&mut out, "base", (left, top), (left, base));
    out + "</svg>"
}

/// The names of the parts, each beside its shade.
struct Legend<'a> {
    /// Where each begins.
    places: Vec<(&'a str, f64, f64)>,
    height: f64,
}

impl<'a> Legend<'a> {
    /// In lines of such a width.
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
            text(out, "start", x + SIGN + 6.0, y + 10.5, name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of an attribute, of each part of a bar.
    fn all(svg: &str, attribute: &str) -> Vec<f64> {
        let parts = svg.split("<rect class=\"part ").skip(1).filter(|it| it.contains("<title>"));
        let of = |part: &str| {
            let (_, rest) = part.split_once(&format!(" {attribute}=\""))?;
            rest.split('"').next()?.parse().ok()
        };
        parts.filter_map(of).collect()
    }

    #[test]
    fn parts_stand_beside_each_other_from_zero_and_come_to_the_whole() {
        let bar = |name: &str, parts: &[f64]| Bar { name: name.into(), parts: parts.into() };
        let bars = [bar("a <b>", &[0.002, 0.0, 0.001]), bar("c", &[0.001, 0.0005, 0.0])];
        let svg = svg("x", "Where it went", &["database", "web", "client"], &bars);
        let (starts, widths) = (all(&svg, "x"), all(&svg, "width"));
        assert_eq!((starts.len(), widths.len()), (4, 4), "nothing is no part: {svg}");
        assert!((starts[0] - starts[2]).abs() < 0.11, "both begin at zero");
        for first in [0, 2] {
            assert!((starts[first] + widths[first] - starts[first + 1]).abs() < 0.21, "{svg}");
        }
        // 2 ms to 1 ms, and 1 ms to 0.5 ms on the same axis.
        for (one, other) in [(0, 1), (0, 2), (2, 3)] {
            assert!((widths[one] / widths[other] - 2.0).abs() < 0.01, "{widths:?}");
        }
        assert!(svg.contains("a &lt;b&gt;, database: 2.00 ms, 67 %"), "{svg}");
        assert!(svg.contains(">3.00 ms</text>") && svg.contains(">1.50 ms</text>"), "{svg}");
    }

    #[test]
    fn nothing_and_very_many_parts_are_drawn_as_well() {
        let none = svg("x", "Nothing", &[], &[]);
        assert!(!none.contains("NaN") && none.ends_with("</svg>"), "{none}");
        let names: Vec<String> = (0..40).map(|it| format!("process {it}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let bars = [Bar { name: "all".into(), parts: vec![1.0; 40] }];
        let many = svg("x", "Many", &names, &bars);
        assert_eq!(all(&many, "x").len(), 40);
        assert!(!many.contains("part6"), "there are {SHADES} shades");
    }
}
