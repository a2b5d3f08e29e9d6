//! Disks: device models, a virtual disk that behaves like one of them, and who else is on it.
//!
//! It is usable on its own. It must never know who sits on the disk: no engine, no workload, no
//! trial.

pub mod device;
pub mod ext4;
pub mod fuse;
pub mod neighbour;
pub mod plug;
pub mod volume;
