//! The machine of a run: accounts of devices and processes, description, canary.

pub mod accounts;
pub mod canary;
mod describe;
pub mod file_limit;
mod machine_lock;
pub mod open_files;
pub mod placement;
pub mod processor_shares;
pub mod run_delay;
pub mod suspect;
pub mod syncs;
mod system;
pub mod threads;
pub mod usage;

use std::time::Duration;

pub use describe::{
    NO_FILE_SYSTEM, available_memory, count_processors, describe_device, describe_machine,
    identify_host, load_average,
};
pub use machine_lock::hold_machine;

/// The longest wait for killed processes: a busy machine, or a virtual one whose host takes its
/// processors, may stand still for many seconds.
pub(crate) const KILL_TIMEOUT: Duration = Duration::from_secs(60);
