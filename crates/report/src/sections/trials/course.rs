//! Every trial as a mark, in the order in which they ran: a slope would be a machine that drifts.

use bakeoff_results::{FigureOfMerit, TrialSummary};

use crate::amount;
use crate::block::{Charts, ReportCell, SvgChart};
use crate::chart::{line, marker, open, text};
use crate::durability;
use crate::layout::{DocumentLayout, get};
use crate::scale::LogScale;

const LEFT: f64 = 66.0;
const PLOT: f64 = 560.0;
const TOP: f64 = 8.0;
const HEIGHT: f64 = 170.0;
/// Of more trials a mark each is no picture.
const MOST: usize = 400;
/// So many operations have room.
const OPERATIONS: usize = 4;

/// A chart for each operation; `None` where there are too few or too many trials for one.
pub fn charts(layout: &DocumentLayout<'_>) -> Option<Charts> {
    let trials: Vec<&TrialSummary> =
        layout.document.trials.iter().filter(|trial| trial.valid).collect();
    if !(4..=MOST).contains(&trials.len()) {
        return None;
    }
    let operations = layout.document.run.run.operations.iter().take(OPERATIONS).enumerate();
    let charts = operations.filter_map(|(number, name)| chart(layout, &trials, number, name));
    let charts: Vec<SvgChart> = charts.collect();
    let hollow = trials.iter().any(|trial| is_hollow(layout, trial));
    let hollow = if hollow { "; hollow: where less is promised" } else { "" };
    let explained = format!(
        "Mean time of each trial, in the order in which they ran: a slope would be a machine that \
         drifts{hollow}."
    );
    let sign = |level: &str| ReportCell { style: Some(layout.style(level)), ..level.into() };
    let legend = layout.levels.iter().map(|level| sign(level)).collect();
    (!charts.is_empty()).then(|| Charts { explained: explained.into(), legend, charts })
}

/// Whether less is promised in a trial than in those that promise the most.
fn is_hollow(layout: &DocumentLayout<'_>, trial: &TrialSummary) -> bool {
    let factors = &layout.document.run.run.factors;
    let levels = factors.iter().find(|(factor, _)| factor == durability::FACTOR);
    let ranks = levels.into_iter().flat_map(|(_, all)| all).map(|it| durability::rank(it));
    let own = get(&trial.levels, durability::FACTOR);
    !own.is_empty() && ranks.min().is_some_and(|most| durability::rank(own) > most)
}

fn chart(
    layout: &DocumentLayout<'_>,
    trials: &[&TrialSummary],
    number: usize,
    name: &str,
) -> Option<SvgChart> {
    let figure = |trial: &TrialSummary| {
        let found = trial.operations.iter().find(|it| it.name == name)?;
        found.mean_s.filter(|mean| *mean > 0.0 && mean.is_finite())
    };
    let found: Vec<(usize, &TrialSummary, f64)> = trials
        .iter()
        .enumerate()
        .filter_map(|(at, trial)| Some((at, *trial, figure(trial)?)))
        .collect();
    if found.is_empty() {
        return None;
    }
    let scale = LogScale::of_height(found.iter().map(|(.., mean)| *mean), HEIGHT);
    let y = |value: f64| TOP + (1.0 - scale.place(value)) * HEIGHT;
    let last = (trials.len() - 1).max(1) as f64;
    let mut out = open(
        &format!("trials{number}"),
        &format!("{name}: the mean of each trial"),
        "The table below has every figure.",
        LEFT + PLOT + 12.0,
        TOP + HEIGHT + 8.0,
    );
    for tick in &scale.ticks {
        line(&mut out, "grid", (LEFT - 6.0, y(*tick)), (LEFT + PLOT + 6.0, y(*tick)));
        let label = amount::tick(FigureOfMerit::Time, *tick);
        text(&mut out, "tick end", LEFT - 10.0, y(*tick) + 4.0, &label);
    }
    for (at, trial, mean) in found {
        let level = get(&trial.levels, layout.compare);
        let level = layout.document.run.run.alias(layout.compare, level).unwrap_or(level);
        let style = layout.style(level);
        let class = if is_hollow(layout, trial) { "hollow" } else { "mark" };
        let mark = marker(style, LEFT + at as f64 / last * PLOT, y(mean));
        out += &format!("<g class=\"{class} c{style}\">{mark}</g>");
    }
    Some(SvgChart { caption: name.to_owned(), svg: out + "</svg>" })
}
