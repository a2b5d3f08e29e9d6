//! Marks on a line: figures with intervals, bounds, figures set aside, and levels not run.

use std::fmt::Write;

use bakeoff_analysis::RatioBound;

use super::{PanelScale, labels, mark_class, name_classes};
use crate::block::sweep::{LinePanel, LinePoint, LineSource, LineValue, SweepLine};
use crate::chart::{draw_mark, draw_segment, format_title};
use crate::words;

/// Shorter intervals are hidden by their mark.
const SEEN: f64 = 11.0;
/// Distance of the signs of two lines without a height.
const BESIDE: f64 = 8.0;

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
        let says = |what: &str| format!("{}, {} {}: {what}", it.name, panel.factor, tick.name);
        match point {
            LinePoint::Known(value) if tick.marked => {
                // The ends of a published figure are its range, which is shown already.
                let has_interval = it.source != LineSource::Published
                    && value.ends != (None, None)
                    && words::format_ends(value.ends, value.is, 1).is_some();
                let interval =
                    if has_interval { interval_words(panel, value) } else { String::new() };
                let says = says(&format!("{}{interval}", it.format_value(&panel.amount, value)));
                draw_known(out, it, (x(at), value), scale, &says);
            }
            LinePoint::Known(_) => {}
            LinePoint::SetAside(value, why) => {
                let says = says(&format!("set aside: {why}"));
                set_aside(out, it, (x(at), beside, *value), scale, &says);
            }
            // A publication can't lack a run.
            LinePoint::NotRun if it.source == LineSource::Published => {}
            LinePoint::NotRun => {
                let class = format!("dash {}", name_classes(it));
                let (x, y) = (x(at) + beside, scale.base() - 5.0);
                let _ = write!(out, "<g class=\"{class}\">{}", format_title(&says("not run")));
                draw_segment(out, &class, (x - 3.0, y), (x + 3.0, y));
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

/// With its interval if that is longer than the mark, and an arrow for a bound.
fn draw_known(
    out: &mut String,
    it: &SweepLine,
    (x, value): (f64, &LineValue),
    scale: &PanelScale,
    says: &str,
) {
    let (y, whisker) = (scale.y(value.value), format!("whisker {}", name_classes(it)));
    if let (Some(low), Some(high)) = value.ends {
        let (low, high) = (scale.y(low), scale.y(high));
        if low - high > SEEN {
            draw_segment(out, &whisker, (x, low), (x, high));
        }
    }
    let up = match value.is {
        RatioBound::Exact => None,
        RatioBound::AtLeast => Some(-1.0),
        RatioBound::AtMost => Some(1.0),
    };
    if let Some(up) = up {
        let tip = y + 17.0 * up;
        draw_segment(out, &whisker, (x, y), (x, tip));
        for side in [-4.0, 4.0] {
            draw_segment(out, &whisker, (x, tip), (x + side, tip - 5.0 * up));
        }
    }
    draw_mark(out, &mark_class(it), it.style, (x, y), says);
}

/// A pale, crossed mark; at the foot without a figure.
fn set_aside(
    out: &mut String,
    it: &SweepLine,
    (x, beside, value): (f64, f64, Option<f64>),
    scale: &PanelScale,
    says: &str,
) {
    let class = name_classes(it);
    let Some(value) = value else {
        labels::draw_foot(out, &format!("missing {class}"), x + beside, scale.base(), "×");
        return;
    };
    let y = scale.y(value);
    draw_mark(out, &format!("mark aside {class}"), it.style, (x, y), says);
    for side in [-5.0, 5.0] {
        draw_segment(out, "crossed", (x - side, y - 5.0), (x + side, y + 5.0));
    }
}
