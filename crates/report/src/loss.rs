//! The loss window as a picture: a dot for each cut that took something, at the age of the oldest
//! acknowledged transaction that was gone.

use std::fmt::Write;

use crate::chart::{escape, line, marker, open, shortened, text};
use crate::scale::LogScale;
use crate::words;

/// An engine at a level of durability.
pub struct LossLane {
    /// Both, in words.
    pub name: String,
    /// For each rule its name and its dots: seconds, and whether that breaks the promise.
    pub rules: Vec<(String, Vec<(f64, bool)>)>,
    /// What is said where there is no dot.
    pub empty: &'static str,
    /// How many images are too broken for a dot.
    pub uncounted: usize,
    /// What is allowed to be lost by the engine's documentation.
    pub limit: LossLimit,
}

impl LossLane {
    /// What has no dot, though it is no good.
    fn note(&self) -> Option<String> {
        (self.uncounted > 0).then(|| format!("{} corrupt, no dot", self.uncounted))
    }
}

/// How much may be lost.
#[derive(Clone, Copy, Default)]
pub struct LossLimit {
    /// How old a loss may be, in seconds.
    pub window_s: Option<f64>,
    /// How many transactions may be lost.
    pub most_lost: Option<u64>,
}

const PLOT: f64 = 470.0;
const RIGHT: f64 = 140.0;
const TOP: f64 = 26.0;
/// The height of a rule's line of dots, and the room between two lanes.
const RULE: f64 = 11.0;
const BETWEEN: f64 = 12.0;
/// The least age that is told from a younger one: a microsecond is no time for a commit.
const LEAST_S: f64 = 1e-6;

/// The lanes as an `<svg>` element; `None` where nothing was lost.
pub fn svg(lanes: &[LossLane]) -> Option<String> {
    let dots = || lanes.iter().flat_map(|lane| &lane.rules).flat_map(|(_, dots)| dots);
    dots().next()?;
    let windows = lanes.iter().filter_map(|lane| lane.limit.window_s);
    let axis = LogScale::around(dots().map(|(age, _)| age.max(LEAST_S)).chain(windows));
    let names = lanes.iter().flat_map(|lane| [Some(lane.name.clone()), lane.note()]).flatten();
    let widest = names.map(|name| name.chars().count()).max().unwrap_or(0);
    let left = (widest as f64 * 6.6 + 16.0).clamp(80.0, 230.0);
    let x = |seconds: f64| left + axis.place(seconds.max(LEAST_S)) * PLOT;
    let base = TOP + lanes.iter().map(height).sum::<f64>();

    let mut out = open(
        "loss",
        "How old the oldest loss was, for each power cut and rule",
        "A dot for each cut that took an acknowledged transaction; the table has the largest.",
        left + PLOT + RIGHT,
        base + 40.0,
    );
    for tick in &axis.ticks {
        line(&mut out, "grid", (x(*tick), TOP), (x(*tick), base));
        text(&mut out, "tick middle", x(*tick), base + 16.0, &words::seconds(*tick));
    }
    text(
        &mut out,
        "axis-title",
        left,
        base + 34.0,
        "acknowledged so long before the cut, and lost",
    );
    let mut top = TOP;
    for lane in lanes {
        draw(&mut out, lane, (left, top), &x);
        top += height(lane);
        line(&mut out, "grid", (0.0, top), (left + PLOT, top));
    }
    line(&mut out, "base", (left, TOP), (left, base));
    Some(out + "</svg>")
}

fn height(lane: &LossLane) -> f64 {
    RULE * lane.rules.len().max(2) as f64 + BETWEEN
}

/// One lane, whose top is at `at`.
fn draw(out: &mut String, lane: &LossLane, (left, top): (f64, f64), x: &dyn Fn(f64) -> f64) {
    let middle = top + height(lane) / 2.0;
    let note = lane.note();
    let up = if note.is_some() { 7.0 } else { 0.0 };
    text(out, "name end", left - 8.0, middle + 4.0 - up, &shortened(&lane.name, 32));
    if let Some(note) = note {
        text(out, "tick end", left - 8.0, middle + 4.0 + up, &note);
    }
    let end = lane.limit.window_s.map_or(left + PLOT, x);
    if lane.limit.window_s.is_some() {
        line(out, "window", (end, top + 1.0), (end, top + height(lane) - 1.0));
    }
    let most = lane.limit.most_lost.map(|most| words::many(most as usize, "commit"));
    let limits: Vec<String> =
        lane.limit.window_s.map(words::seconds).into_iter().chain(most).collect();
    if !limits.is_empty() {
        let label = format!("{} allowed", limits.join(", "));
        text(out, "tick start", end + 6.0, middle + 4.0, &label);
    }
    if lane.rules.iter().all(|(_, dots)| dots.is_empty()) {
        text(out, "start", left + 8.0, middle + 4.0, lane.empty);
    }
    for (number, (rule, dots)) in lane.rules.iter().enumerate() {
        let y = top + BETWEEN / 2.0 + RULE * (number as f64 + 0.5);
        for (age, bad) in dots {
            // Another shape, too: a colour alone does not reach everybody.
            let (class, shape) = if *bad { ("loss bad", 3) } else { ("loss", 0) };
            let title = escape(&format!("{rule}: {}", words::seconds(*age)));
            let _ = write!(
                out,
                "<g class=\"{class}\"><title>{title}</title>{}</g>",
                marker(shape, x(*age), y)
            );
        }
    }
}
