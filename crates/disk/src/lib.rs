//! Virtual disks: a FUSE file system that takes its time and loses its power like a modelled
//! device, the daemon behind a mount, and load on a real disk.
//!
//! It is usable on its own: the caller says which program is a disk's daemon ([`mount::Launcher`]).
//! It must never know who sits on the disk (no engine, no workload, no trial), nor how a command
//! spells its flags or its exit codes.

pub mod control;
pub mod daemon;
mod error;
pub mod executor;
pub mod fault;
pub mod fuse;
pub mod history;
mod last_words;
mod launcher;
pub mod materialise;
pub mod mount;
pub mod mount_table;
pub mod neighbour;
mod options;
mod patience;
pub mod registry;
mod stop_guard;
pub mod volume;
