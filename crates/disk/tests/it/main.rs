//! The virtual disk, without FUSE and through a mount: all that an engine does to a file system, and
//! what a power cut leaves of it, against models of what should come of it.

// The plug's tests use more of these.
#[allow(dead_code)]
#[path = "../../../devices/tests/plug/commands.rs"]
mod commands;
#[allow(dead_code)]
#[path = "../../../devices/tests/plug/driver.rs"]
mod driver;
#[allow(dead_code)]
#[path = "../../../devices/tests/plug/model.rs"]
mod model;
#[path = "../../../devices/tests/plug/seen.rs"]
mod seen;

mod armed;
mod attributes;
mod disk;
mod ext4;
mod fuse;
mod materialise;
mod neighbours;
mod snapshot;
mod trace;
mod unsynced;
