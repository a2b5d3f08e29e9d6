//! The page's picture: all trials over time.

use super::{Pair, RAN_S, Watched, pairs};

const LEFT: f64 = 62.0;
const RIGHT: f64 = 588.0;
/// How high a panel is, from the top of its title to the next one's, and its plot.
const PANEL: f64 = 186.0;
const PLOT: f64 = 120.0;
const FIRST: f64 = 44.0;

/// What stands before the panels. Colours as in the report's pages; an own background, since who shows the picture
/// may be dark where the reader's system is light.
const HEAD: &str = include_str!("head.svg");

/// One plot of the picture: its title, the most that it shows, the step of its lines, whose it is (0 is InnoDB, 1 is
/// MyRocks), and the points of a trial: seconds, and a value.
type Panel = (&'static str, f64, u32, &'static [usize], fn(Watched) -> Vec<(f64, f64)>);

const PANELS: [Panel; 4] = [
    ("Operations a second, means of 10 s", 90.0, 40, &[0, 1], |it| {
        let ends = (1..=54).map(|piece| f64::from(piece) * 10.0);
        ends.map(|end| (end - 5.0, it.per_second(end - 10.0, end))).collect()
    }),
    ("Operations done so far", 15_000.0, 7_000, &[0, 1], |it| {
        let ends = (1..=54).map(|piece| f64::from(piece) * 10.0);
        let done = ends.map(|end| (end, it.per_second(0.0, end) * end));
        std::iter::once((0.0, 0.0)).chain(done).collect()
    }),
    ("InnoDB: redo log in use, % of what it may hold", 100.0, 50, &[0], |it| {
        it.percentage("checkpoint age").into_iter().step_by(4).collect()
    }),
    ("MyRocks: level 0, waiting for compaction, MB", 80.0, 40, &[1], |it| {
        // Looks at which it changed, and the looks before these: it goes up in steps.
        let points = &it.owed("level 0").points;
        let mut kept = vec![points[0]];
        let changes = points.windows(2).filter(|pair| pair[0].1 != pair[1].1);
        changes.for_each(|pair| kept.extend(pair));
        kept.extend(points.last());
        kept.into_iter().map(|(at, bytes)| (at.min(RAN_S), bytes as f64 / 1e6)).collect()
    }),
];

fn x(at_s: f64) -> f64 {
    LEFT + (RIGHT - LEFT) * at_s / RAN_S
}

fn draw_panel(top: f64, panel: &Panel, trials: &[(usize, bool, Watched)]) -> String {
    let (title, most, step, engines, points) = panel;
    let bottom = top + 24.0 + PLOT;
    let y = |value: f64| bottom - PLOT * value / most;
    let mut out = format!("<text class=\"title\" x=\"12\" y=\"{}\">{title}</text>\n", top + 12.0);
    for value in [0, *step, 2 * step] {
        let at = y(f64::from(value));
        let (label, text) = (LEFT - 6.0, at + 4.5);
        let value = match value {
            1000.. => format!("{},{:03}", value / 1000, value % 1000),
            _ => value.to_string(),
        };
        out += &format!(
            "<line class=\"rule\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{RIGHT}\" y2=\"{at:.1}\"/>\
             <text x=\"{label}\" y=\"{text:.1}\" text-anchor=\"end\">{value}</text>\n"
        );
    }
    for minute in 0..=9 {
        let (at, text) = (x(f64::from(minute) * 60.0), bottom + 17.0);
        let (at, anchor, unit) =
            if minute == 9 { (at + 10.0, "end", " min") } else { (at, "middle", "") };
        out += &format!(
            "<text x=\"{at:.1}\" y=\"{text:.1}\" text-anchor=\"{anchor}\">{minute}{unit}</text>\n"
        );
    }
    for (engine, valid, trial) in trials.iter().filter(|(engine, ..)| engines.contains(engine)) {
        let points = points(*trial).into_iter().filter(|(at, _)| *at <= RAN_S);
        let points = points.map(|(at, value)| format!("{:.1},{:.1}", x(at), y(value)));
        let (aside, points) = (if *valid { "" } else { " aside" }, points.collect::<Vec<_>>());
        let points = points.join(" ");
        out += &format!("<polyline class=\"c{engine}{aside}\" points=\"{points}\"/>\n");
    }
    out
}

pub fn draw() -> String {
    let trials_of = |valid: bool| {
        let each = pairs(valid).into_iter().flat_map(|pair: Pair| pair.into_iter().enumerate());
        each.map(move |(engine, trial)| (engine, valid, trial))
    };
    let trials: Vec<_> = trials_of(false).chain(trials_of(true)).collect();
    let panels = PANELS.iter().enumerate();
    let panels = panels.map(|(at, panel)| draw_panel(FIRST + PANEL * at as f64, panel, &trials));
    HEAD.to_owned() + &panels.collect::<String>() + "</svg>\n"
}
