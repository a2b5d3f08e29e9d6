//! Every trial as a mark, in the order in which they ran: a slope would be a machine that drifts.

use bakeoff_analysis::layout::{DocumentLayout, level_or_empty};
use bakeoff_results::{CellLevels, FigureOfMerit, OwnFactor, TrialSummary};

use crate::amount;
use crate::block::{Charts, ReportCell, SvgChart};
use crate::chart::{draw_mark, draw_segment, draw_text, find_style, open_svg};
use crate::scale::LogScale;

const LEFT: f64 = 66.0;
const PLOT: f64 = 560.0;
const TOP: f64 = 8.0;
const HEIGHT: f64 = 170.0;
/// More marks can't be told apart.
const MOST: usize = 400;
const OPERATIONS: usize = 4;

pub fn build_charts(layout: &DocumentLayout<'_>) -> Option<Charts> {
    let trials: Vec<&TrialSummary> =
        layout.document.trials.iter().filter(|trial| trial.valid).collect();
    if !(4..=MOST).contains(&trials.len()) {
        return None;
    }
    let operations = layout.document.run.run.operations.iter().take(OPERATIONS).enumerate();
    let charts = operations.filter_map(|(number, name)| build_chart(layout, &trials, number, name));
    let charts: Vec<SvgChart> = charts.collect();
    let hollow = trials.iter().any(|trial| is_hollow(layout, trial));
    let hollow = if hollow { "; hollow: where less is promised" } else { "" };
    let explained = format!(
        "Mean time of each trial, in the order in which they ran: a slope would be a machine that \
         drifts{hollow}."
    );
    let sign = |level: &str| ReportCell { style: Some(find_style(layout, level)), ..level.into() };
    let legend = layout.levels.iter().map(|level| sign(level)).collect();
    (!charts.is_empty()).then(|| Charts { explained: explained.into(), legend, charts })
}

/// Less is promised than in the trials that promise most.
fn is_hollow(layout: &DocumentLayout<'_>, trial: &TrialSummary) -> bool {
    let levels = layout.document.run.run.levels_of(OwnFactor::Durability.as_str());
    let most = levels.iter().map(|it| bakeoff_analysis::rank_durability(it)).min();
    let own = trial.levels.level(OwnFactor::Durability).filter(|it| !it.is_empty());
    most.zip(own).is_some_and(|(most, own)| bakeoff_analysis::rank_durability(own) > most)
}

fn build_chart(
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
    let mut out = open_svg(
        &format!("trials{number}"),
        &format!("{name}: the mean of each trial"),
        "The table below has every figure.",
        LEFT + PLOT + 12.0,
        TOP + HEIGHT + 8.0,
    );
    for tick in &scale.ticks {
        draw_segment(&mut out, "grid", (LEFT - 6.0, y(*tick)), (LEFT + PLOT + 6.0, y(*tick)));
        let label = amount::format_tick(FigureOfMerit::Time, *tick);
        draw_text(&mut out, "tick end", LEFT - 10.0, y(*tick) + 4.0, &label);
    }
    for (at, trial, mean) in found {
        let level = level_or_empty(&trial.levels, layout.compare);
        let level = layout.document.run.run.resolve_alias(layout.compare, level).unwrap_or(level);
        let style = find_style(layout, level);
        let class = if is_hollow(layout, trial) { "hollow" } else { "mark" };
        let place = (LEFT + at as f64 / last * PLOT, y(mean));
        draw_mark(&mut out, &format!("{class} c{style}"), style, place, "");
    }
    Some(SvgChart { caption: name.to_owned(), svg: out + "</svg>" })
}
