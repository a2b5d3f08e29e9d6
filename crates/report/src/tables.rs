//! The tables that more than one format shows, as text that is ready to be set.

use bakeoff_analysis::{Comparison, Document};
use bakeoff_results::{CutPlan, Machine, OperationSummary, Run, Status};
use serde::Serialize;

use crate::figures::{Column, Figures, Mark, NONE, Row, keep, latency_or_more, said};
use crate::layout::{self, Layout, Setting};
use crate::offered;
use crate::verdict::{self, Contrast};
use crate::words;

/// What is wrong with a cell as a whole, whatever is measured of it: that power cuts have broken its
/// promise, and that it did not keep up with the rate that was offered.
pub fn marks<'a>(layout: &Layout<'a>, setting: &Setting<'a>, level: &'a str) -> Vec<Mark> {
    let broken = layout.broken(setting, level).map(|text| Mark { text, section: "promises" });
    let behind = layout.cell(setting, level).is_some_and(offered::is_behind);
    let behind = behind.then_some(Mark { text: offered::BEHIND, section: "offered" });
    [broken, behind].into_iter().flatten().collect()
}

/// Where a setting is, in words, for a heading.
pub fn spot(layout: &Layout<'_>, setting: &Setting<'_>) -> String {
    match layout.place(setting) {
        none if none.is_empty() => "a trial".into(),
        place => place.trim_start_matches(" with ").into(),
    }
}

/// The columns that a cell can have.
const COLUMNS: [(&str, &str); 12] = [
    ("mean", "n strong"),
    ("ratio", "n strong"),
    ("95 % interval", "n"),
    ("verdict", "v"),
    ("ratio, engine alone", "n"),
    ("per second", "n"),
    ("p50", "n"),
    ("p95", "n"),
    ("p99", "n"),
    ("service mean", "n"),
    ("service p99", "n"),
    ("trials", "n"),
];

/// A row for each setting and level of an operation.
pub fn operation<'a>(layout: &Layout<'a>, operation: &'a str) -> Figures {
    let mut columns: Vec<Column> =
        COLUMNS.map(|(name, class)| Column { name: name.into(), class }).into();
    if layout.is_open() {
        columns[0].name = "mean response".into();
    }
    let mut rows = Vec::new();
    for setting in &layout.settings {
        for (series, level) in layout.levels.iter().enumerate() {
            rows.push(Row {
                setting: setting.iter().map(|l| (*l).into()).collect(),
                place: layout.place(setting).trim_start_matches(" with ").into(),
                first: series == 0,
                level: (*level).into(),
                series,
                marks: marks(layout, setting, level),
                cells: cells(layout, operation, setting, level).into(),
            });
        }
    }
    let mut figures = Figures { columns, rows };
    let charted = layout.charted();
    let said_of = figures.rows.iter().filter(|row| charted.contains(&row.level.as_str()));
    let kept = said(figures.columns.len(), said_of.map(|row| &row.cells));
    keep(&mut figures.columns, &kept);
    figures.rows.iter_mut().for_each(|row| keep(&mut row.cells, &kept));
    figures
}

/// A text for each of [`COLUMNS`].
fn cells<'a>(
    layout: &Layout<'a>,
    operation: &'a str,
    setting: &Setting<'a>,
    level: &'a str,
) -> [String; COLUMNS.len()] {
    let figures = layout.figures(operation, setting, level);
    let comparison = layout.against_baseline(operation, setting, level);
    let comparison = comparison.filter(|_| !layout.is_harness(level));
    let cut_off = figures.is_some_and(|figures| figures.unfinished > 0);
    let quantile =
        |of: fn(&OperationSummary) -> Option<f64>| latency_or_more(figures.and_then(of), cut_off);
    [
        quantile(|f| f.mean_s),
        comparison.map_or(NONE.into(), ratio),
        comparison.map_or(NONE.into(), interval),
        standing(layout, level, figures, comparison).into(),
        comparison.and_then(|it| it.engine_only_ratio).map_or(NONE.into(), words::ratio),
        figures.map_or(NONE.into(), |f| {
            let at_most = if f.unfinished > 0 { "< " } else { "" };
            format!("{at_most}{}", words::digits(f.per_second))
        }),
        quantile(|f| f.p50_s),
        quantile(|f| f.p95_s),
        quantile(|f| f.p99_s),
        quantile(|f| f.service_mean_s),
        quantile(|f| f.service_p99_s),
        layout.cell(setting, level).map_or(0, |cell| cell.trials).to_string(),
    ]
}

/// What is said of a level beside its figures.
pub fn standing(
    layout: &Layout<'_>,
    level: &str,
    figures: Option<&OperationSummary>,
    comparison: Option<&Comparison>,
) -> &'static str {
    match (figures, comparison) {
        (None, _) => "no trial",
        (Some(figures), _) if figures.mean_s.is_none() => "no operation",
        _ if layout.is_harness(level) => "harness",
        (Some(_), Some(comparison)) if comparison.blocks == 0 => "no pair",
        (Some(_), Some(comparison)) => comparison.verdict.word(),
        _ if level == layout.document.run.run.baseline && layout.levels.len() > 1 => "baseline",
        _ => "",
    }
}

/// "2.10", "≥ 31.0", or that there is none.
pub fn ratio(comparison: &Comparison) -> String {
    Contrast::of(comparison).map_or(NONE.into(), |it| words::ratio_or_bound(it.ratio, it.is))
}

/// "1.90 to 2.40", "from 28.0", that it is wide, or that there is none.
pub fn interval(comparison: &Comparison) -> String {
    let contrast = Contrast::of(comparison);
    let text = contrast.and_then(|it| words::ends(it.ends, it.is, it.blocks));
    text.unwrap_or_else(|| NONE.into())
}

/// What a level takes on disk over all cells that share the other levels.
#[derive(Serialize)]
pub struct Space {
    /// The levels of the factors that vary, load (clients and neighbours) aside.
    pub setting: Vec<String>,
    /// The compared factor's level.
    pub level: String,
    /// Its place among the levels.
    pub series: usize,
    /// Median, least and most bytes over the cells.
    #[serde(skip)]
    pub bytes: (u64, u64, u64),
    /// The median as text; so the next two.
    pub median: String,
    /// The least.
    pub least: String,
    /// The most.
    pub most: String,
}

/// Space on disk after the drain, a row for each level and each combination of the factors that
/// are not load.
pub fn space(layout: &Layout<'_>) -> Vec<Space> {
    let mut rows = Vec::new();
    for panel in panels(layout) {
        for (series, level) in layout.levels.iter().enumerate() {
            let mut bytes: Vec<u64> = panel
                .settings
                .iter()
                .filter_map(|setting| layout.cell(setting, level)?.space_bytes)
                .collect();
            bytes.sort_unstable();
            let (Some(least), Some(most)) = (bytes.first(), bytes.last()) else { continue };
            let median = bytes[(bytes.len() - 1) / 2];
            rows.push(Space {
                setting: panel.levels.iter().map(|l| (*l).into()).collect(),
                level: (*level).into(),
                series,
                bytes: (median, *least, *most),
                median: words::bytes(median),
                least: words::bytes(*least),
                most: words::bytes(*most),
            });
        }
    }
    rows
}

/// The factors that are load: a chart has a group of bars for each combination of their
/// levels.
pub const LOAD: [&str; 4] = ["clients", "neighbours", "rate", "depth"];

/// The settings that share all levels but the load's: what one chart shows.
pub struct Panel<'a> {
    /// The levels that they share, of the factors that [`panel_factors`] names.
    pub levels: Vec<&'a str>,
    /// The settings, in order.
    pub settings: Vec<Setting<'a>>,
}

/// The factors that vary and are no load: there is a chart for each combination of their levels.
pub fn panel_factors<'a>(layout: &Layout<'a>) -> Vec<&'a str> {
    layout.varying.iter().copied().filter(|factor| !LOAD.contains(factor)).collect()
}

/// The settings, chart by chart.
pub fn panels<'a>(layout: &Layout<'a>) -> Vec<Panel<'a>> {
    let mut panels: Vec<Panel> = Vec::new();
    for setting in &layout.settings {
        let levels: Vec<&str> = layout
            .varying
            .iter()
            .zip(setting)
            .filter(|(factor, _)| !LOAD.contains(factor))
            .map(|(_, level)| *level)
            .collect();
        match panels.iter_mut().find(|panel| panel.levels == levels) {
            Some(panel) => panel.settings.push(setting.clone()),
            None => panels.push(Panel { levels, settings: vec![setting.clone()] }),
        }
    }
    panels
}

/// The run in a few facts: what a reader must know before believing a figure.
pub fn key_facts(document: &Document) -> Vec<(&'static str, String)> {
    let run = &document.run.run;
    let ended = layout::ended(document);
    let trials = match document.run.status {
        Status::Finished if ended == run.planned as usize => words::count(ended as u64),
        _ => {
            let planned = words::count(run.planned.into());
            format!("{} of {planned} planned", words::count(ended as u64))
        }
    };
    let trials = format!(
        "{trials}, each {}, in {}",
        words::span(run.seconds),
        words::many(run.repetitions as usize, "repetition")
    );
    let mut facts = vec![("machine", machine(&run.machine)), ("date", words::date(run.started_s))];
    let fixed = fixed(run);
    if !fixed.is_empty() {
        facts.push(("all else equal", fixed.join(", ")));
    }
    if layout::is_timed(document) {
        facts.extend([("trials", trials), ("noise floor", noise(document))]);
    }
    facts.extend(run.cuts.as_ref().map(|plan| ("power cuts", cuts(document, plan))));
    facts
}

/// The levels of the factors that were given one alone, and that nothing was compared by.
fn fixed(run: &Run) -> Vec<String> {
    let factors = run.factors.iter().filter(|(name, _)| *name != run.compare);
    let fixed = factors.filter_map(|(name, levels)| match levels.as_slice() {
        [level] => Some(words::level(name, level)),
        _ => None,
    });
    fixed.collect()
}

/// How many power cuts were made.
fn cuts(document: &Document, plan: &CutPlan) -> String {
    let made = document.cuts.iter().filter(|cut| cut.failed.is_none()).count();
    let made_text = words::count(made as u64);
    match made as u64 == u64::from(plan.planned) {
        true => made_text,
        false => format!("{made_text} of {} planned", words::count(plan.planned.into())),
    }
}

/// The machine in a line; what isn't known of it is left out.
fn machine(machine: &Machine) -> String {
    let mut parts = vec![machine.processor.clone()];
    parts.push(words::many(machine.processors as usize, "processor"));
    if machine.memory_bytes > 0 {
        parts.push(format!("{} memory", words::bytes(machine.memory_bytes)));
    }
    parts.push(machine.file_system.clone());
    parts.retain(|part| !part.is_empty());
    parts.join(", ")
}

/// What the run can't resolve, in words.
pub fn noise(document: &Document) -> String {
    match verdict::typical_noise(document) {
        _ if document.noise.is_empty() => "not measured".into(),
        Some(share) if share < words::USEFUL => words::percent(share),
        _ => "not measured (too few repetitions)".into(),
    }
}

/// What the neighbours did in each cell that had any: the setting, and a figure a level.
pub fn neighbours(layout: &Layout<'_>) -> Vec<(Vec<String>, Vec<String>)> {
    let mut rows = Vec::new();
    for setting in &layout.settings {
        let rates: Vec<Option<f64>> = layout
            .levels
            .iter()
            .map(|level| Some(layout.cell(setting, level)?.neighbour_per_second))
            .collect();
        if rates.iter().flatten().any(|rate| *rate > 0.0) {
            let texts = rates.iter().map(|rate| rate.map_or(NONE.into(), words::digits)).collect();
            rows.push((setting.iter().map(|l| (*l).into()).collect(), texts));
        }
    }
    rows
}
