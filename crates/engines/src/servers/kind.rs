//! The particulars of each kind of server. Nothing here knows any kind by its name.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub use rustix::process::Signal;

use crate::servers::launch::{Launch, ServerPlaces};
use crate::servers::settings::Review;

/// A kind of server, such as PostgreSQL.
pub trait ServerProduct: Sync + fmt::Debug {
    fn name(&self) -> &'static str;

    fn package(&self) -> &'static str;

    /// The user that it runs as if bakeoff runs as root.
    fn user(&self) -> &'static str;

    /// The server's program, and the one that initialises a data folder.
    fn executables(&self) -> [&'static str; 2];

    /// Usual folders of installations beside PATH; `*` stands for a version, the newest wins.
    fn usual_folders(&self) -> &'static [&'static str];

    /// The programs' folder in an installation; empty for the folder itself.
    fn subfolders(&self) -> &'static [&'static str];

    fn oldest_version(&self) -> (u32, u32);

    fn socket_name(&self) -> &'static str;

    /// Files of a killed server that could keep the next one from starting.
    fn stale_files(&self, places: &ServerPlaces) -> Vec<PathBuf>;

    fn review(&self) -> &'static Review;

    /// Marks that precede an error in a line of its log.
    fn complaint_marks(&self) -> &'static [&'static str];

    /// Adds arguments that initialise the folder `data`, with the settings that count then.
    fn initialise(
        &self,
        command: &mut Command,
        places: &ServerPlaces,
        data: &Path,
        launch: &Launch,
    );

    /// Adds arguments to serve, with the settings.
    fn serve(&self, command: &mut Command, places: &ServerPlaces, launch: &Launch);

    /// Adds arguments that say where the server's own files are: it may have been built for another
    /// folder.
    fn relocate(&self, command: &mut Command, folder: &Path) {
        let _ = (command, folder);
    }

    /// Adds arguments that make it read these settings, report errors, and end.
    fn try_settings(&self, command: &mut Command, settings: &[(String, String)]);

    fn stop_signal(&self) -> Signal;

    /// Whether a server answers at its socket and would take a client.
    fn answers(&self, places: &ServerPlaces) -> bool;

    /// Asked once it answers: whether a test of its own, beside the process, finds it ready.
    fn passes_test(&self, places: &ServerPlaces, pid: u32) -> bool {
        let _ = (places, pid);
        true
    }

    /// How long it may take until it answers.
    fn start_time(&self) -> Duration {
        Duration::from_secs(60)
    }

    /// How long it may take to stop in order.
    fn stop_time(&self) -> Duration {
        Duration::from_secs(300)
    }
}

impl fmt::Display for dyn ServerProduct {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
