//! From records to findings: documents of known trials.

mod applications;
mod broken_promises;
#[expect(dead_code, reason = "the simulations of bakeoff-stats use all of it")]
#[path = "../../../stats/tests/simulations/chance.rs"]
mod chance;
mod document;
mod groups;
mod guide;
mod idle;
mod images;
mod in_memory;
mod known;
mod limits;
mod machines;
mod mixes;
mod open_loop;
mod others;
mod otherwise_counted;
mod programs;
mod published;
mod rates;
mod same_shape;
mod schema;
mod sequential;
mod series;
mod sweep;
mod timed_disks;
mod two_runs;
mod unreached;
mod verdicts;
mod warnings;
mod work;
