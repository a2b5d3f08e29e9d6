//! The `bakeoff` command as a library: a [`Lab`] with everything that is built in, to which your
//! own program adds engines, workloads, targets and models of devices before it calls
//! [`Lab::main`].
//!
//! Wiring only: one file for each command. It must never know how load is made, how a disk works,
//! how results are stored or how a report looks.

mod application;
mod ascii;
mod cli;
mod commands;
mod copied_rows;
mod exit;
mod find_limit;
mod lab;
mod log;
mod lost_map;
mod output;
mod progress;
mod stop;
#[cfg(test)]
mod tests;
mod until_decided;

pub use bakeoff_analysis as analysis;
pub use bakeoff_devices as devices;
pub use bakeoff_engines as engines;
pub use bakeoff_experiment as experiment;
pub use bakeoff_lab::targets;
pub use bakeoff_load as load;
pub use bakeoff_report as report;
pub use bakeoff_results as results;
pub use bakeoff_workloads as workloads;
pub use lab::Lab;

/// The contract of a declared factor, and published figures of its levels.
pub mod factor {
    pub use bakeoff_engines::{DEFAULT, Declared, DeclaredLevels};
    pub use bakeoff_results::{
        ALL_OPERATIONS, FigureOfMerit, MOST_REPETITIONS, OperationCounts, limit, published,
    };
}
