//! Child processes: each trial has one, so that nothing outlives it. Messages are lines.

mod family;
pub mod job;
mod output;
mod parent;

pub use output::MessageOutput;
pub use parent::{ChildProcess, ChildProgram, ReceiveOutcome};
