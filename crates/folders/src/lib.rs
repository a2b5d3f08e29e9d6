//! Folders that somebody else can write in, read by descriptors: no link is followed, so that what
//! is swapped meanwhile leads nowhere else, and nothing is opened that waits or is a device.
//!
//! This crate must never know whose the folders are or what is in their files.

mod dir;
mod walk;

pub use dir::{Dir, EntryKind, FolderEntry};
pub use walk::{each_file, space};
