//! Disks: device models, a virtual disk that behaves like one of them, and who else is on it.
//!
//! It is usable on its own. It must never know who sits on the disk: no engine, no workload, no
//! trial.

pub mod control;
pub mod daemon;
pub mod device;
pub mod executor;
pub mod ext4;
pub mod fault;
pub mod fuse;
pub mod mount;
pub mod neighbour;
pub mod plug;
pub mod registry;
pub mod spec;
pub mod station;
pub mod trigger;
pub mod volume;
