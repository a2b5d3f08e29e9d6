//! The virtual disk through a mount: everything an engine does to a file system, against models of
//! what should come of it.

#[path = "fuse/common.rs"]
mod common;
#[path = "fuse/failures.rs"]
mod failures;
#[path = "fuse/fsx.rs"]
mod fsx;
#[path = "fuse/histories.rs"]
mod histories;
#[path = "fuse/model.rs"]
mod model;
#[path = "fuse/reality.rs"]
mod reality;
#[path = "fuse/scale.rs"]
mod scale;
