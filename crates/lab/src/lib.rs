//! The lab carries out a plan. For each trial it restores the data image, puts a disk under it,
//! starts a process that opens and drives the target, starts the neighbours, and records the
//! result. It takes the canary, stops when asked to, and leaves nothing behind.
//!
//! It knows targets, engines, workloads and disks by their contracts alone. It must never know how
//! a figure is shown or judged: it records, and reports progress through [`RunObserver`].
//!
//! # The way of a trial
//!
//! 1. `experiment` reads a file and flags, with a `Vocabulary` of what the lab's `Registry` has. `Experiment::plan` makes
//!    the list of blocks. A cell is one level of each factor, as text.
//! 2. `lab::resolve_trial` turns a cell into a `ResolvedTrial` with typed values, or a `Refusal`: after this nobody parses
//!    a level. `Plan` resolves every cell before anything runs, and `Preflight` tries everything that it needs.
//! 3. A *planner* reads the run folder and hands out blocks. `until-decided` goes by what `analysis` says: it is in
//!    `bakeoff/src/until_decided.rs`.
//! 4. A *procedure* does something to the target: `drive` lets the clients work and has the target drain; `cut` cuts the
//!    power and audits what is left. A `Place` is where the target has its files and processes. Closing it removes
//!    everything.
//! 5. The lab starts a process for the trial (`Program`), which reports in lines of JSON. Inside, `child` does the
//!    procedure's other half, and `load::drive` runs the *drivers*, a thread each. A *pacer* says when the next operation is
//!    to start.
//! 6. All that a trial measured is one type, `results::TrialMeasurements`: one commit in `run.sqlite`.
//! 7. `analysis` makes a `Document` of a run folder. A `Section` of `report` makes blocks of it, and a `ReportFormat` a
//!    page, text or table.
//!
//! A trial's failure is a `TrialError`; one that every other would meet stops the run
//! (`TrialError::stops_the_run`).

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
