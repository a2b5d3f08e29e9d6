//! The lab carries out a plan. For each trial it restores the data image, puts a disk under it,
//! starts a process that opens and drives the target, starts the neighbours, and records the
//! result. It takes the canary, stops when asked to, and leaves nothing behind.
//!
//! It knows targets, engines, workloads and disks by their contracts alone. It must never know how
//! a figure is shown or judged: it records, and reports progress through [`RunObserver`].

pub mod answers;
mod child;
mod disk_facts;
pub mod disk_likeness;
pub mod disk_timing;
pub mod driving;
mod equal_terms;
mod error;
mod estimate;
pub mod machine;
mod monotonic;
mod options;
pub mod place;
pub mod plan;
pub mod planner;
mod preflight;
pub mod procedures;
pub mod process;
mod refusal;
mod registry;
mod run;
pub mod spec;
pub mod targets;
#[cfg(test)]
mod tests;
mod watch;

pub use child::run_child;
pub use disk_facts::disk_facts;
pub use equal_terms::CommonLevels;
pub use error::{LabError, MachineError, Problems, TrialError};
pub use estimate::{MediumKind, RunEstimate};
pub use machine::describe_machine;
pub use machine::file_limit::{explain_file_limit, ignore_file_limit_signal};
pub use place::disk::try_virtual_disk;
pub use place::group::{try_cpu_limit, try_memory_limit};
pub use plan::Plan;
pub use preflight::Preflight;
pub use process::ChildProgram;
pub use refusal::Refusal;
pub use registry::Registry;
pub use run::{RunOutcome, Runner, WORK_PREFIX, file_systems, now_s};
pub use spec::{PlannedCut, ResolvedTrial, resolve_trial};
pub use watch::{RunEvent, RunObserver};

/// The environment variable with the level of `tracing` that a process writes to standard error. If
/// it is set, the lab passes on the output of trials' processes.
pub const LOG: &str = "BAKEOFF_LOG";

/// Processor time of timing and recording one operation, measured anew at each call in about 20 ms.
pub fn harness_cost() -> std::time::Duration {
    std::time::Duration::from_secs_f64(bakeoff_load::cost::measure_cost().total_ns() / 1e9)
}
