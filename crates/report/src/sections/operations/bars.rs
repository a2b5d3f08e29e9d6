//! The charts of an operation: its mean time, or a rate of all of them, and above it the ratio to the
//! baseline's.

use bakeoff_analysis::ALL_OPERATIONS;
use bakeoff_results::FigureOfMerit;

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

/// The same of a rate.
pub const CLOSED: &str = " Where a bar has an arrow that points down, it is lower than that: operations \
                          were still running when the trial was cut off.";

/// What the levels are compared by in all of an operation's charts: the time of each where some
/// conditions have a rate and others are given one. `None` where nothing is compared.
pub fn merit(layout: &Layout<'_>, operation: &str) -> Option<FigureOfMerit> {
    let merit = |condition| layout.merit(operation, condition);
    let any = layout.conditions.iter().find_map(merit)?;
    Some(match operation {
        ALL_OPERATIONS => any,
        _ => layout.only_merit(operation).unwrap_or(FigureOfMerit::Time),
    })
}

fn grouped<'a>(
    layout: &Layout<'a>,
    operation: &'a str,
    panel: &Panel<'a>,
    id: String,
    caption: &str,
) -> Grouped {
    let levels = layout.charted();
    let compared = merit(layout, operation);
    let merit = compared.unwrap_or(FigureOfMerit::Time);
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
                .map(|level| bar(layout, (operation, merit), condition, level))
                .collect(),
        })
        .collect();
    let of = if caption.is_empty() { String::new() } else { format!(", {caption}") };
    let mut bars = groups.iter().flat_map(|group| &group.bars);
    let open = if merit.is_rate() { CLOSED } else { OPEN };
    let open = if bars.any(|bar| bar.cut_off) { open } else { "" };
    let metric = if merit.is_rate() { merit.words() } else { layout.metric() };
    let ratio = match compared {
        Some(_) => format!("above, the ratio to {}. ", layout.document.run.run.baseline),
        None => String::new(),
    };
    Grouped {
        id,
        title: format!("{} of {operation}{of}", words::capital(metric)),
        description: format!(
            "A bar for each of {}; {ratio}The table below has every figure.{open}",
            words::list(&levels),
        ),
        factors: layout.varying.iter().copied().filter(is_load).map(str::to_owned).collect(),
        series: levels.iter().map(|level| ((*level).into(), layout.style(level))).collect(),
        groups,
        baseline: layout.document.run.run.baseline.clone(),
        metric,
        merit,
    }
}

/// A bar of a figure of merit; of times where that is what the chart shows.
fn bar<'a>(
    layout: &Layout<'a>,
    (operation, merit): (&'a str, FigureOfMerit),
    condition: &Condition<'a>,
    level: &'a str,
) -> Bar {
    let figures = layout.figures(operation, condition, level);
    let same = layout.merit(operation, condition) == Some(merit);
    let amount = layout.amount(operation, condition, level).filter(|it| it.merit == merit);
    Bar {
        amount: match amount {
            None if !merit.is_rate() => figures.and_then(|figures| figures.mean_s),
            amount => amount.map(|amount| amount.value),
        },
        cut_off: amount.map_or(figures.is_some_and(|it| it.unfinished > 0), |it| it.is_bound),
        ratio: ratio(layout, operation, condition, level).filter(|_| same),
    }
}

fn ratio<'a>(
    layout: &Layout<'a>,
    operation: &'a str,
    condition: &Condition<'a>,
    level: &str,
) -> Option<Ratio> {
    let contrast = Contrast::shown(layout.against_baseline(operation, condition, level)?)?;
    Some(Ratio { ratio: contrast.ratio, is: contrast.is, ends: contrast.ends })
}
