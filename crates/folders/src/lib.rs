//! Folders that somebody else can write in, read by descriptors: no link is followed, so a swapped
//! entry leads nowhere else, and opening never waits. [`trust`] says who owns a folder.
//!
//! This crate must never know what is kept in a folder, a run or an engine.

mod dir;
pub mod trust;
mod walk;

pub use dir::{Dir, EntryKind, FolderEntry};
pub use walk::{disk_usage, each_file};
