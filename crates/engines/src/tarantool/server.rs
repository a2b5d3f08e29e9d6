//! Tarantool's server: where it is installed, how it is started and stopped.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use bakeoff_servers::{Launch, Review, ServerPlaces, ServerProduct, ServerProgram, Signal};

use super::client::{GREETING, NAME};
use super::review::REVIEW;
use super::storage::TarantoolStorage;

/// What it runs, one script: the functions that sessions call, and its configuration.
const SCRIPT: &str = concat!(
    include_str!("spaces.lua"),
    include_str!("memtx.lua"),
    include_str!("vinyl.lua"),
    include_str!("server.lua"),
);
/// How long one look at the socket may take.
const LOOK: Duration = Duration::from_secs(1);

/// The server that is found where one is usually put, with its tables in either storage.
pub(super) static MEMTX: ServerProgram =
    ServerProgram::usual(&TarantoolServer(TarantoolStorage::Memtx));
pub(super) static VINYL: ServerProgram =
    ServerProgram::usual(&TarantoolServer(TarantoolStorage::Vinyl));

/// The kind of server that Tarantool is.
#[derive(Debug)]
struct TarantoolServer(TarantoolStorage);

/// Adds the script, and what it is to do. Tarantool goes on after an expression only where it has a file, too.
fn run(command: &mut Command, task: &str) {
    command.args(["-e", SCRIPT, "/dev/null", task]);
}

fn give(command: &mut Command, settings: &[(String, String)]) {
    command.args(settings.iter().map(|(name, value)| format!("{name}={value}")));
}

impl ServerProduct for TarantoolServer {
    fn name(&self) -> &'static str {
        "Tarantool"
    }

    fn package(&self) -> &'static str {
        "tarantool"
    }

    fn user(&self) -> &'static str {
        "tarantool"
    }

    /// It initialises a folder itself.
    fn executables(&self) -> [&'static str; 2] {
        ["tarantool", "tarantool"]
    }

    fn folders(&self) -> &'static [&'static str] {
        &["/usr/bin", "/usr/local/bin"]
    }

    fn subfolders(&self) -> &'static [&'static str] {
        &["bin", ""]
    }

    fn oldest(&self) -> (u32, u32) {
        (2, 6)
    }

    fn socket(&self) -> &'static str {
        "tarantool.sock"
    }

    fn separator(&self) -> Option<char> {
        None
    }

    fn stale(&self, places: &ServerPlaces) -> Vec<PathBuf> {
        vec![places.socket.clone()]
    }

    fn review(&self) -> &'static Review {
        &REVIEW
    }

    fn complaints(&self) -> &'static [&'static str] {
        &[" E> ", "F> "]
    }

    /// With no setting: none of them counts for what an empty database has.
    fn initialise(&self, command: &mut Command, _: &ServerPlaces, data: &Path, _: &Launch) {
        run(command, "initialise");
        command.arg(data);
    }

    fn serve(&self, command: &mut Command, places: &ServerPlaces, launch: &Launch) {
        run(command, "serve");
        command.arg(&places.data).arg(&places.socket).arg(self.0.engine());
        give(command, &launch.settings);
    }

    fn try_settings(&self, command: &mut Command, settings: &[(String, String)]) {
        run(command, "try");
        give(command, settings);
    }

    fn stop(&self) -> Signal {
        Signal::TERM
    }

    /// The script has it listen once it has recovered; it greets whoever comes.
    fn answers(&self, places: &ServerPlaces) -> bool {
        greeting(&places.socket).is_ok_and(|greeting| greeting.starts_with(NAME))
    }
}

fn greeting(socket: &Path) -> io::Result<[u8; GREETING]> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(LOOK))?;
    let mut greeting = [0; GREETING];
    stream.read_exact(&mut greeting)?;
    Ok(greeting)
}
