//! The operations: how long each took, who was faster, and by how much.

mod bars;

use bakeoff_analysis::{Comparison, Document};
use bakeoff_results::OperationSummary;

use crate::block::{Block, Cell, Charts, Column, Kind, Look, Row, Table, Tone, Words};
use crate::cell_rows;
use crate::figures::{NONE, latency_or_more};
use crate::layout::{Condition, Layout};
use crate::section::Section;
use crate::verdict::Contrast;
use crate::words;

/// Every operation under a heading of its own.
pub struct Operations;

/// The columns that a cell can have.
const COLUMNS: [(&str, Kind); 12] = [
    ("mean", Kind::Main),
    ("ratio", Kind::Main),
    ("95 % interval", Kind::Number),
    ("verdict", Kind::Verdict),
    ("ratio, engine alone", Kind::Number),
    ("per second", Kind::Number),
    ("p50", Kind::Number),
    ("p95", Kind::Number),
    ("p99", Kind::Number),
    ("service mean", Kind::Number),
    ("service p99", Kind::Number),
    ("trials", Kind::Number),
];

/// What is said where the clients of a cell never do the operation.
const NOT_OF_IT: &str = "not done here";

impl Section for Operations {
    fn name(&self) -> &str {
        "operations"
    }

    fn blocks(&self, layout: &Layout<'_>) -> Vec<Block> {
        let blocks = |(number, name): (usize, &str)| {
            let charts = bars::charts(layout, number, name);
            let legend = layout.charted().into_iter().map(|level| sign(layout, level));
            let explained = explained(layout, name, charts.len());
            let charts = Charts { explained, legend: legend.collect(), charts };
            [Block::Heading(name.into()), Block::Charts(charts), Block::Table(table(layout, name))]
        };
        layout.operations().enumerate().flat_map(blocks).collect()
    }
}

fn sign(layout: &Layout<'_>, level: &str) -> Cell {
    Cell { style: Some(layout.style(level)), ..level.into() }
}

/// How the charts of an operation are read.
fn explained(layout: &Layout<'_>, operation: &str, charts: usize) -> Words {
    let mut text = format!(
        "Bars: {}, the typical (geometric) mean of the trials; shorter is better.",
        layout.metric()
    );
    if layout.levels.len() > 1 {
        text += &format!(
            " Above them: time as a multiple of {}’s, with its 95 % interval; below 1 is faster.",
            layout.document.run.run.baseline
        );
    }
    if is_cut_off(layout.document, operation) {
        text += bars::OPEN;
    }
    if charts > 1 {
        text += " Each chart has its own scale.";
    }
    let hidden = layout.hidden();
    if hidden.is_empty() {
        return text.into();
    }
    Words::from(text + " ")
        .stressed(words::list(&hidden))
        .marked(" stores nothing: it measures the harness, and is in the table only.")
}

/// Whether an operation was still running anywhere when its trial was cut off.
fn is_cut_off(document: &Document, operation: &str) -> bool {
    let all = document.cells.iter().flat_map(|cell| &cell.operations);
    all.filter(|it| it.name == operation).any(|it| it.unfinished > 0)
}

/// A row for each condition and level.
fn table<'a>(layout: &Layout<'a>, operation: &'a str) -> Table {
    let mut columns = cell_rows::names(layout);
    columns.extend(COLUMNS.map(|(name, kind)| Column::new(kind, name)));
    if layout.is_open() {
        columns[layout.varying.len() + 1].name = "mean response".into();
    }
    let mut rows = Vec::new();
    for condition in &layout.conditions {
        for (number, level) in layout.levels.iter().enumerate() {
            let marks = cell_rows::marks(layout, condition, level);
            let cells = cells(layout, operation, condition, level).into_iter();
            let cells = cells.zip(COLUMNS).map(|(text, (_, kind))| match kind {
                Kind::Verdict => Cell::verdict(text),
                _ => text.into(),
            });
            rows.push(cell_rows::row(layout, condition, level, number > 0, marks, cells));
        }
    }
    let table = Table {
        caption: format!("{operation}: every cell").into(),
        look: Look::Figures,
        columns,
        rows,
        note: None,
        compact: Some(Box::new(compact(layout, operation))),
    };
    let (name, charted) = (layout.varying.len(), layout.charted());
    table.without_empty_columns(|row| charted.contains(&row.cells[name].text.as_str()))
}

/// A text for each of [`COLUMNS`].
fn cells<'a>(
    layout: &Layout<'a>,
    operation: &'a str,
    condition: &Condition<'a>,
    level: &'a str,
) -> [String; COLUMNS.len()] {
    let figures = layout.figures(operation, condition, level);
    let comparison = layout.against_baseline(operation, condition, level);
    let comparison = comparison.filter(|_| !layout.is_harness(level));
    let cut_off = figures.is_some_and(|figures| figures.unfinished > 0);
    let quantile =
        |of: fn(&OperationSummary) -> Option<f64>| latency_or_more(figures.and_then(of), cut_off);
    [
        quantile(|f| f.mean_s),
        comparison.map_or(NONE.into(), ratio),
        comparison.map_or(NONE.into(), interval),
        standing(layout, condition, level, figures, comparison).into(),
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
        layout.cell(condition, level).map_or(0, |cell| cell.trials).to_string(),
    ]
}

/// What is said of a level beside its figures.
fn standing<'a>(
    layout: &Layout<'a>,
    condition: &Condition<'a>,
    level: &'a str,
    figures: Option<&OperationSummary>,
    comparison: Option<&Comparison>,
) -> &'static str {
    match (figures, comparison) {
        (None, _) if layout.cell(condition, level).is_some() => NOT_OF_IT,
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
fn ratio(comparison: &Comparison) -> String {
    Contrast::of(comparison).map_or(NONE.into(), |it| words::ratio_or_bound(it.ratio, it.is))
}

/// "1.90 to 2.40", "from 28.0", that it is wide, or that there is none.
fn interval(comparison: &Comparison) -> String {
    let contrast = Contrast::of(comparison);
    let text = contrast.and_then(|it| words::ends(it.ends, it.is, it.blocks));
    text.unwrap_or_else(|| NONE.into())
}

/// A row for each condition and a column for each level.
fn compact<'a>(layout: &Layout<'a>, operation: &'a str) -> Table {
    let charted = layout.charted();
    let condition = layout.varying.iter().map(|factor| Column::new(Kind::Condition, *factor));
    let levels = charted.iter().map(|level| Column::new(Kind::Number, *level));
    let row = |condition: &Condition<'a>| {
        let cells = charted.iter().map(|level| compact_cell(layout, operation, condition, level));
        Row::of(condition.iter().map(|level| (*level).into()).chain(cells))
    };
    let baseline = &layout.document.run.run.baseline;
    let metric = layout.metric();
    let shown = match layout.levels.len() {
        0 | 1 => metric.to_owned(),
        _ => format!("{metric}, and its ratio to {baseline}’s (95 % interval)"),
    };
    let service = if layout.is_open() { "; below, mean service time" } else { "" };
    Table {
        caption: format!("{shown}{service}").into(),
        columns: condition.chain(levels).collect(),
        rows: layout.conditions.iter().map(row).collect(),
        note: harness(layout, operation),
        ..Table::default()
    }
}

/// What an operation takes where nothing is done, in a line.
fn harness(layout: &Layout<'_>, operation: &str) -> Option<String> {
    let line = |level: &&str| {
        let mean = |condition| layout.figures(operation, condition, level)?.mean_s;
        let most = layout.conditions.iter().filter_map(mean).reduce(f64::max)?;
        Some(format!("{level}, the harness alone: at most {}", words::seconds(most)))
    };
    let lines: Vec<String> = layout.hidden().iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}

/// The mean and the verdict, and below them the ratio and its interval.
fn compact_cell<'a>(
    layout: &Layout<'a>,
    operation: &'a str,
    condition: &Condition<'a>,
    level: &'a str,
) -> Cell {
    let figures = layout.figures(operation, condition, level);
    let comparison = layout.against_baseline(operation, condition, level);
    let standing = standing(layout, condition, level, figures, comparison);
    let Some(mean) = figures.and_then(|f| f.mean_s) else { return Cell::verdict(standing) };
    let cut_off = figures.is_some_and(|f| f.unfinished > 0);
    let mean = words::seconds_or_more(mean, cut_off);
    let text = match comparison.filter(|comparison| comparison.ratio.is_some()) {
        Some(comparison) => format!("{mean} {standing}\n{}", against(comparison)),
        None if standing.is_empty() => mean,
        None => format!("{mean}\n{standing}"),
    };
    let service = figures.and_then(|f| f.service_mean_s);
    let service = service.map(|mean| format!("{} service", words::seconds_or_more(mean, cut_off)));
    // Of a disk people ask how much it serves.
    let rate = figures.filter(|_| !layout.has_engines());
    let rate = rate.map(|f| format!("{}/s", words::digits(f.per_second)));
    let marks = cell_rows::marks(layout, condition, level);
    let wrong = marks.iter().map(|mark| mark.text.to_owned());
    let lines: Vec<String> =
        [text].into_iter().chain(service).chain(rate).chain(wrong.clone()).collect();
    let words = wrong.map(|text| (text, Tone::Bad));
    Cell {
        words: words.chain([(standing.to_owned(), Tone::of(standing))]).collect(),
        ..lines.join("\n").into()
    }
}

/// "0.47 (0.42–0.53)", "≥ 31.0 (from 28.0)".
fn against(comparison: &Comparison) -> String {
    let ratio = ratio(comparison);
    match interval(comparison) {
        none if none == NONE => ratio,
        bound if bound.starts_with("up to ") => format!("{ratio} ({bound})"),
        interval => format!("{ratio} ({})", interval.replace(" to ", "–")),
    }
}
