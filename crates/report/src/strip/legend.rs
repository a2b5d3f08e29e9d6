//! Explains the marks of strips.

use serde::Serialize;

use crate::chart::draw_marker;

#[derive(Clone, Debug, Serialize)]
pub struct LegendKey {
    pub svg: String,
    /// Unicode and ASCII; `None` where a terminal does not draw it.
    #[serde(skip)]
    pub signs: Option<(&'static str, &'static str)>,
    pub text: &'static str,
}

pub struct Means {
    pub bars: bool,
    pub trials: bool,
    pub beyond: bool,
    pub origin: bool,
}

impl Means {
    pub fn legend(&self) -> Vec<LegendKey> {
        let mean =
            LegendKey { svg: draw_icon(44, &mark_at(22.0, "mark")), signs: None, text: "mean" };
        let bar = draw_bar("mean; the bar: where it lies, 19 times in 20, by its own trials alone");
        let mut legend = vec![if self.bars { bar } else { mean }];
        legend.extend(self.beyond.then(open_end));
        if self.trials {
            let dots = [14.0, 22.0, 27.0]
                .map(|x| format!("<circle class=\"trial\" cx=\"{x}\" cy=\"7\" r=\"2.2\"/>"));
            legend.push(LegendKey {
                svg: draw_icon(44, &dots.concat()),
                signs: None,
                text: "single trials",
            });
        }
        if self.origin {
            let way = [
                line_of("price", (6.0, 38.0), (7.0, 7.0)),
                mark_at(6.0, "hollow"),
                mark_at(38.0, "mark"),
            ];
            legend.push(LegendKey {
                svg: draw_icon(44, &way.concat()),
                signs: Some(("○┄●", "o..*")),
                text: "hollow mark: the same engine with less promised; 2×: keeping the promise takes twice as long",
            });
        }
        legend
    }
}

pub fn legend_of_ratios(beyond: bool) -> Vec<LegendKey> {
    let ratio = draw_bar("ratio; the bar: its 95 % interval, from pairs of trials");
    [ratio].into_iter().chain(beyond.then(open_end)).collect()
}

pub fn legend_of_tails() -> Vec<LegendKey> {
    let marks = [
        line_of("price", (6.0, 30.0), (7.0, 7.0)),
        line_of("ci", (30.0, 58.0), (7.0, 7.0)),
        line_of("ci", (58.0, 58.0), (1.0, 13.0)),
        mark_at(6.0, "hollow"),
        mark_at(30.0, "mark"),
    ];
    vec![LegendKey {
        svg: draw_icon(64, &marks.concat()),
        signs: Some(("○┄┄●──", "o..*--")),
        text: "hollow: half of the operations took no longer (p50); filled: 99 in 100 took no longer (p99); the end of \
               the bar: the longest. Where few operations lie beyond the p99, the filled mark is the longest",
    }]
}

pub fn legend_of_rates() -> Vec<LegendKey> {
    let marks = [
        line_of("price", (12.0, 58.0), (7.0, 7.0)),
        line_of("ci", (6.0, 20.0), (7.0, 7.0)),
        line_of("ci", (20.0, 20.0), (1.0, 13.0)),
        mark_at(58.0, "hollow"),
        mark_at(6.0, "mark"),
    ];
    vec![LegendKey {
        svg: draw_icon(64, &marks.concat()),
        signs: Some(("●─┄┄○", "*-..o")),
        text: "filled: the highest rate that kept the limit each time; the bar goes to the lowest that broke it; \
               hollow at the other end of the dotted line: what a closed loop reached",
    }]
}

fn draw_bar(text: &'static str) -> LegendKey {
    let drawn = [
        line_of("ci", (4.0, 40.0), (7.0, 7.0)),
        line_of("ci", (4.0, 4.0), (1.0, 13.0)),
        line_of("ci", (40.0, 40.0), (1.0, 13.0)),
        mark_at(22.0, "mark"),
    ];
    LegendKey { svg: draw_icon(44, &drawn.concat()), signs: Some(("─●─", "-*-")), text }
}

fn open_end() -> LegendKey {
    let drawn = [
        line_of("ci", (4.0, 40.0), (7.0, 7.0)),
        line_of("ci", (4.0, 4.0), (1.0, 13.0)),
        line_of("ci", (40.0, 33.0), (7.0, 2.5)),
        line_of("ci", (40.0, 33.0), (7.0, 11.5)),
        mark_at(22.0, "mark"),
    ];
    let text = "arrow: the interval goes on beyond the scale";
    LegendKey { svg: draw_icon(44, &drawn.concat()), signs: Some(("─●→", "-*>")), text }
}

fn draw_icon(width: u32, inner: &str) -> String {
    format!(
        "<svg class=\"strip ink\" width=\"{width}\" height=\"14\" aria-hidden=\"true\">{inner}</svg>"
    )
}

fn mark_at(x: f64, class: &str) -> String {
    format!("<g class=\"{class}\">{}</g>", draw_marker(0, x, 7.0))
}

fn line_of(class: &str, (x1, x2): (f64, f64), (y1, y2): (f64, f64)) -> String {
    format!("<line class=\"{class}\" x1=\"{x1}\" x2=\"{x2}\" y1=\"{y1}\" y2=\"{y2}\"/>")
}
