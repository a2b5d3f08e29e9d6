//! What is particular to each kind of server. A kind is a value of whoever uses it: nothing here
//! knows any by its name.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

pub use rustix::process::Signal;

use crate::launch::{Launch, ServerPlaces};
use crate::settings::Review;

/// What is particular to one kind of server.
pub trait ServerProduct: Sync + fmt::Debug {
    /// Its name, as its users write it.
    fn name(&self) -> &'static str;

    /// Debian's package.
    fn package(&self) -> &'static str;

    /// The user that it runs as when bakeoff is root's.
    fn user(&self) -> &'static str;

    /// The server's program, and the one that initialises a data folder.
    fn executables(&self) -> [&'static str; 2];

    /// Folders that it is often installed in beside those in PATH; `*` stands for a version, of
    /// which the newest counts.
    fn folders(&self) -> &'static [&'static str];

    /// Where in the folder of an installation its programs are; empty for the folder itself.
    fn subfolders(&self) -> &'static [&'static str];

    /// The first version that will do.
    fn oldest(&self) -> (u32, u32);

    /// The name of its socket, in the runtime folder.
    fn socket(&self) -> &'static str;

    /// The letter that would end the path of its temporary files: it takes a list of them.
    fn separator(&self) -> Option<char>;

    /// Files of a killed server that could keep another one from starting, though nothing of it
    /// runs any more.
    fn stale(&self, places: &ServerPlaces) -> Vec<PathBuf>;

    /// Who may set which of its settings.
    fn review(&self) -> &'static Review;

    /// What stands before the words of an error, in a line of its log.
    fn complaints(&self) -> &'static [&'static str];

    /// Adds to a command what has it initialise the folder `data`, with the settings that count
    /// when a folder is initialised.
    fn initialise(
        &self,
        command: &mut Command,
        places: &ServerPlaces,
        data: &Path,
        launch: &Launch,
    );

    /// Adds to a command what has it serve, with the settings.
    fn serve(&self, command: &mut Command, places: &ServerPlaces, launch: &Launch);

    /// Adds to a server's whole command what has it find its own files below this folder, where it is
    /// installed: it may have been built for another one.
    fn relocate(&self, command: &mut Command, folder: &Path) {
        let _ = (command, folder);
    }

    /// Adds to a command what has it read these settings, say what is wrong with them, and end.
    fn try_settings(&self, command: &mut Command, settings: &[(String, String)]);

    /// The signal that stops it in order, without waiting for its clients.
    fn stop(&self) -> Signal;

    /// Whether a server answers at its socket, and would take a client.
    fn answers(&self, places: &ServerPlaces) -> bool;
}

impl fmt::Display for dyn ServerProduct {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
