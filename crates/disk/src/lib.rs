//! Disks and who else is on them: for now, other load on the host's own disk.
//!
//! It is usable on its own. It must never know who sits on the disk: no engine, no workload, no
//! trial.

pub mod neighbour;
