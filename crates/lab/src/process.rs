//! Child processes: each trial has one, so that nothing outlives it. Messages are lines.

mod family;
pub mod job;
mod output;
mod parent;

pub use family::end_children;
pub(crate) use family::{end_family, list_children};
pub use output::MessageOutput;
pub use parent::{ChildProcess, ChildProgram, ReceiveOutcome};
