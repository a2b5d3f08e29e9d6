//! Virtual disks: a FUSE file system that takes its time and loses its power as a modelled device
//! does, the daemon behind a mount, and load on a real disk.
//!
//! It is usable on its own. It must never know who sits on the disk: no engine, no workload, no
//! trial.

pub mod control;
pub mod daemon;
pub mod executor;
pub mod fault;
pub mod fuse;
pub mod materialise;
pub mod mount;
pub mod neighbour;
pub mod registry;
pub mod volume;
