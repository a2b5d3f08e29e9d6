//! The tests of the crate's public face.

mod common;
mod cuts;
mod declared;
mod experiments;
mod guide;
mod keys;
mod messages;
mod options;
mod plans;
mod published;
mod shards;
