//! Operations: their times, the faster level, and by how much.

mod pairs;

use bakeoff_analysis::layout::MeritAmount;
use bakeoff_analysis::layout::{ConditionLevels, DocumentLayout};
use bakeoff_analysis::{ALL_OPERATIONS, Comparison, Contrast};
use bakeoff_results::{FigureOfMerit, OperationSummary};

use crate::amount::AmountText;
use crate::block::{
    ColumnKind, ReportBlock, ReportCell, ReportColumn, ReportRow, ReportTable, TableStyle, Tone,
};
use crate::cell_tables;
use crate::figures::{NONE, latency_or_more};
use crate::verdict;
use crate::words;

const COLUMNS: [(&str, ColumnKind); 13] = [
    ("mean", ColumnKind::Main),
    ("ratio", ColumnKind::Main),
    ("95 % interval", ColumnKind::Number),
    ("verdict", ColumnKind::Verdict),
    ("ratio, engine alone", ColumnKind::Number),
    // Beside a rate.
    ("mean time", ColumnKind::Number),
    ("per second", ColumnKind::Number),
    ("p50", ColumnKind::Number),
    ("p95", ColumnKind::Number),
    ("p99", ColumnKind::Number),
    ("service mean", ColumnKind::Number),
    ("service p99", ColumnKind::Number),
    ("trials", ColumnKind::Number),
];

const NOT_OF_IT: &str = "not done here";

const NOT_COUNTED: &str = "not counted";

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let blocks = |name: &str| {
        let pairs = pairs::build_table(layout, name).map(ReportBlock::Table);
        [ReportBlock::Heading(name.into()), ReportBlock::Table(build_table(layout, name))]
            .into_iter()
            .chain(pairs)
    };
    layout.operations().flat_map(blocks).collect()
}

/// Time, where only some conditions are compared by a rate; `None` where nothing is compared.
fn find_merit(layout: &DocumentLayout<'_>, operation: &str) -> Option<FigureOfMerit> {
    let any = layout.conditions.iter().find_map(|condition| layout.merit(operation, condition))?;
    Some(match operation {
        ALL_OPERATIONS => any,
        _ => layout.only_merit(operation).unwrap_or(FigureOfMerit::Time),
    })
}

fn build_table<'a>(layout: &DocumentLayout<'a>, operation: &'a str) -> ReportTable {
    let mut columns = cell_tables::name_columns(layout);
    columns.extend(COLUMNS.map(|(name, kind)| ReportColumn::new(kind, name)));
    if let Some(name) = find_heading(layout, operation) {
        columns[layout.varying.len() + 1].name = name.into();
    }
    let mut rows = Vec::new();
    for condition in list_conditions(layout, operation) {
        for (number, level) in layout.levels.iter().enumerate() {
            let marks = cell_tables::mark_cell(layout, condition, level);
            let cells = format_cells(layout, operation, condition, level).into_iter();
            let cells = cells.zip(COLUMNS).map(|(text, (_, kind))| match kind {
                ColumnKind::Verdict => ReportCell::verdict(text),
                _ => text.into(),
            });
            rows.push(cell_tables::build_row(layout, condition, level, number > 0, marks, cells));
        }
    }
    let table = ReportTable {
        caption: format!("{operation}: every cell").into(),
        look: TableStyle::Figures,
        columns,
        rows,
        note: held_back(layout, operation),
        compact: Some(Box::new(build_compact(layout, operation))),
    };
    let (name, charted) = (layout.varying.len(), layout.charted_levels());
    table.without_empty_columns(|row| charted.contains(&row.cells[name].text.as_str()))
}

fn find_heading(layout: &DocumentLayout<'_>, operation: &str) -> Option<&'static str> {
    match find_merit(layout, operation) {
        Some(merit) if merit.is_rate() => Some(merit.in_words()),
        _ if layout.is_open() && layout.only_merit(operation).is_some() => Some("mean response"),
        _ if layout.is_open() => Some("compared"),
        _ => None,
    }
}

/// A rate of all operations is no figure where it is given.
fn list_conditions<'b, 'a>(
    layout: &'b DocumentLayout<'a>,
    operation: &'b str,
) -> impl Iterator<Item = &'b ConditionLevels<'a>> {
    let has = move |condition: &&ConditionLevels<'a>| {
        operation != ALL_OPERATIONS || layout.merit(operation, condition).is_some()
    };
    layout.conditions.iter().filter(has)
}

fn format_cells<'a>(
    layout: &DocumentLayout<'a>,
    operation: &'a str,
    condition: &ConditionLevels<'a>,
    level: &'a str,
) -> [String; COLUMNS.len()] {
    let figures = layout.figures(operation, condition, level);
    let comparison = layout.against_baseline(operation, condition, level);
    let comparison = comparison.filter(|_| !layout.is_harness(level));
    let amount = layout.amount(operation, condition, level);
    let rate = amount.filter(|amount| amount.merit.is_rate());
    let cut_off = figures.is_some_and(|figures| figures.unfinished > 0);
    let quantile =
        |of: fn(&OperationSummary) -> Option<f64>| latency_or_more(figures.and_then(of), cut_off);
    // A rate of a single kind of operation is not shown twice.
    let is_told = rate.is_some_and(|rate| {
        matches!(rate.merit, FigureOfMerit::Operations | FigureOfMerit::Requests)
    });
    [
        amount.map_or(NONE.into(), |it| it.in_column()),
        comparison.map_or(NONE.into(), format_ratio),
        comparison.map_or(NONE.into(), format_interval),
        describe_standing(layout, (operation, condition, level), amount, comparison),
        comparison
            .and_then(|it| engine_only(it, rate.is_some()))
            .map_or(NONE.into(), words::format_ratio),
        rate.map_or(NONE.into(), |_| quantile(|f| f.mean_s)),
        figures.filter(|_| !is_told).map_or(NONE.into(), |f| {
            let at_most = if f.unfinished > 0 { words::UNDER } else { "" };
            format!("{at_most}{}", words::format_digits(f.per_second))
        }),
        quantile(|f| f.p50_s),
        quantile(|f| f.p95_s),
        quantile(|f| f.p99_s),
        quantile(|f| f.service_mean_s),
        quantile(|f| f.service_p99_s),
        layout.cell(condition, level).map_or(0, |cell| cell.trials).to_string(),
    ]
}

/// The ratio without the harness's time. Of a rate, above 1 is faster.
fn engine_only(comparison: &Comparison, by_rate: bool) -> Option<f64> {
    let slower = comparison.engine_only_ratio?;
    Some(if by_rate { 1.0 / slower } else { slower })
}

fn describe_standing<'a>(
    layout: &DocumentLayout<'a>,
    (operation, condition, level): (&str, &ConditionLevels<'a>, &'a str),
    amount: Option<MeritAmount>,
    comparison: Option<&Comparison>,
) -> String {
    let figures = layout.figures(operation, condition, level);
    if let Some(comparison) = comparison.filter(|it| it.is_held_back()) {
        return verdict::mark_verdict(comparison.verdict);
    }
    let word = match (amount, comparison) {
        (None, _) if layout.cell(condition, level).is_none() => "no trial",
        (None, _) if figures.is_none() && operation != ALL_OPERATIONS => NOT_OF_IT,
        (None, _) if is_uncounted(layout, operation, condition, level) => NOT_COUNTED,
        (None, _) => "no operation",
        _ if layout.is_harness(level) => "harness",
        (Some(_), Some(comparison)) if comparison.blocks == 0 => "no pair",
        (Some(_), Some(comparison)) => comparison.verdict.word(),
        // Nothing is compared by these figures.
        _ if layout.merit(operation, condition).is_none() => "",
        _ if level == layout.document.run.run.baseline && layout.levels.len() > 1 => "baseline",
        _ => "",
    };
    word.to_owned()
}

/// Explains the mark of a held-back verdict, where a row has it.
fn held_back(layout: &DocumentLayout<'_>, operation: &str) -> Option<String> {
    let rows = layout.conditions.iter().flat_map(|condition| {
        let of = |level: &&str| layout.against_baseline(operation, condition, level);
        layout.levels.iter().filter(|level| !layout.is_harness(level)).filter_map(of)
    });
    let over = rows.filter(|it| it.is_held_back()).map(|it| it.adjusted_over).max()?;
    Some(verdict::explain_mark(Some(over)))
}

/// Levels are compared by a rate, and a cell with operations has none.
fn is_uncounted<'a>(
    layout: &DocumentLayout<'a>,
    operation: &str,
    condition: &ConditionLevels<'a>,
    level: &'a str,
) -> bool {
    let by_rate = layout.merit(operation, condition).is_some_and(FigureOfMerit::is_rate);
    let cell = layout.cell(condition, level).filter(|_| by_rate);
    cell.is_some_and(|cell| cell.operations.iter().any(|it| it.mean_s.is_some()))
}

/// "2.10", "≥ 31.0".
pub(super) fn format_ratio(comparison: &Comparison) -> String {
    Contrast::from_shown_comparison(comparison)
        .map_or(NONE.into(), |it| words::ratio_or_bound(it.ratio, it.is))
}

/// "1.90 to 2.40", "from 28.0", or that it is wide.
pub(super) fn format_interval(comparison: &Comparison) -> String {
    let contrast = Contrast::from_shown_comparison(comparison);
    let text = contrast.and_then(|it| words::format_ends(it.ends, it.is, it.blocks));
    text.unwrap_or_else(|| NONE.into())
}

fn build_compact<'a>(layout: &DocumentLayout<'a>, operation: &'a str) -> ReportTable {
    let charted = layout.charted_levels();
    let condition = ReportColumn::from_factors(&layout.varying);
    let levels = charted.iter().map(|level| ReportColumn::new(ColumnKind::Number, *level));
    let row = |condition: &ConditionLevels<'a>| {
        let cells = charted.iter().map(|level| compact_cell(layout, operation, condition, level));
        ReportRow::from_cells(condition.iter().map(|level| (*level).into()).chain(cells))
    };
    let baseline = &layout.document.run.run.baseline;
    let compared = find_merit(layout, operation);
    let rate = compared.filter(|merit| merit.is_rate());
    let metric = rate.map_or(words::name_metric(layout), FigureOfMerit::in_words);
    let shown = match layout.levels.len() {
        0 | 1 => metric.to_owned(),
        _ if compared.is_none() => metric.to_owned(),
        _ => {
            let whose = if rate.is_some() { "their" } else { "its" };
            format!("{metric}, and {whose} ratio to {baseline}’s (95 % interval)")
        }
    };
    let service = if layout.is_open() { "; below, mean service time" } else { "" };
    ReportTable {
        caption: format!("{shown}{service}").into(),
        columns: condition.chain(levels).collect(),
        rows: list_conditions(layout, operation).map(row).collect(),
        note: compact_note(layout, operation),
        ..ReportTable::default()
    }
}

fn compact_note(layout: &DocumentLayout<'_>, operation: &str) -> Option<String> {
    let notes = [describe_harness(layout, operation), held_back(layout, operation)];
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

fn describe_harness(layout: &DocumentLayout<'_>, operation: &str) -> Option<String> {
    let line = |level: &&str| {
        let amounts = layout.conditions.iter();
        let amounts = amounts.filter_map(|condition| layout.amount(operation, condition, level));
        let is_slower = |one: &MeritAmount, than: &MeritAmount| match one.merit.is_rate() {
            true => one.value < than.value,
            false => one.value > than.value,
        };
        let slowest = amounts.reduce(|a, b| if is_slower(&b, &a) { b } else { a })?;
        let end = if slowest.merit.is_rate() { "least" } else { "most" };
        Some(format!("{level}, the harness alone: at {end} {}", slowest.text()))
    };
    let lines: Vec<String> = layout.hidden().iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}

/// Mean and verdict, and below them ratio and interval.
fn compact_cell<'a>(
    layout: &DocumentLayout<'a>,
    operation: &'a str,
    condition: &ConditionLevels<'a>,
    level: &'a str,
) -> ReportCell {
    let figures = layout.figures(operation, condition, level);
    let comparison = layout.against_baseline(operation, condition, level);
    let amount = layout.amount(operation, condition, level);
    let standing = describe_standing(layout, (operation, condition, level), amount, comparison);
    let Some(amount) = amount else { return ReportCell::verdict(standing) };
    let tone = Tone::from_word(&standing);
    let cut_off = figures.is_some_and(|f| f.unfinished > 0);
    let mean = amount.text();
    let text = match comparison.filter(|comparison| comparison.ratio.is_some()) {
        Some(comparison) => format!("{mean} {standing}\n{}", format_standing(comparison)),
        None if standing.is_empty() => mean,
        None => format!("{mean}\n{standing}"),
    };
    let service = figures.and_then(|f| f.service_mean_s);
    let service = service.map(|mean| format!("{} service", words::seconds_or_more(mean, cut_off)));
    // Readers of a disk's figures ask for both its rate and its time.
    let other = figures.filter(|_| !layout.has_engines() || amount.merit.is_rate());
    let other = other.and_then(|f| match amount.merit.is_rate() {
        true => Some(format!("{} each", words::seconds_or_more(f.mean_s?, cut_off))),
        false => Some(format!("{}/s", words::format_digits(f.per_second))),
    });
    let marks = cell_tables::mark_cell(layout, condition, level);
    let wrong = marks.iter().map(|mark| mark.text.to_owned());
    let lines: Vec<String> =
        [text].into_iter().chain(service).chain(other).chain(wrong.clone()).collect();
    let words = wrong.map(|text| (text, Tone::Bad));
    ReportCell { words: words.chain([(standing, tone)]).collect(), ..lines.join("\n").into() }
}

/// "0.47 (0.42–0.53)", "≥ 31.0 (from 28.0)".
fn format_standing(comparison: &Comparison) -> String {
    let ratio = format_ratio(comparison);
    match format_interval(comparison) {
        none if none == NONE => ratio,
        bound if bound.starts_with("up to ") => format!("{ratio} ({bound})"),
        interval => format!("{ratio} ({})", interval.replace(" to ", "–")),
    }
}
