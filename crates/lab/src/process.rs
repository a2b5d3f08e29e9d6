//! Processes of bakeoff's own: each trial has one, so that nothing of it outlives it. They are
//! spoken to by lines.

mod family;
pub mod job;
mod output;
mod parent;

pub use output::Output;
pub use parent::{Process, Program, Received};
