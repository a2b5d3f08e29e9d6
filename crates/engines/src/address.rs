//! The addresses at which programs other than bakeoff reach a database.

use std::path::PathBuf;

use crate::external::password::Secret;

/// Where a database is. Its `Debug` shows no password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseAddress {
    /// A program opens the files, or the folder that they are in, by itself.
    Files(PathBuf),
    /// A server answers.
    Server(ServerAddress),
}

/// A server's address, and what a client needs to log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    /// Where it listens.
    pub listens: ListenAddress,
    /// The user to log in as.
    pub user: String,
    /// The password, if one is needed.
    pub password: Option<Secret>,
    /// The name of the database that has the tables.
    pub database: String,
}

/// A socket or a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// The path of a Unix socket.
    Socket(PathBuf),
    /// A TCP port of a machine.
    Port {
        /// The machine's name or address.
        host: String,
        /// The port's number.
        port: u16,
    },
}
