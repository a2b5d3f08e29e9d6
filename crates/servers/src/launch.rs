//! What a server is started with, and where it keeps what.

use std::path::PathBuf;

/// What a server is started with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// The folder of its data (`data`) and its temporary files (`tmp`); its own alone. It is made
    /// when it is not there. Where bakeoff is root's it stays root's, and those two alone are given
    /// to the user that the server runs as.
    pub directory: PathBuf,
    /// The folder of its socket and log, its own alone, given to that user. `None`: `server` in
    /// `directory`.
    pub runtime: Option<PathBuf>,
    /// The server's settings, by name. The last one of a name counts.
    pub settings: Vec<(String, String)>,
    /// The control groups that its processes belong into: each group's `cgroup.procs`.
    pub groups: Vec<PathBuf>,
}

/// A setting's name in one of the spellings that it may have.
pub fn spelling(name: &str) -> String {
    name.replace('-', "_").to_ascii_lowercase()
}

/// Where a server keeps what, as the server or this process sees it.
#[derive(Debug)]
pub struct ServerPlaces {
    /// All that is its own, but for `runtime`.
    pub directory: PathBuf,
    /// Its data.
    pub data: PathBuf,
    /// Its temporary files.
    pub temporary: PathBuf,
    /// Socket and log.
    pub runtime: PathBuf,
    /// Its socket.
    pub socket: PathBuf,
    /// Its log.
    pub log: PathBuf,
}
