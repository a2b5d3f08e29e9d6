//! The marks on a line: figures with their intervals, bounds, what was set aside, and what was not run.

use std::fmt::Write;

use bakeoff_analysis::RatioIs;

use super::{PanelScale, class, labels};
use crate::block::sweep::{LinePanel, LinePoint, LineSource, LineValue, SweepLine};
use crate::chart::{escape, line, marker};
use crate::words;

/// From this height on an interval is seen beside its mark.
const SEEN: f64 = 11.0;
/// How far apart the signs of two lines stand that have no height.
const BESIDE: f64 = 8.0;

/// Draws a line's marks; the line has such a number among those of its panel.
pub(super) fn draw(
    out: &mut String,
    panel: &LinePanel,
    (number, it): (usize, &SweepLine),
    x: &dyn Fn(usize) -> f64,
    scale: &PanelScale,
) {
    let beside = BESIDE * (number as f64 - (panel.lines.len() as f64 - 1.0) / 2.0);
    for (at, point) in it.points.iter().enumerate() {
        let tick = &panel.ticks[at];
        let says =
            |what: &str| escape(&format!("{}, {} {}: {what}", it.name, panel.factor, tick.name));
        match point {
            LinePoint::Known(value) if tick.marked => {
                // The ends of what was published are its range, which is told already.
                let has_interval = it.source != LineSource::Published
                    && value.ends != (None, None)
                    && words::ends(value.ends, value.is, 1).is_some();
                let interval =
                    if has_interval { interval_words(panel, value) } else { String::new() };
                let says = says(&format!("{}{interval}", it.says(&panel.amount, value)));
                known(out, it, (x(at), value), scale, &says);
            }
            LinePoint::Known(_) => {}
            LinePoint::SetAside(value, why) => {
                let says = says(&format!("set aside: {why}"));
                set_aside(out, it, (x(at), beside, *value), scale, &says);
            }
            // A publication has what it has.
            LinePoint::NotRun if it.source == LineSource::Published => {}
            LinePoint::NotRun => {
                let class = format!("dash {}", class(it));
                let (x, y) = (x(at) + beside, scale.base() - 5.0);
                let says = says("not run");
                let _ = write!(out, "<g class=\"{class}\"><title>{says}</title>");
                line(out, &class, (x - 3.0, y), (x + 3.0, y));
                out.push_str("</g>");
            }
        }
    }
}

/// " (1.90 to 2.40 ms)".
fn interval_words(panel: &LinePanel, value: &LineValue) -> String {
    let text = |end: f64| panel.amount.text(end);
    match value.ends {
        (Some(low), Some(high)) => format!(" ({} to {})", text(low), text(high)),
        (Some(low), None) => format!(" (from {})", text(low)),
        (None, Some(high)) => format!(" (up to {})", text(high)),
        (None, None) => String::new(),
    }
}

/// A figure, its interval where that is longer than the mark, and an arrow where it is a bound.
fn known(
    out: &mut String,
    it: &SweepLine,
    (x, value): (f64, &LineValue),
    scale: &PanelScale,
    says: &str,
) {
    let (y, whisker) = (scale.y(value.value), format!("whisker {}", class(it)));
    if let (Some(low), Some(high)) = value.ends {
        let (low, high) = (scale.y(low), scale.y(high));
        if low - high > SEEN {
            line(out, &whisker, (x, low), (x, high));
        }
    }
    let up = match value.is {
        RatioIs::Exact => None,
        RatioIs::AtLeast => Some(-1.0),
        RatioIs::AtMost => Some(1.0),
    };
    if let Some(up) = up {
        let tip = y + 17.0 * up;
        line(out, &whisker, (x, y), (x, tip));
        for side in [-4.0, 4.0] {
            line(out, &whisker, (x, tip), (x + side, tip - 5.0 * up));
        }
    }
    let (class, sign) = (class(it), marker(it.style, x, y));
    let mark = if it.source == LineSource::Published { "mark hollow" } else { "mark" };
    let _ = write!(out, "<g class=\"{mark} {class}\">{sign}<title>{says}</title></g>");
}

/// A pale, crossed mark; at the foot where it has no figure.
fn set_aside(
    out: &mut String,
    it: &SweepLine,
    (x, beside, value): (f64, f64, Option<f64>),
    scale: &PanelScale,
    says: &str,
) {
    let class = class(it);
    let Some(value) = value else {
        labels::foot(out, &format!("missing {class}"), x + beside, scale.base(), "×");
        return;
    };
    let y = scale.y(value);
    let sign = marker(it.style, x, y);
    let _ = write!(out, "<g class=\"mark aside {class}\">{sign}<title>{says}</title></g>");
    for side in [-5.0, 5.0] {
        line(out, "crossed", (x - side, y - 5.0), (x + side, y + 5.0));
    }
}
