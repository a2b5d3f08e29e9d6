//! The virtual disk through a mount: everything an engine does to a file system, against models of
//! what should come of it.

mod common;
mod failures;
mod fsx;
mod histories;
mod model;
mod reality;
mod scale;
