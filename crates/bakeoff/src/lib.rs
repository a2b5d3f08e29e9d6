//! The `bakeoff` command as a library: a [`Lab`] with everything that is built in, to which a
//! program of one's own adds engines, workloads, targets, arrival processes, planners and models of
//! devices before it calls [`Lab::main`].
//!
//! Wiring only; what the command can do is in `commands`, a file a command. It must never know how
//! load is made, how a disk works, how results are stored or how a report looks: it asks the crates
//! that do.

mod cli;
mod commands;
mod exit;
mod find_limit;
mod lab;
mod log;
mod output;
mod progress;
mod stop;
mod until_decided;

pub use bakeoff_analysis as analysis;
pub use bakeoff_devices as devices;
pub use bakeoff_engines as engines;
pub use bakeoff_experiment as experiment;
pub use bakeoff_factor as factor;
pub use bakeoff_lab::{planner, targets};
pub use bakeoff_load as load;
pub use bakeoff_report as report;
pub use bakeoff_results as results;
pub use bakeoff_workloads as workloads;
pub use lab::Lab;
