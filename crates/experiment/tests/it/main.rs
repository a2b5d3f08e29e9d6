//! The tests of the crate's public face.

mod common;
mod experiments;
mod guide;
mod messages;
mod plans;
