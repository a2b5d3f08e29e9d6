//! From records to findings: documents of known trials.

mod applications;
mod break_tarantool;
mod costs;
mod cuts;
#[path = "../../../results/examples/synthetic/data.rs"]
mod data;
mod document;
mod fileio;
mod groups;
mod guide;
mod kept;
mod known;
mod limits;
mod machines;
mod mixes;
mod nine_minutes;
mod open_loop;
mod others;
#[path = "../../../results/examples/synthetic/cuts.rs"]
mod power;
mod power_cut;
mod published;
mod rates;
mod scarce_memory;
mod schema;
mod sequential;
mod series;
mod sweep;
mod two_runs;
mod verdicts;
mod vote;
mod warnings;
mod work;
