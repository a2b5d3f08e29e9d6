//! A workload from a folder of SQL: a user's own application, or a few pgbench scripts.
//!
//! The folder has `schema.sql`, one `OPERATION.sql` a file, and `workload.toml`. They are compiled
//! once, into tables, statements, numbered slots and steps; a mistake is told with its file, line
//! and column. It must never know which engine runs the statements, how operations are timed, or
//! what becomes of the figures.

#![warn(missing_docs)]

mod application;
mod audit;
mod built_in;
mod claims;
mod client;
mod configuration;
mod copied;
mod datum;
mod example;
mod expression;
mod files;
mod found;
mod generators;
mod given;
mod mistakes;
mod mix;
mod pgbench;
mod prepared;
mod program;
mod rows;
mod script;
mod slots;
mod sql;
mod workload;

pub use application::Application;
pub use built_in::{find_built_in, list_built_in};
pub use copied::{CopiedRows, CopiedTable, CopyRequest};
pub use datum::Datum;
pub use example::{EXAMPLES, ExampleFolder};
pub use files::{ApplicationFiles, ScriptArgument};
pub use found::FoundApplication;
pub use mistakes::{Mistake, Mistakes, SourcePlace};
pub use program::ProgramFolder;
pub use slots::{Slot, Slots};
