//! Devices in virtual time: how long a device takes, what a file system like ext4 asks of it, who
//! else is on it, and what a power cut leaves.
//!
//! Pure: the caller says what time it is, and the same questions get the same answers on every
//! machine. It must never know a clock, a thread, a file, FUSE, an engine or a command
//! line.

// For a device of your own.
#[warn(missing_docs)]
pub mod device;
pub mod ext4;
pub mod limit;
pub mod models;
pub mod neighbour;
pub mod plug;
pub mod price;
pub mod size;
pub mod spec;
pub mod station;
pub mod trace;
pub mod trigger;
