//! All cells at a glance: a small coloured table for each measure.

use bakeoff_analysis::layout::MeritAmount;
use bakeoff_analysis::layout::{ConditionLevels, DocumentLayout};
use bakeoff_analysis::{CellView, estimate_interval};

use crate::amount::AmountText;
use crate::block::{Heat, HeatCell, HeatRow, Heats, ReportBlock, ReportCell, StyledText};
use crate::chart::find_style;
use crate::words;

/// More rows are no overview.
const ROWS: usize = 40;
pub const DARKEST: u32 = 8;

const COLOURS: &str = "The stronger the colour, the worse: a step for each factor of √2 from the best of \
     its table. *Ringed*: the best of its row.";
const ENDS: &str = "*From – to*: where the mean of the cell lies, 19 times in 20, by the spread of its own trials. No \
     verdict goes by that: it goes by pairs of trials of the same block, so that two cells can be undecided though \
     their own intervals lie apart, and decided though these meet.";

type CostFigure = (&'static str, fn(&CellView) -> Option<f64>, fn(f64) -> String);

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let rows = layout.conditions.len();
    // One row says no more than the first chart.
    if !(2..=ROWS).contains(&rows) {
        return Vec::new();
    }
    let operations = layout.operations().filter_map(|operation| operation_map(layout, operation));
    let costs: [CostFigure; 2] = [
        ("disk space", |it| it.space_bytes.map(|bytes| bytes as f64), words::mean_bytes),
        (
            "processor time, an operation",
            |it| it.cost.as_ref()?.engine_cpu_per_operation_s,
            words::format_seconds,
        ),
    ];
    let costs = costs.into_iter().filter_map(|(caption, of, text)| {
        build_map(layout, caption, |condition, level| {
            let value = of(layout.cell(condition, level)?)?;
            let counts = layout.keeps_promise(condition, level);
            Some(MapFigure { text: text(value), cost: value, ends: None, counts })
        })
    });
    let maps: Vec<Heat> = operations.chain(costs).collect();
    if maps.is_empty() {
        return Vec::new();
    }
    let mut cells = maps.iter().flat_map(|map| &map.rows).flat_map(|row| &row.cells).flatten();
    let has_ends = cells.any(|cell| cell.ends.is_some());
    let ends = has_ends.then(|| ReportBlock::Lead(StyledText::default().marked(ENDS)));
    let heats = Heats { colours: StyledText::default().marked(COLOURS), maps, has_links: false };
    ends.into_iter().chain([ReportBlock::Heats(heats)]).collect()
}

fn operation_map<'a>(layout: &DocumentLayout<'a>, operation: &'a str) -> Option<Heat> {
    layout.conditions.iter().find_map(|condition| layout.merit(operation, condition))?;
    build_map(layout, operation, |condition, level| {
        layout.merit(operation, condition)?;
        let amount = layout.amount(operation, condition, level)?;
        let cost = if amount.merit.is_rate() { 1.0 / amount.value } else { amount.value };
        let own = estimate_interval(&layout.trial_figures(operation, condition, level));
        let ends = own.filter(|_| !amount.is_bound).map(|(low, high)| {
            let [low, high] = [low, high].map(|value| MeritAmount { value, ..amount }.text());
            format!("{low} – {high}")
        });
        let counts = layout.keeps_promise(condition, level);
        Some(MapFigure { text: amount.text(), cost, ends, counts })
    })
}

struct MapFigure {
    text: String,
    cost: f64,
    ends: Option<String>,
    counts: bool,
}

fn build_map<'a>(
    layout: &DocumentLayout<'a>,
    caption: &str,
    of: impl Fn(&ConditionLevels<'a>, &'a str) -> Option<MapFigure>,
) -> Option<Heat> {
    let levels = layout.charted_levels();
    let figure = |condition: &ConditionLevels<'a>, level: &&'a str| {
        of(condition, level).filter(|it| it.cost > 0.0 && it.cost.is_finite())
    };
    let found: Vec<Vec<Option<MapFigure>>> = layout
        .conditions
        .iter()
        .map(|condition| levels.iter().map(|level| figure(condition, level)).collect())
        .collect();
    let all = || found.iter().flatten().flatten();
    let counting = all().filter(|it| it.counts).map(|it| it.cost).reduce(f64::min);
    let best = counting.or_else(|| all().map(|it| it.cost).reduce(f64::min))?;
    let row = |(condition, cells): (&ConditionLevels<'a>, Vec<Option<MapFigure>>)| {
        let costs = cells.iter().flatten().filter(|it| it.counts).map(|it| it.cost);
        let least = costs.reduce(f64::min).unwrap_or(best);
        let rivals = cells.iter().flatten().count() > 1;
        let cell = |MapFigure { text, cost, ends, counts }: MapFigure| {
            let times = cost / best;
            HeatCell {
                text,
                times: match () {
                    () if !counts => "promise broken".into(),
                    () if times > 1.005 => format!("{}×", words::format_two(times)),
                    () => "best".into(),
                },
                ends,
                shade: shade_ratio(times),
                best: rivals && counts && cost <= least,
                open: false,
            }
        };
        let cells = cells.into_iter().map(|found| found.map(cell)).collect();
        HeatRow { name: name_place(layout, condition), link: None, cells }
    };
    let rows = layout.conditions.iter().zip(found).map(row).collect();
    let columns = levels
        .iter()
        .map(|level| ReportCell { style: Some(find_style(layout, level)), ..(*level).into() });
    Some(Heat { caption: caption.to_owned(), columns: columns.collect(), rows })
}

/// From 0 for the best to [`DARKEST`].
pub fn shade_ratio(times: f64) -> u32 {
    ((2.0 * times.max(1.0).log2()).round() as u32).min(DARKEST)
}

pub fn name_place(layout: &DocumentLayout<'_>, condition: &ConditionLevels<'_>) -> String {
    let levels = layout
        .varying
        .iter()
        .zip(condition)
        .map(|(factor, level)| words::phrase_level(factor, level));
    levels.collect::<Vec<_>>().join(", ")
}
