//! Who used the processor.

use bakeoff_analysis::CellView;

use crate::block::{Block, Kind, Words};
use crate::cell_rows::{self, Head};
use crate::figures;
use crate::layout::Layout;
use crate::section::Section;
use crate::words;

/// Processor time of a trial, by who used it.
pub struct Processor;

const COLUMNS: [Head; 5] = [
    ("engine, clients at work", Some("at work"), Kind::Main),
    ("engine, drain", Some("drain"), Kind::Number),
    ("bakeoff’s clients", Some("harness"), Kind::Number),
    ("disk daemon", Some("disk daemon"), Kind::Number),
    ("neighbours", Some("neighbours"), Kind::Number),
];

impl Section for Processor {
    fn name(&self) -> &str {
        "processor"
    }

    fn title(&self) -> &str {
        "Processor time of a trial"
    }

    fn blocks(&self, layout: &Layout<'_>) -> Vec<Block> {
        let cells = |_: &str, cell: &CellView| Some(cells(layout, cell));
        let caption = "Processor time of a trial: every cell";
        let table = cell_rows::table(layout, caption, &COLUMNS, |_, _| Vec::new(), cells);
        let drain = if layout.has_engines() { "; of the engine in the drain, too" } else { "" };
        let lead = Words::from(format!("Mean seconds of a trial while the clients ran{drain}."))
            .marked(" Clients: bakeoff’s own. Disk daemon: the virtual disk with its model of the neighbours.");
        table.map_or(Vec::new(), |table| vec![Block::Lead(lead), Block::Table(table)])
    }
}

/// A text for each of [`COLUMNS`].
fn cells(layout: &Layout<'_>, cell: &CellView) -> [String; COLUMNS.len()] {
    let cpu = cell.cpu_s;
    let counted = |seconds| figures::text(seconds, words::seconds);
    let engine =
        (cell.cost.is_some_and(|cost| cost.sums.engine_cpu_s.is_some())).then_some(cpu.engine);
    [
        counted(engine),
        counted(cpu.engine_drain.filter(|_| layout.has_engines())),
        counted(Some(cpu.client)),
        counted(cpu.disk_daemon),
        counted(cpu.neighbours),
    ]
}
