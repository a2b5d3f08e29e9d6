//! From records to findings: documents of known trials.

mod costs;
mod cuts;
#[path = "../../../results/examples/synthetic/data.rs"]
mod data;
mod document;
mod guide;
mod mixes;
mod open_loop;
mod others;
#[path = "../../../results/examples/synthetic/cuts.rs"]
mod power;
mod published;
mod schema;
mod sequential;
mod verdicts;
