//! Child processes: each trial has one, so that nothing outlives it. Messages are lines.

mod family;
pub mod job;
mod output;
mod parent;

pub(crate) use family::end_family;
pub use output::MessageOutput;
pub use parent::{ChildProcess, ChildProgram, ReceiveOutcome};
