//! The lab: carries out a plan. For each trial it restores the data image, starts a process that
//! opens the engine and runs the clients, gives the disk its neighbours, and records what came
//! out; it takes the canary, honours a request to stop, and leaves nothing behind.
//!
//! It knows engines, workloads and disks by their contracts alone. It must never know how a
//! figure is shown or judged: it records, and says what it is doing through [`Watch`].

pub mod accounts;
mod canary;
mod child;
mod disk;
mod family;
mod image;
pub mod job;
pub mod leftovers;
mod machine;
pub mod memory;
mod meter;
mod open_files;
pub mod page_cache;
pub mod power_cut;
mod process;
mod run;
mod syncs;
mod trial;
mod usage;
mod written;

pub use child::{child, child_with};
pub use disk::try_virtual_disk;
pub use machine::describe as describe_machine;
pub use memory::try_memory_limit;
pub use run::{Ending, Event, Lab, LabError, OVERHEAD_S, Watch, planned_cuts, refusal};
pub use trial::vocabulary;

/// What timing and recording one operation costs on this machine, in processor time: measured
/// anew at each call, in about 20 ms.
pub fn harness_cost() -> std::time::Duration {
    std::time::Duration::from_secs_f64(bakeoff_load::cost::measure().total_ns() / 1e9)
}
