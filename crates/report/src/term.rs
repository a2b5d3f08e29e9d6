//! The run in a terminal: a table an operation, and the verdict last, where the eye is.

mod promises;

use bakeoff_analysis::{Comparison, Document};
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle, presets};

use crate::Options;
use crate::costs;
use crate::debts;
use crate::durability;
use crate::figures::{self, Figures};
use crate::layout::{Layout, Setting};
use crate::offered::{self, BEHIND};
use crate::promises::BROKEN;
use crate::sentence;
use crate::tables;
use crate::words;

/// The widest text of a level's column: "0.47 (0.42–0.53)", and what the table puts around it.
const COLUMN: usize = 19;

/// The run as lines of at most `options.width` columns.
pub fn render(document: &Document, options: &Options) -> String {
    let layout = Layout::new(document);
    let paint = Paint(options.color);
    let width = options.width.max(40);
    let mut out = String::new();
    out += &format!("{}\n", paint.bold(&fill(&document.run.run.title, width)));
    for operation in layout.operations() {
        for levels in columns(&layout, width) {
            let table = table(&layout, operation, &levels, width);
            let heading = fill(&heading(&layout, operation), width);
            out += &format!("\n{}\n{}\n", paint.bold(&heading), paint.verdicts(&table));
        }
        out += &harness(&layout, operation);
    }
    if let Some(figures) = offered::offered(&layout) {
        out += &cells("what was offered", &layout, &figures, offered::short, width, &paint);
        out += &format!("\n{}\n", fill(offered::EXPLAINED, width));
    }
    if let Some(figures) = costs::costs(&layout) {
        out += &cells("what it cost", &layout, &figures, costs::short, width, &paint);
    }
    if let Some(figures) = debts::debts(&layout) {
        let title = "what was left to write back";
        out += &cells(title, &layout, &figures, debts::short_debt, width, &paint);
    }
    if let Some(figures) = debts::processor(&layout) {
        let title = "processor time of a trial";
        out += &cells(title, &layout, &figures, debts::short_processor, width, &paint);
    }
    out += &durability(document, width, &paint);
    out.push('\n');
    for (name, value) in tables::key_facts(document) {
        out += &format!("{}\n", fill(&format!("{name}: {value}"), width));
    }
    for warning in &document.warnings {
        out += &format!("{}\n", paint.yellow(&fill(&format!("warning: {warning}"), width)));
    }
    let [broken, rest] = sentence::verdict_parts(document).map(|part| fill(&part, width));
    if !broken.is_empty() {
        out += &format!("\n{}\n", paint.bold(&paint.red(&broken)));
    }
    if !rest.is_empty() {
        out += &format!("\n{}\n", paint.bold(&rest));
    }
    out
}

fn heading(layout: &Layout<'_>, operation: &str) -> String {
    let baseline = &layout.document.run.run.baseline;
    let metric = layout.metric();
    let heading = match layout.levels.len() {
        0 | 1 => format!("{operation}: {metric}"),
        _ => format!("{operation}: {metric}, and its ratio to {baseline}’s (95 % interval)"),
    };
    if layout.is_open() { heading + "; below, mean service time" } else { heading }
}

/// Figures of cells, a line a cell; `short` is what a terminal has room for of a heading, or nothing
/// where it has none for the column.
fn cells(
    title: &str,
    layout: &Layout<'_>,
    figures: &Figures,
    short: fn(&str) -> Option<&str>,
    width: usize,
    paint: &Paint,
) -> String {
    let mut table = Table::new();
    table.load_style(style()).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    let headings: Vec<Option<&str>> =
        figures.columns.iter().map(|column| short(&column.name)).collect();
    let shown = headings.iter().copied().flatten();
    table.set_header(layout.varying.iter().copied().chain([layout.compare]).chain(shown));
    for row in &figures.rows {
        let cells = row.cells.iter().zip(&headings);
        let cells = cells.filter_map(|(cell, heading)| heading.map(|_| cell));
        table.add_row(row.setting.iter().chain([&row.level]).chain(cells));
    }
    for column in table.column_iter_mut().skip(layout.varying.len() + 1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("\n{}\n{}\n", paint.bold(title), paint.verdicts(&table))
}

/// What power cuts have left of each promise.
fn durability(document: &Document, width: usize, paint: &Paint) -> String {
    let Some(durability) = durability::durability(document) else { return String::new() };
    let head = paint.bold("what power cuts left of each promise");
    let mut out = format!("\n{head}\n{}\n", promises::table(&durability, width, paint));
    for row in &durability.rows {
        let text = fill(&format!("{} {}: {}", row.engine, row.durability, row.explained), width);
        let repeat = row.repeat.iter().map(|command| format!("  again: {command}\n"));
        let lines = format!("{text}\n{}", repeat.collect::<String>());
        out += &if row.state == "broken" { paint.red(&lines) } else { lines };
    }
    out + &format!("{}\n", fill(&durability.how, width))
}

/// The levels in portions that fit beside each other.
fn columns<'a>(layout: &Layout<'a>, width: usize) -> Vec<Vec<&'a str>> {
    let head: usize = layout
        .varying
        .iter()
        .enumerate()
        .map(|(number, factor)| {
            let levels = layout.settings.iter().map(|setting| setting[number].chars().count());
            levels.chain([factor.chars().count()]).max().unwrap_or(0).min(12) + 2
        })
        .sum();
    let most = (width.saturating_sub(head) / COLUMN).max(1);
    layout.charted().chunks(most).map(<[_]>::to_vec).collect()
}

fn table<'a>(layout: &Layout<'a>, operation: &'a str, levels: &[&'a str], width: usize) -> Table {
    let mut table = Table::new();
    table.load_style(style()).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    table.set_header(layout.varying.iter().chain(levels).copied());
    for setting in &layout.settings {
        let heads = setting.iter().map(|level| (*level).to_owned());
        let cells = levels.iter().map(|level| cell(layout, operation, setting, level));
        table.add_row(heads.chain(cells).collect::<Vec<String>>());
    }
    for column in table.column_iter_mut().skip(layout.varying.len()) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// A rule under the header, and nothing else.
fn style() -> TableStyle {
    presets::NOTHING.header_separator(LineStyle::new('─', '─', '─', '─'))
}

/// What an operation takes where nothing is done, in a line.
fn harness(layout: &Layout<'_>, operation: &str) -> String {
    let hidden = layout.levels.iter().copied().filter(|level| !layout.charted().contains(level));
    let line = |level: &str| {
        let means: Vec<f64> = layout
            .settings
            .iter()
            .filter_map(|setting| layout.figures(operation, setting, level)?.mean_s)
            .collect();
        let most = means.iter().copied().reduce(f64::max)?;
        Some(format!(" {level}, the harness alone: at most {}\n", words::seconds(most)))
    };
    hidden.filter_map(line).collect()
}

/// The mean and the verdict, and below them the ratio and its interval.
fn cell<'a>(
    layout: &Layout<'a>,
    operation: &'a str,
    setting: &Setting<'a>,
    level: &'a str,
) -> String {
    let figures = layout.figures(operation, setting, level);
    let comparison = layout.against_baseline(operation, setting, level);
    let standing = tables::standing(layout, level, figures, comparison);
    let Some(mean) = figures.and_then(|f| f.mean_s) else { return standing.into() };
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
    let marks = tables::marks(layout, setting, level).into_iter().map(|mark| mark.text.to_owned());
    [text].into_iter().chain(service).chain(rate).chain(marks).collect::<Vec<_>>().join("\n")
}

/// "0.47 (0.42–0.53)", "≥ 31.0 (from 28.0)".
fn against(comparison: &Comparison) -> String {
    let ratio = tables::ratio(comparison);
    match tables::interval(comparison) {
        none if none == figures::NONE => ratio,
        bound if bound.starts_with("up to ") => format!("{ratio} ({bound})"),
        interval => format!("{ratio} ({})", interval.replace(" to ", "–")),
    }
}

/// Text broken at spaces into lines of at most `width` characters.
fn fill(text: &str, width: usize) -> String {
    let mut lines = vec![String::new()];
    for word in text.split([' ', '\n']).filter(|word| !word.is_empty()) {
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.into());
        }
    }
    lines.join("\n")
}

/// Colours, if they are wanted.
struct Paint(bool);

impl Paint {
    fn with(&self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }

    fn bold(&self, text: &str) -> String {
        self.with("1", text)
    }

    fn red(&self, text: &str) -> String {
        self.with("31", text)
    }

    fn yellow(&self, text: &str) -> String {
        self.with("33", text)
    }

    /// A table with its verdicts coloured. It is painted when it is laid out, since the layout
    /// counts characters.
    fn verdicts(&self, table: &Table) -> String {
        let mut text = table.to_string();
        let open = ["undecided", "spiky", "too few", "within noise"].map(|word| (word, "33"));
        for (word, code) in [("faster", "32"), ("slower", "31")].into_iter().chain(open) {
            text = text.replace(&format!(" {word} "), &format!(" {} ", self.with(code, word)));
        }
        for mark in [BROKEN, BEHIND] {
            text = text.replace(mark, &self.red(mark));
        }
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }
}
