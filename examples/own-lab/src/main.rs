//! A lab of one's own: all that bakeoff can do, and an engine, a workload with a factor, that are
//! nobody else's. Nothing of bakeoff itself was changed for it.
//!
//! Copy this folder, put your engine in the place of [`log_store`], and run
//! `cargo run -- run power-cut --engine logstore --cuts 10`.

mod jobs;
mod log_store;

use std::process::ExitCode;

use bakeoff::Lab;

fn main() -> ExitCode {
    Lab::standard().engine(&log_store::LogStore).workload(&jobs::Jobs).main()
}
