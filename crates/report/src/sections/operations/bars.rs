//! The charts of an operation: its mean time, and above it the ratio to the baseline's.

use crate::block::Chart;
use crate::chart::{Bar, Group, Grouped, Ratio};
use crate::layout::{Condition, Layout};
use crate::panels::{self, Panel};
use crate::verdict::Contrast;
use crate::words;

/// A chart for each combination of the factors that are no load.
pub fn charts<'a>(layout: &Layout<'a>, number: usize, operation: &'a str) -> Vec<Chart> {
    panels::panels(layout)
        .iter()
        .enumerate()
        .map(|(panel_number, panel)| {
            let caption = panels::caption(layout, panel);
            let id = format!("o{number}c{panel_number}");
            let chart = grouped(layout, operation, panel, id, &caption);
            Chart { caption, svg: chart.svg() }
        })
        .collect()
}

/// What a bar with an open end is.
pub const OPEN: &str = " Where a bar ends in an arrow, it is longer than that: operations were still \
                    running when the trial was cut off.";

fn grouped<'a>(
    layout: &Layout<'a>,
    operation: &'a str,
    panel: &Panel<'a>,
    id: String,
    caption: &str,
) -> Grouped {
    let levels = layout.charted();
    let is_load = |factor: &&str| panels::LOAD.contains(factor);
    let groups: Vec<Group> = panel
        .conditions
        .iter()
        .map(|condition| Group {
            labels: layout
                .varying
                .iter()
                .zip(condition)
                .filter(|(factor, _)| is_load(factor))
                .map(|(_, level)| (*level).into())
                .collect(),
            bars: levels
                .iter()
                .map(|level| Bar {
                    seconds: layout.figures(operation, condition, level).and_then(|f| f.mean_s),
                    cut_off: layout
                        .figures(operation, condition, level)
                        .is_some_and(|f| f.unfinished > 0),
                    ratio: ratio(layout, operation, condition, level),
                })
                .collect(),
        })
        .collect();
    let of = if caption.is_empty() { String::new() } else { format!(", {caption}") };
    let mut bars = groups.iter().flat_map(|group| &group.bars);
    let open = if bars.any(|bar| bar.cut_off) { OPEN } else { "" };
    Grouped {
        id,
        title: format!("{} of {operation}{of}", words::capital(layout.metric())),
        description: format!(
            "A bar for each of {}; above, the ratio to {}. The table below has every figure.{open}",
            words::list(&levels),
            layout.document.run.run.baseline
        ),
        factors: layout.varying.iter().copied().filter(is_load).map(str::to_owned).collect(),
        series: levels.iter().map(|level| ((*level).into(), layout.style(level))).collect(),
        groups,
        baseline: layout.document.run.run.baseline.clone(),
        metric: layout.metric(),
    }
}

fn ratio<'a>(
    layout: &Layout<'a>,
    operation: &'a str,
    condition: &Condition<'a>,
    level: &str,
) -> Option<Ratio> {
    let contrast = Contrast::of(layout.against_baseline(operation, condition, level)?)?;
    Some(Ratio { ratio: contrast.ratio, is: contrast.is, ends: contrast.ends })
}
