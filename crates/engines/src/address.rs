//! Where a database can be reached by programs that are not bakeoff's own.

use std::path::PathBuf;

use crate::external::password::Secret;

/// Where a database is. Its `Debug` shows no password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DatabaseAddress {
    /// Its files, or the folder that they are in, are opened by the program itself.
    Files(PathBuf),
    /// A server answers.
    Server(ServerAddress),
}

/// Where a server answers, and what it is to be asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerAddress {
    /// Where it listens.
    pub listens: Listens,
    /// Who its clients are.
    pub user: String,
    /// What these have to know, if anything.
    pub password: Option<Secret>,
    /// The name of the database that has the tables.
    pub database: String,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listens {
    /// On a Unix socket, by the path of its file.
    Socket(PathBuf),
    /// On a port of a machine.
    Port {
        /// The machine's name or its address.
        host: String,
        /// The number of the port.
        port: u16,
    },
}
