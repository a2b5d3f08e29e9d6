//! What the tests of several crates share: what a machine lacks for a test, and ordinary users.
//!
//! It is for tests alone, so that every crate may use it: it must never know another crate of this
//! workspace, nor any engine, disk or trial.

mod skip;
mod user;

pub use skip::{in_ci, needs, skip};
pub use user::{AS_NOBODY, NOBODY, is_root, needs_root};
