//! Help for the tests of several crates: skipping tests that a machine can't run, ordinary users,
//! folders that they may enter, waiting, and a harness for test programs.
//!
//! It is for tests alone, so that every crate may use it. [`conformance`] is the suite that every
//! engine passes: it must never know what an engine is measured for, or how. [`synthetic`] makes
//! run folders without a run.

mod allocations;
mod clock;
pub mod conformance;
mod folder;
mod harness;
mod port;
mod process;
mod skip;
pub mod synthetic;
mod tmpfs;
mod user;

pub use allocations::{CountingAllocator, count_allocations};
pub use clock::{PATIENCE, Since};
pub use folder::{folder_for_all, open_to_all, write_script};
pub use harness::{Test, run};
pub use port::ClosedPort;
pub use process::{children, comes_while, ended_within, in_time, wait_until};
pub use skip::{in_ci, needs, skip};
pub use tmpfs::{Full, Tmpfs};
pub use user::{AS_NOBODY, NOBODY, is_root, needs_root, run_test_again};
