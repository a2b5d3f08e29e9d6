//! What the tests of several crates share: what a machine lacks for a test, ordinary users, folders
//! that they may enter, waiting, and a harness for programs that are their own.
//!
//! It is for tests alone, so that every crate may use it: it must never know another crate of this
//! workspace, nor any engine, disk or trial.

mod clock;
mod folder;
mod harness;
mod port;
mod process;
mod skip;
mod tmpfs;
mod user;

pub use clock::{PATIENCE, Since};
pub use folder::{folder_for_all, open_to_all, write_script};
pub use harness::{Test, run};
pub use port::ClosedPort;
pub use process::{children, comes_while, ended_within, in_time, wait_until};
pub use skip::{in_ci, needs, skip};
pub use tmpfs::{Full, Tmpfs};
pub use user::{AS_NOBODY, NOBODY, is_root, needs_root};
