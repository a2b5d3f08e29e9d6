//! What is known of the machine that a run is made on: its accounts of devices and processes, its
//! description, and the canary.

pub mod accounts;
pub mod canary;
mod describe;
mod hold;
pub mod open_files;
pub mod run_delay;
pub mod suspect;
pub mod syncs;
mod system;
pub mod threads;
pub mod usage;

pub use describe::{NO_FILE_SYSTEM, available_memory, describe, describe_device, host, load};
pub use hold::hold;
