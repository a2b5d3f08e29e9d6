//! A lab of one's own: all that bakeoff can do, and an engine with an option, a workload with a factor,
//! a device with parameters, an arrival process, a section of reports and a format that are nobody
//! else's. Nothing of bakeoff itself was changed for it.
//!
//! Copy this folder's sources (`docs/architecture.md`, "A program of one's own", has the `Cargo.toml`
//! for them), put your engine in the place of [`log_store`], and begin with `cargo test`, which holds
//! it to the contract of engines, then with
//! `cargo run --release -- run power-cut --engine logstore --cuts 10`.

pub mod bursts;
pub mod done;
pub mod flash;
pub mod jobs;
pub mod log_store;
pub mod tsv;

use bakeoff::Lab;

/// Everything that is built in, and what is this lab's own.
pub fn lab() -> Lab {
    Lab::standard()
        .engine(&log_store::LOG_STORE)
        .workload(&jobs::Jobs)
        .model(flash::MODEL)
        .arrivals(&bursts::BURSTS)
        .section(done::DoneSection)
        .exporter(tsv::Tsv)
}
