//! A lab of your own: all of bakeoff, and an engine with an option, a workload with a factor, and a
//! device with parameters. Nothing in bakeoff was changed for it.
//!
//! Copy this folder's sources (`docs/architecture.md`, "A program of one's own", has the
//! `Cargo.toml`), replace [`log_store`] by your engine, and begin with `cargo test`, the contract
//! of engines, then `cargo run --release -- run power-cut --engine logstore --cuts 10`.

pub mod flash;
pub mod jobs;
pub mod log_store;

use bakeoff::Lab;

pub fn lab() -> Lab {
    Lab::standard().engine(&log_store::LOG_STORE).workload(&jobs::Jobs).model(flash::MODEL)
}
