//! The disk through a mount.

mod failures;
mod fsx;
mod histories;
mod reality;
mod scale;
mod write_back;
