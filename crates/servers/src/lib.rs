//! Private database servers: initialises, starts, waits for, stops and kills them.
//!
//! A server's data, socket and log are in folders that its caller names; it has no TCP port, reads
//! no configuration but the settings it is given, and never touches the system's own instance. It
//! dies with the process that started it. This crate must never know what is stored in a server,
//! who connects to it, or why.

mod account;
mod error;
mod installed;
mod kind;
mod launch;
mod lock;
mod log;
mod mounts;
mod places;
mod process;
mod program;
mod server;
mod settings;
mod shared;
mod sync;

pub use error::{Error, Result};
pub use installed::Installed;
pub use launch::Launch;
pub use program::Program;
pub use server::Server;
pub use settings::{Standing, Why};
