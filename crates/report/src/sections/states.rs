//! The cost of a restart, and whether steady trials were steady.

use bakeoff_analysis::layout::DocumentLayout;
use bakeoff_analysis::{CellView, RestartView, SteadyView};

use crate::block::{ColumnKind, ReportBlock};
use crate::cell_tables::{self, ColumnHead};
use crate::figures::NONE;
use crate::words;

const RESTARTS: &str = "After a restart the caches are empty, and the disk takes its time from the \
                        engine's opening on. Opening: until it answers; then the mean latency of the \
                        first operations of all clients together.";

const RESTART: [ColumnHead; 4] = [
    ("time to open", Some("opening"), ColumnKind::Main),
    ("mean of the first 10 operations", Some("first 10"), ColumnKind::Number),
    ("of the first 100", Some("first 100"), ColumnKind::Number),
    ("of the first 1,000", Some("first 1,000"), ColumnKind::Number),
];

const STEADY: &str = "Before a steady trial every engine of its block did the same preconditioning, \
                      at least as much as the one with the longest cycle needs to defer and to do each kind \
                      of its deferred work once. Then the window's operations made five rounds of equal numbers: a \
                      trial is never steady where their rates differ by over 20 % of the mean, or rise or \
                      fall by over 10 %, and noise does not explain it.";

const SHARED: &str = "Trials that differ in their background I/O alone (the factor neighbours) followed one \
                      preconditioning, one after the other, in one order for all levels of a block that \
                      changes from repetition to repetition. A later one begins with the deferred work that \
                      the one before it has left, and the last alone was drained.";

const ROUNDS: [ColumnHead; 5] = [
    ("preconditioned by", Some("preconditioned"), ColumnKind::Number),
    ("whole cycle of deferred work", Some("whole cycle"), ColumnKind::Verdict),
    ("size at the start", Some("size"), ColumnKind::Number),
    ("steady trials", Some("steady"), ColumnKind::Main),
    ("largest range of the rounds", Some("range"), ColumnKind::Number),
];

pub fn build_blocks(layout: &DocumentLayout<'_>) -> Vec<ReportBlock> {
    let restart = |_: &str, cell: &CellView| cell.restart.map(|it| format_restart(&it));
    let steady = |_: &str, cell: &CellView| cell.steady.map(|it| format_steady(&it, cell.trials));
    let shares = |cell: &CellView| cell.steady.is_some_and(|steady| steady.followed_others > 0);
    let told = if layout.document.cells.iter().any(shares) {
        format!("{STEADY} {SHARED}")
    } else {
        STEADY.to_owned()
    };
    let mut blocks =
        cell_tables::build_blocks(layout, RESTARTS, "After a restart", &RESTART, restart);
    blocks.extend(cell_tables::build_blocks(layout, told, "Steady trials", &ROUNDS, steady));
    blocks
}

fn format_restart(it: &RestartView) -> [String; RESTART.len()] {
    let latency = |mean: Option<f64>| mean.map_or(NONE.into(), words::format_seconds);
    [
        words::format_seconds(it.opening_s),
        latency(it.first_10_s),
        latency(it.first_100_s),
        latency(it.first_1000_s),
    ]
}

fn format_steady(it: &SteadyView, trials: u32) -> [String; ROUNDS.len()] {
    let told = it.steady + it.never_steady;
    let mut steady = format!("{} of {trials}", it.steady);
    if told < trials {
        steady = format!("{steady}, {} cannot tell", trials - told);
    }
    [
        format!("{:.0} operations", it.conditioned),
        if it.not_turned_over == 0 { "yes".into() } else { "no".into() },
        it.space_at_start_bytes.map_or(NONE.into(), |bytes| words::format_bytes(bytes as u64)),
        steady,
        it.largest_range.map_or(NONE.into(), |range| format!("{:.0} %", 100.0 * range)),
    ]
}
