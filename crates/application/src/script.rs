//! Scripts: pgbench's syntax with a few more commands, compiled to steps.

pub mod automatic;
pub mod commands;
mod compile;
mod invariants;
pub mod pieces;
mod statements;
pub mod steps;
mod transactions;

pub use compile::ScriptCompiler;
