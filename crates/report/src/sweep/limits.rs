//! A model's limit: a dashed line, named where it is pointed at.

use std::fmt::Write;

use super::{PanelScale, name_classes};
use crate::block::sweep::{LinePanel, SweepLine};
use crate::chart::{format_points, format_title};

/// A single figure is a short stroke.
pub(super) fn draw(
    out: &mut String,
    panel: &LinePanel,
    it: &SweepLine,
    x: &dyn Fn(usize) -> f64,
    scale: &PanelScale,
) {
    let known = it.points.iter().enumerate();
    let known = known.filter_map(|(at, point)| Some((at, point.known_value()?.value)));
    let known: Vec<(usize, f64)> = known.collect();
    let place = |(at, value): &(usize, f64)| (x(*at), scale.y(*value));
    let points = match &known[..] {
        [] => return,
        [only] => {
            let (x, y) = place(only);
            format_points([(x - 8.0, y), (x + 8.0, y)].into_iter())
        }
        several => format_points(several.iter().map(place)),
    };
    let says = |(at, value): &(usize, f64)| {
        format!("{} {}: {}", panel.factor, panel.ticks[*at].name, panel.amount.text(*value))
    };
    let says: Vec<String> = known.iter().map(says).collect();
    let title = format_title(&format!("{}, {}", it.name, says.join(", ")));
    let _ = write!(
        out,
        "<polyline class=\"course {}\" style=\"stroke-dasharray:6 4;stroke-width:1\" \
         points=\"{points}\">{title}</polyline>",
        name_classes(it)
    );
}
