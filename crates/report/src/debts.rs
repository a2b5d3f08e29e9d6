//! What each cell had put off when its clients stopped, and who used the processor: text that is
//! ready to be set.

use bakeoff_analysis::{CellView, DebtView};

use crate::cell_rows::{self, Head};
use crate::figures::{Figures, NONE};
use crate::layout::Layout;
use crate::words;

/// What the figures of debts mean, for a reader.
pub const EXPLAINED: &str = "What an engine puts off (dirty pages, tables to flush and to compact, a log \
     to checkpoint) was written back after the clients had stopped, on the same disk beside the same \
     neighbours. Mean: clients × the time that they ran ÷ operations, of all kinds; with the debt: \
     the same with the time of the drain. A drain that took longer than the clients had run was cut \
     off there: it took over that long, so that the mean with the debt is over twice the other. Fresh: by its own counters the engine had written back \
     nothing of what it owes while the clients ran, so that its figures are those of a fresh \
     database, and not of one that has been in use for long.";

/// The columns of debts.
const DEBTS: [Head; 6] = [
    ("time to write it back", Some("drain"), "n strong"),
    ("bytes", Some("bytes"), "n"),
    ("engine CPU", Some("CPU"), "n"),
    ("mean of all operations", Some("mean"), "n"),
    ("mean with the debt", Some("with debt"), "n"),
    ("paid while clients ran", Some("paid"), "v"),
];

/// The columns of processor time.
const PROCESSOR: [Head; 5] = [
    ("engine, clients at work", Some("at work"), "n strong"),
    ("engine, drain", Some("drain"), "n"),
    ("bakeoff’s clients", Some("harness"), "n"),
    ("disk daemon", Some("disk daemon"), "n"),
    ("neighbours", Some("neighbours"), "n"),
];

/// A row for each cell of which the debt is known; `None` where it is of none, and without engines,
/// which alone put things off.
pub fn debts(layout: &Layout<'_>) -> Option<Figures> {
    let charted = layout.charted();
    let cells = |level: &str, cell: &CellView| {
        let shown = layout.has_engines() && charted.contains(&level);
        cell.debt.filter(|_| shown).map(|debt| debt_cells(&debt))
    };
    cell_rows::table(layout, &DEBTS, |_, _| Vec::new(), cells)
}

/// A text for each of [`DEBTS`].
fn debt_cells(debt: &DebtView) -> [String; DEBTS.len()] {
    let text = |value: Option<f64>, of: fn(f64) -> String| value.map_or(NONE.into(), of);
    let over = if debt.cut_off > 0 { "> " } else { "" };
    let with = |value| match text(value, words::seconds) {
        text if text == NONE => text,
        text => format!("{over}{text}"),
    };
    [
        with(Some(debt.drain_s)),
        text(debt.bytes, |bytes| words::bytes(bytes as u64)),
        text(debt.cpu_s, words::seconds),
        text(debt.mean_s, words::seconds),
        with(debt.mean_with_debt_s),
        debt.fresh.map_or(NONE, |fresh| if fresh { "nothing: fresh" } else { "some" }).into(),
    ]
}

/// Processor time of a trial, by who used it, for each cell; `None` where it was counted of none.
pub fn processor(layout: &Layout<'_>) -> Option<Figures> {
    let cells = |_: &str, cell: &CellView| {
        let cpu = cell.cpu_s;
        let counted = |seconds: Option<f64>| seconds.map_or(NONE.into(), words::seconds);
        let engine =
            (cell.cost.is_some_and(|cost| cost.sums.engine_cpu_s.is_some())).then_some(cpu.engine);
        let drain = cpu.engine_drain.filter(|_| layout.has_engines());
        Some([
            counted(engine),
            counted(drain),
            counted(Some(cpu.client)),
            counted(cpu.disk_daemon),
            counted(cpu.neighbours),
        ])
    };
    cell_rows::table(layout, &PROCESSOR, |_, _| Vec::new(), cells)
}

/// A heading of a debt as a terminal has room for it.
pub fn short_debt(name: &str) -> Option<&str> {
    cell_rows::short(&DEBTS, name)
}

/// A heading of processor time as a terminal has room for it.
pub fn short_processor(name: &str) -> Option<&str> {
    cell_rows::short(&PROCESSOR, name)
}
