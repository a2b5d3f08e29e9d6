//! The tests of the crate's public face.

mod common;
mod cuts;
mod experiments;
mod guide;
mod messages;
mod plans;
