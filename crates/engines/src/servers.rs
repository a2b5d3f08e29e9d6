//! Private database servers: finds, initialises, starts, waits for, stops and kills them.
//!
//! A server's data, socket and log are in folders that its caller names; it has no TCP port, reads
//! no configuration but the settings it is given, and never touches the system's own instance. It
//! dies with the process that started it. What a kind of server needs is told in a [`ServerProduct`]. This
//! module must never know a server by its name, what is stored in it, who connects to it, or why.

#![allow(missing_docs)]

mod account;
mod error;
mod kind;
mod launch;
mod listening;
mod lock;
mod log;
#[cfg(test)]
mod made_up;
mod mounts;
mod places;
mod process;
mod program;
mod server;
mod settings;
mod shared;
mod sync;
mod user;

pub use account::ServerAccount;
pub use error::{Error, Result};
pub use kind::{ServerProduct, Signal};
pub use launch::{Launch, ServerPlaces, to_spelling};
pub use listening::find_open_port;
pub use program::{InstalledServer, ServerProgram};
pub use server::PrivateServer;
pub use settings::{Review, SettingStanding, TrustReason};
pub use user::ServerUser;

/// The folder of its socket as a server with mounts of its own sees it.
pub const MOUNTED_RUNTIME: &str = mounts::Mounts::RUNTIME;

/// Whether servers reach their folders by plain paths as other users, so that the folders above
/// must let them through: if root can't give them mounts of their own.
pub fn servers_go_by_path() -> bool {
    rustix::process::geteuid().is_root() && !mounts::Mounts::can_be_had()
}
