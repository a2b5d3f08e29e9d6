//! Why an engine falls off: what each row of the work took of its cache, of the device and of processors.

use std::collections::{BTreeMap, BTreeSet};

use bakeoff_analysis::{CellView, Each, Total, Unknown, WorkFigure, WorkView};
use bakeoff_results::FigureOfMerit;

use crate::amount::MeritAmount;
use crate::block::{ColumnKind, ReportBlock, ReportTable};
use crate::cell_rows::{self, ColumnHead};
use crate::figures::{self, NONE, few};
use crate::layout::DocumentLayout;
use crate::section::Section;
use crate::words;

/// What the work took.
pub struct WorkSection;

/// The columns that a cell can have where rows are counted.
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

/// The same where they are not.
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

/// What the figures are of.
const EXPLAINED: &str = "All operations of a cell’s trials together, while the clients ran. Cache misses: \
     pages or blocks that an engine did not find in its own cache, by its own counters; the page cache \
     of the system may still have had them, and their sizes differ by engine. Read amplification: bytes \
     read from storage for each byte of the rows that were returned. Write amplification: bytes \
     that went to the device, those of the drain among them, for each byte of the rows that were written.";

impl Section for WorkSection {
    fn name(&self) -> &str {
        "work"
    }

    fn title(&self) -> &str {
        "What the work took of cache, device and processor"
    }

    fn link(&self) -> &str {
        "Cache and device"
    }

    /// A row for each cell; nothing without engines, and where neither rows were counted nor a device is
    /// modelled.
    fn blocks(&self, layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
        let charted = layout.charted();
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
            Some(texts(cell, work))
        };
        let caption = "What the work took: every cell";
        let marks = |condition: &_, level| cell_rows::marks(layout, condition, level);
        let Some(table) = cell_rows::table(layout, caption, heads, marks, figures) else {
            return Vec::new();
        };
        let table = ReportTable { note: lacks(&works), ..table };
        vec![ReportBlock::Lead(EXPLAINED.into()), ReportBlock::Table(table)]
    }

    fn is_of_cells(&self) -> bool {
        true
    }
}

/// A text for each of the columns.
fn texts(cell: &CellView, work: &WorkView) -> [String; OF_ROWS.len()] {
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
        figures::text(work.cache_misses, few),
        figures::text(work.device_reads, few),
        figures::text(work.device_read_bytes, words::mean_bytes),
        figures::text(work.engine_cpu_s, words::seconds),
        figures::text(work.client_cpu_s, words::seconds),
        figures::text(work.read_amplification, few),
        figures::text(cell.cost.and_then(|cost| cost.write_amplification), few),
    ]
}

/// What the dashes stand for, in sentences; `None` where there is none.
fn lacks(works: &[(&str, &WorkView)]) -> Option<String> {
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
            false => format!(" of {}", words::list(levels)),
        };
        format!("No {}{whose}: {}.", name(*figure), reason(*why))
    };
    let sentences: Vec<String> = levels.iter().map(sentence).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// A figure, as the columns have it.
fn name(figure: WorkFigure) -> &'static str {
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

/// Why a figure is not known.
fn reason(why: Unknown) -> &'static str {
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
