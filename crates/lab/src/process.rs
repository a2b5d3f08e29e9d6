//! Processes of bakeoff's own: each trial has one, so that nothing of it outlives it. They are
//! spoken to by lines.

mod family;
pub mod job;
mod output;
mod parent;

pub use output::MessageOutput;
pub use parent::{ChildProcess, ChildProgram, Received};
