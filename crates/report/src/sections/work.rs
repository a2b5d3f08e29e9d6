//! The cost of each row in cache, device and processors: it shows why an engine slows down.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::layout::MeritAmount;
use bakeoff_analysis::{CellView, Each, Total, Unknown, WorkFigure, WorkView};
use bakeoff_results::FigureOfMerit;

use crate::amount::AmountText;
use crate::block::{ColumnKind, ReportBlock, ReportTable};
use crate::cell_tables::{self, ColumnHead};
use crate::figures::{self, NONE, format_few};
use crate::words;

const OF_ROWS: [ColumnHead; 8] = [
    ("rows a second", Some("rows/s"), ColumnKind::Main),
    ("cache misses a row", Some("misses/row"), ColumnKind::Number),
    ("device reads a row", Some("reads/row"), ColumnKind::Number),
    ("device bytes read a row", Some("read/row"), ColumnKind::Number),
    ("engine CPU a row", Some("engine CPU/row"), ColumnKind::Number),
    ("clients’ CPU a row", Some("client CPU/row"), ColumnKind::Number),
    ("read amplification", Some("read ampl."), ColumnKind::Number),
    ("write amplification", Some("write ampl."), ColumnKind::Number),
];

const OF_OPERATIONS: [ColumnHead; 8] = [
    ("operations a second", Some("op/s"), ColumnKind::Main),
    ("cache misses an operation", Some("misses/op"), ColumnKind::Number),
    ("device reads an operation", Some("reads/op"), ColumnKind::Number),
    ("device bytes read an operation", Some("read/op"), ColumnKind::Number),
    ("engine CPU an operation", Some("engine CPU/op"), ColumnKind::Number),
    ("clients’ CPU an operation", Some("client CPU/op"), ColumnKind::Number),
    ("read amplification", Some("read ampl."), ColumnKind::Number),
    ("write amplification", Some("write ampl."), ColumnKind::Number),
];

const EXPLAINED: &str = "All operations of a cell’s trials together, while the clients ran. Cache misses: \
     pages or blocks that an engine did not find in its own cache, by its own counters; the page cache \
     of the system may still have had them, and their sizes differ by engine. Read amplification: bytes \
     read from storage for each byte of the rows that were returned. Write amplification: bytes \
     that went to the device, those of the drain among them, for each byte of the rows that were written.";

/// Needs engines, and counted rows or a modelled device.
pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let charted = layout.charted_levels();
    let shown = |level: &str| layout.has_engines() && charted.contains(&level);
    let levels = layout.levels.iter().copied().filter(|level| shown(level));
    let cells = levels.flat_map(|level| {
        layout.conditions.iter().map(move |condition| (level, layout.cell(condition, level)))
    });
    let works = cells.filter_map(|(level, cell)| Some((level, cell?.work.as_ref()?)));
    let works: Vec<(&str, &WorkView)> = works.collect();
    let each = match works.iter().any(|(_, work)| work.each == Each::Row) {
        true => Each::Row,
        false => Each::Operation,
    };
    let heads = if each == Each::Row { &OF_ROWS } else { &OF_OPERATIONS };
    let figures = |level: &str, cell: &CellView| {
        let work = cell.work.as_ref().filter(|work| work.each == each && shown(level))?;
        Some(format_texts(cell, work))
    };
    let caption = "What the work took: every cell";
    let marks = |condition: &_, level| cell_tables::mark_cell(layout, condition, level);
    let Some(table) = cell_tables::build_table(layout, caption, heads, marks, figures) else {
        return Vec::new();
    };
    let table = ReportTable { note: explain_missing(&works), ..table };
    vec![ReportBlock::Lead(EXPLAINED.into()), ReportBlock::Table(table)]
}

fn format_texts(cell: &CellView, work: &WorkView) -> [String; OF_ROWS.len()] {
    let merit = match work.each {
        Each::Row => FigureOfMerit::Rows,
        Each::Operation => FigureOfMerit::Operations,
    };
    let rate = cell.total.as_ref().and_then(|total| {
        let Total { at_most: is_bound, .. } = total.typical;
        Some(MeritAmount { merit, value: total.typical.rate(merit)?, is_bound })
    });
    [
        rate.map_or(NONE.into(), |rate| rate.in_column()),
        figures::format_optional(work.cache_misses, format_few),
        figures::format_optional(work.device_reads, format_few),
        figures::format_optional(work.device_read_bytes, words::mean_bytes),
        figures::format_optional(work.engine_cpu_s, words::format_seconds),
        figures::format_optional(work.client_cpu_s, words::format_seconds),
        figures::format_optional(work.read_amplification, format_few),
        figures::format_optional(cell.cost.and_then(|cost| cost.write_amplification), format_few),
    ]
}

fn explain_missing(works: &[(&str, &WorkView)]) -> Option<String> {
    let mut levels: BTreeMap<(WorkFigure, Unknown), Vec<&str>> = BTreeMap::new();
    let all: BTreeSet<&str> = works.iter().map(|(level, _)| *level).collect();
    for (level, work) in works {
        for lack in &work.lacks {
            let known = levels.entry((lack.figure, lack.why)).or_default();
            if !known.contains(level) {
                known.push(level);
            }
        }
    }
    let sentence = |((figure, why), levels): (&(WorkFigure, Unknown), &Vec<&str>)| {
        let whose = match levels.len() == all.len() {
            true => String::new(),
            false => format!(" of {}", words::join_list(levels)),
        };
        format!("No {}{whose}: {}.", name_figure(*figure), name_reason(*why))
    };
    let sentences: Vec<String> = levels.iter().map(sentence).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn name_figure(figure: WorkFigure) -> &'static str {
    match figure {
        WorkFigure::CacheMisses => "cache misses",
        WorkFigure::DeviceReads => "device reads",
        WorkFigure::DeviceReadBytes => "device bytes read",
        WorkFigure::EngineCpuS => "engine CPU",
        WorkFigure::ClientCpuS => "clients’ CPU",
        WorkFigure::WriteAmplification => "write amplification",
        WorkFigure::ReadAmplification => "read amplification",
    }
}

fn name_reason(why: Unknown) -> &'static str {
    match why {
        Unknown::NoCounter => {
            "no counter of the engine’s tells, since it has no cache of its own or keeps no count"
        }
        Unknown::NoVirtualDisk => "only a virtual disk counts them",
        Unknown::Elsewhere => "nobody could look into the engine’s processes and files",
        Unknown::NothingChanged => "no row was changed",
        Unknown::NothingReturned => "no row was returned",
        Unknown::NotCounted => "it was not counted",
    }
}
