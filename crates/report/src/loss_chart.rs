//! Draws the loss window: a dot for each cut with a loss, at the age of the oldest acknowledged
//! transaction that was lost.

use std::fmt::Write;

use crate::chart::{draw_marker, draw_segment, draw_text, escape, open_svg, shorten_name};
use crate::scale::LogScale;
use crate::words;

pub struct LossLane {
    pub name: String,
    /// Each rule's name and dots: seconds, and whether the loss breaks the promise.
    pub rules: Vec<(String, Vec<(f64, bool)>)>,
    pub empty: &'static str,
    pub uncounted: usize,
    /// The loss that the engine's documentation allows.
    pub limit: LossLimit,
}

impl LossLane {
    fn describe_undotted(&self) -> Option<String> {
        (self.uncounted > 0).then(|| format!("{} corrupt, no dot", self.uncounted))
    }
}

#[derive(Clone, Copy, Default)]
pub struct LossLimit {
    pub window_s: Option<f64>,
    pub most_lost: Option<u64>,
}

const PLOT: f64 = 470.0;
const RIGHT: f64 = 140.0;
const TOP: f64 = 26.0;
/// Height of a rule's dots, and the gap between lanes.
const RULE: f64 = 11.0;
const BETWEEN: f64 = 12.0;
/// Smaller ages are shown as this: a microsecond is no time for a commit.
const LEAST_S: f64 = 1e-6;

pub fn draw_lanes(lanes: &[LossLane]) -> Option<String> {
    let dots = || lanes.iter().flat_map(|lane| &lane.rules).flat_map(|(_, dots)| dots);
    dots().next()?;
    let windows = lanes.iter().filter_map(|lane| lane.limit.window_s);
    let axis = LogScale::from_ratios(dots().map(|(age, _)| age.max(LEAST_S)).chain(windows));
    let names =
        lanes.iter().flat_map(|lane| [Some(lane.name.clone()), lane.describe_undotted()]).flatten();
    let widest = names.map(|name| name.chars().count()).max().unwrap_or(0);
    let left = (widest as f64 * 6.6 + 16.0).clamp(80.0, 230.0);
    let x = |seconds: f64| left + axis.place(seconds.max(LEAST_S)) * PLOT;
    let base = TOP + lanes.iter().map(measure_height).sum::<f64>();

    let mut out = open_svg(
        "loss",
        "How old the oldest loss was, for each power cut and rule",
        "A dot for each cut that took an acknowledged transaction; the table has the largest.",
        left + PLOT + RIGHT,
        base + 40.0,
    );
    for tick in &axis.ticks {
        draw_segment(&mut out, "grid", (x(*tick), TOP), (x(*tick), base));
        draw_text(&mut out, "tick middle", x(*tick), base + 16.0, &words::format_seconds(*tick));
    }
    draw_text(
        &mut out,
        "axis-title",
        left,
        base + 34.0,
        "acknowledged so long before the cut, and lost",
    );
    let mut top = TOP;
    for lane in lanes {
        draw(&mut out, lane, (left, top), &x);
        top += measure_height(lane);
        draw_segment(&mut out, "grid", (0.0, top), (left + PLOT, top));
    }
    draw_segment(&mut out, "base", (left, TOP), (left, base));
    Some(out + "</svg>")
}

fn measure_height(lane: &LossLane) -> f64 {
    RULE * lane.rules.len().max(2) as f64 + BETWEEN
}

fn draw(out: &mut String, lane: &LossLane, (left, top): (f64, f64), x: &dyn Fn(f64) -> f64) {
    let middle = top + measure_height(lane) / 2.0;
    let note = lane.describe_undotted();
    let up = if note.is_some() { 7.0 } else { 0.0 };
    draw_text(out, "name end", left - 8.0, middle + 4.0 - up, &shorten_name(&lane.name, 32));
    if let Some(note) = note {
        draw_text(out, "tick end", left - 8.0, middle + 4.0 + up, &note);
    }
    let end = lane.limit.window_s.map_or(left + PLOT, x);
    if lane.limit.window_s.is_some() {
        draw_segment(out, "window", (end, top + 1.0), (end, top + measure_height(lane) - 1.0));
    }
    let most = lane.limit.most_lost.map(|most| words::count_nouns(most as usize, "commit"));
    let limits: Vec<String> =
        lane.limit.window_s.map(words::format_seconds).into_iter().chain(most).collect();
    if !limits.is_empty() {
        let label = format!("{} allowed", limits.join(", "));
        draw_text(out, "tick start", end + 6.0, middle + 4.0, &label);
    }
    if lane.rules.iter().all(|(_, dots)| dots.is_empty()) {
        draw_text(out, "start", left + 8.0, middle + 4.0, lane.empty);
    }
    for (number, (rule, dots)) in lane.rules.iter().enumerate() {
        let y = top + BETWEEN / 2.0 + RULE * (number as f64 + 0.5);
        for (age, bad) in dots {
            // The shape differs, too: not everybody sees colours.
            let (class, shape) = if *bad { ("loss bad", 3) } else { ("loss", 0) };
            let title = escape(&format!("{rule}: {}", words::format_seconds(*age)));
            let _ = write!(
                out,
                "<g class=\"{class}\"><title>{title}</title>{}</g>",
                draw_marker(shape, x(*age), y)
            );
        }
    }
}
