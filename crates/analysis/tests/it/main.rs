//! From records to findings: documents of known trials.

mod applications;
mod break_tarantool;
mod broken_promises;
#[expect(dead_code, reason = "the simulations of bakeoff-stats use all of it")]
#[path = "../../../stats/tests/simulations/chance.rs"]
mod chance;
mod costs;
mod cuts;
#[path = "../../../results/examples/synthetic/data.rs"]
mod data;
mod document;
mod fileio;
mod groups;
mod guide;
mod in_memory;
mod kept;
mod known;
mod limits;
mod machines;
mod mixes;
mod nine_minutes;
mod open_loop;
mod others;
mod otherwise_counted;
#[path = "../../../results/examples/synthetic/cuts.rs"]
mod power;
mod power_cut;
mod programs;
mod published;
mod rates;
mod readme;
mod same_shape;
mod scarce_memory;
mod schema;
mod sequential;
mod series;
mod sweep;
mod two_runs;
mod unreached;
mod verdicts;
mod vote;
mod warnings;
mod work;

/// A folder for a run that is made up: in memory where that can be had. Each trial is made durable before the
/// next, which takes a disk most of the time of these tests, and none of them is about that.
fn place() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary folder")
}
