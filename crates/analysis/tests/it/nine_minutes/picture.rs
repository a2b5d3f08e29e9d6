//! The page's picture: all trials over time, from the run folder.
//!
//! Where the run folder is another one, `BAKEOFF_SNAPSHOTS=write` draws it anew.

use std::fmt::Write;

use super::{RAN_S, Watched, folder, pairs};

const WIDTH: f64 = 600.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 588.0;
/// How high a panel is, from the top of its title to the next one's.
const PANEL: f64 = 186.0;
const PLOT: f64 = 120.0;
const FIRST: f64 = 44.0;

/// Colours as in the report's pages. An own background: who shows the picture may be dark where the reader's
/// system is light.
const STYLE: &str = "
svg { --paper: #fffdf8; --ink: #22262b; --soft: #5b626b; --rule: #d9d5ca; --c0: #1f5fa8; --c1: #c2501a; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #16181c; --ink: #e6e4de; --soft: #a2a6ad; --rule: #3a3d44; --c0: #6aa5e8; --c1: #ee8a55; }
}
text { font: 13px system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif; fill: var(--soft); }
.title { fill: var(--ink); font-weight: 600; font-size: 14px; }
.paper { fill: var(--paper); }
.rule { stroke: var(--rule); stroke-width: 1; }
polyline { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
.c0 { stroke: var(--c0); } .c1 { stroke: var(--c1); }
.n0 { fill: var(--c0); font-weight: 600; } .n1 { fill: var(--c1); font-weight: 600; }
.aside { stroke-dasharray: 5 4; stroke-width: 1.2; stroke-opacity: 0.75; }
";

/// A trial's points: seconds, and a value.
type Points = Vec<(f64, f64)>;

/// One plot of the picture.
struct Panel {
    title: &'static str,
    most: f64,
    ticks: [(f64, &'static str); 3],
    /// Of which engines: 0 is InnoDB, 1 is MyRocks.
    engines: &'static [usize],
    points: fn(Watched) -> Points,
}

const PANELS: [Panel; 4] = [
    Panel {
        title: "Operations a second, means of 10 s",
        most: 90.0,
        ticks: [(0.0, "0"), (40.0, "40"), (80.0, "80")],
        engines: &[0, 1],
        points: rate,
    },
    Panel {
        title: "Operations done so far",
        most: 15_000.0,
        ticks: [(0.0, "0"), (7_000.0, "7,000"), (14_000.0, "14,000")],
        engines: &[0, 1],
        points: done,
    },
    Panel {
        title: "InnoDB: redo log in use, % of what it may hold",
        most: 100.0,
        ticks: [(0.0, "0"), (50.0, "50"), (100.0, "100")],
        engines: &[0],
        points: log,
    },
    Panel {
        title: "MyRocks: level 0, waiting for compaction, MB",
        most: 80.0,
        ticks: [(0.0, "0"), (40.0, "40"), (80.0, "80")],
        engines: &[1],
        points: level_0,
    },
];

fn rate(of: Watched) -> Points {
    let ends = (1..=54).map(|piece| f64::from(piece) * 10.0);
    ends.map(|end| (end - 5.0, of.per_second(end - 10.0, end))).collect()
}

fn done(of: Watched) -> Points {
    let moments = (1..=54).map(|piece| f64::from(piece) * 10.0);
    let done = moments.map(|end| (end, of.per_second(0.0, end) * end));
    std::iter::once((0.0, 0.0)).chain(done).collect()
}

fn log(of: Watched) -> Points {
    of.percentage("checkpoint age").into_iter().step_by(4).collect()
}

/// Looks at which it changed, and the looks before these: it goes up in steps.
fn level_0(of: Watched) -> Points {
    let points = &of.owed("level 0").points;
    let mut kept = vec![points[0]];
    for pair in points.windows(2) {
        if pair[0].1 != pair[1].1 {
            kept.extend(pair);
        }
    }
    kept.extend(points.last());
    kept.into_iter().map(|(at, bytes)| (at.min(RAN_S), bytes as f64 / 1e6)).collect()
}

fn x(at_s: f64) -> f64 {
    LEFT + (RIGHT - LEFT) * at_s / RAN_S
}

impl Panel {
    fn draw(&self, out: &mut String, top: f64, trials: &[(usize, bool, Watched)]) {
        let bottom = top + 24.0 + PLOT;
        let y = |value: f64| bottom - PLOT * value / self.most;
        writeln!(out, "<text class=\"title\" x=\"12\" y=\"{}\">{}</text>", top + 12.0, self.title)
            .unwrap();
        for (value, text) in self.ticks {
            let at = y(value);
            writeln!(
                out,
                "<line class=\"rule\" x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{RIGHT}\" y2=\"{at:.1}\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                LEFT - 6.0,
                at + 4.5
            )
            .unwrap();
        }
        for minute in 0..=9 {
            let (at, text) = (x(f64::from(minute) * 60.0), bottom + 17.0);
            let unit = if minute == 9 { " min" } else { "" };
            let anchor = if minute == 9 { "end" } else { "middle" };
            let at = if minute == 9 { at + 10.0 } else { at };
            writeln!(
                out,
                "<text x=\"{at:.1}\" y=\"{text:.1}\" text-anchor=\"{anchor}\">{minute}{unit}</text>"
            )
            .unwrap();
        }
        for &(engine, valid, trial) in trials {
            if self.engines.contains(&engine) {
                let points = (self.points)(trial).into_iter().filter(|(at, _)| *at <= RAN_S);
                let points = points.map(|(at, value)| format!("{:.1},{:.1}", x(at), y(value)));
                let aside = if valid { "" } else { " aside" };
                let points = points.collect::<Vec<_>>().join(" ");
                writeln!(out, "<polyline class=\"c{engine}{aside}\" points=\"{points}\"/>")
                    .unwrap();
            }
        }
    }
}

fn picture() -> String {
    let of = |valid: bool| {
        let pairs = pairs(valid).into_iter().flat_map(|pair| pair.into_iter().enumerate());
        pairs.map(move |(engine, trial)| (engine, valid, trial))
    };
    let trials: Vec<_> = of(false).chain(of(true)).collect();
    let height = FIRST + PANEL * PANELS.len() as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
         <title>InnoDB and MyRocks over nine minutes</title>\n\
         <desc>Operations a second, operations done, InnoDB's redo log and level 0 of MyRocks over time, in \
         {} trials. The page's tables have the figures.</desc>\n<style>{STYLE}</style>\n\
         <rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>\n\
         <text x=\"12\" y=\"24\"><tspan class=\"n0\">InnoDB</tspan> and <tspan class=\"n1\">MyRocks</tspan>: \
         a line a trial; dashed: the pair that was set aside</text>\n",
        trials.len()
    );
    for (number, panel) in PANELS.iter().enumerate() {
        panel.draw(&mut out, FIRST + PANEL * number as f64, &trials);
    }
    out + "</svg>\n"
}

#[test]
fn the_picture_is_of_the_run() {
    let path = folder().join("over-time.svg");
    let found = picture();
    if std::env::var_os("BAKEOFF_SNAPSHOTS").is_some_and(|value| value == "write") {
        std::fs::write(&path, &found).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == found, "{} differs; if that is meant: BAKEOFF_SNAPSHOTS=write", path.display());
}
