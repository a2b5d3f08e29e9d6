//! The terms of a server's start, and the places of its files.

use std::path::PathBuf;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// The folder of its data (`data`) and its temporary files (`tmp`), used by nothing else. It is
    /// made if missing. Under root it stays root's; only those two are given to the server's user.
    pub directory: PathBuf,
    /// The folder of socket and log, used by nothing else, given to that user. `None`: `server` in
    /// `directory`.
    pub runtime: Option<PathBuf>,
    /// Settings by name; the last of a name counts.
    pub settings: Vec<(String, String)>,
    pub groups: Vec<PathBuf>,
}

pub fn to_spelling(name: &str) -> String {
    name.replace('-', "_").to_ascii_lowercase()
}

/// The server's paths, as the server or this process sees them.
#[derive(Debug)]
pub struct ServerPlaces {
    pub directory: PathBuf,
    pub data: PathBuf,
    pub temporary: PathBuf,
    pub runtime: PathBuf,
    pub socket: PathBuf,
    pub log: PathBuf,
}
