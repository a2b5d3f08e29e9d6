//! A file a command.

pub mod disk;
pub mod doctor;
pub mod list;
pub mod report;
pub mod run;
pub mod trial;
