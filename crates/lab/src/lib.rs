//! The lab: carries out a plan. For each trial it restores the data image, puts a disk under it,
//! starts a process that opens the target and drives it, gives the disk its neighbours, and records
//! what came out; it takes the canary, honours a request to stop, and leaves nothing behind.
//!
//! It knows targets, engines, workloads and disks by their contracts alone. It must never know how a
//! figure is shown or judged: it records, and says what it is doing through [`RunObserver`].

pub mod answers;
mod child;
mod disk_facts;
pub mod driving;
mod equal_terms;
mod error;
mod estimate;
pub mod machine;
mod monotonic;
mod options;
mod patience;
pub mod place;
pub mod planner;
pub mod possible;
mod preflight;
pub mod procedures;
pub mod process;
mod refusal;
mod registry;
mod run;
pub mod spec;
pub mod targets;
mod watch;

pub use child::child;
pub use disk_facts::disk_facts;
pub use equal_terms::CommonLevels;
pub use error::{LabError, MachineError, Problems, TrialError};
pub use estimate::{MediumKind, RunEstimate};
pub use machine::describe as describe_machine;
pub use place::disk::try_virtual_disk;
pub use place::group::{try_cpu_limit, try_memory_limit};
pub use possible::Possible;
pub use preflight::Preflight;
pub use process::ChildProgram;
pub use refusal::Refusal;
pub use registry::Registry;
pub use run::{Ending, Runner, WORK_PREFIX, file_systems, now_s};
pub use spec::resolve;
pub use watch::{RunEvent, RunObserver};

/// The environment variable that says how much of its steps a process tells on its standard error: the
/// name of a level of `tracing`. Where it is set, the lab passes on what trials' processes say.
pub const LOG: &str = "BAKEOFF_LOG";

/// What timing and recording one operation costs on this machine, in processor time: measured
/// anew at each call, in about 20 ms.
pub fn harness_cost() -> std::time::Duration {
    std::time::Duration::from_secs_f64(bakeoff_load::cost::measure().total_ns() / 1e9)
}
