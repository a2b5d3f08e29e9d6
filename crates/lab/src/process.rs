//! Processes of bakeoff's own: each trial has one, so that nothing of it outlives it. They are
//! spoken to by lines.

pub mod child;
mod family;
pub mod job;
pub mod open_files;
mod parent;

pub use child::Output;
pub use parent::{Heard, Process};
