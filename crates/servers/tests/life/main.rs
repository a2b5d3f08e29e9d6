//! Real servers, through the life that a trial gives them. Where a server is not installed its
//! tests are skipped, except in continuous integration.

mod client;
mod ends;
mod refusals;
mod settings;
mod starts;

use bakeoff_servers::{Launch, Program};
use tempfile::TempDir;

/// Every server.
const PROGRAMS: [Program; 2] = [Program::MariaDb, Program::Postgres];

/// A server's folder, and how it is launched in it.
struct Home {
    folder: TempDir,
    launch: Launch,
}

impl Home {
    /// A folder of its own. Its path is short, and any user may look for what is in it.
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("bakeoff-").tempdir_in("/tmp");
        let folder = folder.expect("a temporary folder");
        let directory = folder.path().join("database");
        open(folder.path());
        Self { folder, launch: Launch { directory, ..Launch::default() } }
    }

    /// The same, with an initialised data folder.
    fn initialised(program: Program) -> Self {
        let home = Self::new();
        bakeoff_servers::Server::initialise(program, &home.launch).expect("it is installed");
        home
    }

    /// Sets a setting.
    fn set(&mut self, name: &str, value: &str) {
        self.launch.settings.push((name.into(), value.into()));
    }
}

/// Lets every user through a folder.
fn open(folder: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o711);
    std::fs::set_permissions(folder, mode).expect("a folder of ours");
}

/// The servers that are installed. Says which are not; in continuous integration that is an error.
fn installed() -> impl Iterator<Item = Program> {
    PROGRAMS.into_iter().filter(|program| match program.find() {
        Ok(_) => true,
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "{error}");
            eprintln!("skipped: {error}");
            false
        }
    })
}
