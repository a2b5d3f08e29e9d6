//! The highest rate that keeps a limit in each search, beside the rate of a closed loop.

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{LimitOutcome, LimitView};
use bakeoff_results::FigureOfMerit;
use bakeoff_results::limit::ResponseTimeLimit;

use crate::block::{Strip, StripGroup, StripHead, StripRow, Strips};
use crate::searches;
use crate::strip::{self, StripAxis, StripContent};
use crate::words;

/// The first screen shows at most this many searches.
const ROWS: usize = 24;
const HEIGHT: f64 = 33.0;

pub fn build_strips(layout: &DocumentLayout<'_>, limit: ResponseTimeLimit) -> Option<Strips> {
    let mut views: Vec<&LimitView> = layout.document.limits.iter().collect();
    let all = views.len();
    let rate = |view: &LimitView| view.keeps_per_second.unwrap_or_default();
    views.sort_by(|one, other| rate(other).total_cmp(&rate(one)));
    views.truncate(ROWS);
    views.first().and_then(|view| view.keeps_per_second)?;
    let marks = views.iter().flat_map(|it| [it.keeps_per_second, it.closed_per_second]);
    let marks: Vec<f64> = marks.flatten().collect();
    let breaks: Vec<f64> = views.iter().filter_map(|it| it.breaks_per_second).collect();
    let axis = StripAxis::of_amounts(FigureOfMerit::Operations, &marks, &breaks);
    let head = StripHead {
        name: format!("highest rate with {limit}"),
        unit: "operations a second, log scale".into(),
        axis: axis.svg(),
    };
    let places = searches::distinguishing_factors(layout);
    let row = |view: &&LimitView| {
        let place = searches::describe_place(&places, view);
        let name = if place.is_empty() { "all operations".to_owned() } else { place };
        let drawn = draw_search(&axis, &name, view);
        let strips = vec![Strip::from_content(drawn, &axis, HEIGHT)];
        StripRow { name: name.into(), strips, cells: Vec::new(), against: Vec::new() }
    };
    let rows = views.iter().map(row).collect();
    let group = StripGroup { id: None, title: String::new(), tool: String::new(), rows };
    let note = format!("{ROWS} of {all} searches are in this chart, and all in the table below.");
    Some(Strips {
        more: None,
        caption: format!("The highest rate of each search that keeps {limit}"),
        names: "search".into(),
        heads: vec![head],
        columns: Vec::new(),
        groups: vec![group],
        legend: strip::legend_of_rates(),
        terms: Vec::new(),
        notes: (all > ROWS).then_some(note).into_iter().collect(),
    })
}

/// The bar goes to the lowest rate that broke the limit.
fn draw_search(axis: &StripAxis, name: &str, view: &LimitView) -> StripContent {
    let Some(keeps) = view.keeps_per_second else {
        let label = "no rate is known that keeps it".to_owned();
        return StripContent { said: format!("{name}: {label}"), label, ..StripContent::default() };
    };
    let doubt = match view.outcome {
        LimitOutcome::Found => "",
        LimitOutcome::NotConfirmed => ", not confirmed",
        LimitOutcome::NotKnown => ", not known",
        LimitOutcome::NotOver | LimitOutcome::NotBegun => ", not over",
        LimitOutcome::NoRate | LimitOutcome::NoStart => ", none found",
    };
    let label = format!("{}/s{doubt}", words::format_digits(keeps));
    let above = view.breaks_per_second.filter(|breaks| *breaks >= keeps);
    StripContent {
        at: Some(axis.place(keeps)),
        hollow: !doubt.is_empty(),
        interval: above.map(|breaks| axis.interval((keeps, breaks))),
        from: view.closed_per_second.map(|reached| (axis.place(reached), None)),
        said: format!("{name}: {label}"),
        label,
        beside: true,
        ..StripContent::default()
    }
}
