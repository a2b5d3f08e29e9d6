//! Tarantool's server: where it is installed, how it is started and stopped.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::servers::{Launch, Review, ServerPlaces, ServerProduct, ServerProgram, Signal};

use super::client::{GREETING, NAME};
use super::review::REVIEW;
use super::storage::TarantoolStorage;

const SCRIPT: &str = concat!(
    include_str!("spaces.lua"),
    include_str!("memtx.lua"),
    include_str!("vinyl.lua"),
    include_str!("server.lua"),
);
const LOOK: Duration = Duration::from_secs(1);

pub(super) static MEMTX: ServerProgram =
    ServerProgram::from_kind(&TarantoolServer(TarantoolStorage::Memtx));
pub(super) static VINYL: ServerProgram =
    ServerProgram::from_kind(&TarantoolServer(TarantoolStorage::Vinyl));

#[derive(Debug)]
struct TarantoolServer(TarantoolStorage);

/// Tarantool goes on after an expression only if it has a file, too.
fn run(command: &mut Command, task: &str) {
    command.args(["-e", SCRIPT, "/dev/null", task]);
}

fn give_settings(command: &mut Command, settings: &[(String, String)]) {
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

    fn executables(&self) -> [&'static str; 2] {
        ["tarantool", "tarantool"]
    }

    fn usual_folders(&self) -> &'static [&'static str] {
        &["/usr/bin", "/usr/local/bin"]
    }

    fn subfolders(&self) -> &'static [&'static str] {
        &["bin", ""]
    }

    fn oldest_version(&self) -> (u32, u32) {
        (2, 6)
    }

    fn socket_name(&self) -> &'static str {
        "tarantool.sock"
    }

    fn stale_files(&self, places: &ServerPlaces) -> Vec<PathBuf> {
        vec![places.socket.clone()]
    }

    fn review(&self) -> &'static Review {
        &REVIEW
    }

    fn complaint_marks(&self) -> &'static [&'static str] {
        &[" E> ", "F> "]
    }

    /// No setting counts for an empty database.
    fn initialise(&self, command: &mut Command, _: &ServerPlaces, data: &Path, _: &Launch) {
        run(command, "initialise");
        command.arg(data);
    }

    fn serve(&self, command: &mut Command, places: &ServerPlaces, launch: &Launch) {
        run(command, "serve");
        command.arg(&places.data).arg(&places.socket).arg(self.0.engine());
        give_settings(command, &launch.settings);
    }

    fn try_settings(&self, command: &mut Command, settings: &[(String, String)]) {
        run(command, "try");
        give_settings(command, settings);
    }

    fn stop_signal(&self) -> Signal {
        Signal::TERM
    }

    /// The script has it listen once it has recovered; it greets every client.
    fn answers(&self, places: &ServerPlaces) -> bool {
        read_greeting(&places.socket).is_ok_and(|greeting| greeting.starts_with(NAME))
    }
}

fn read_greeting(socket: &Path) -> io::Result<[u8; GREETING]> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(LOOK))?;
    let mut greeting = [0; GREETING];
    stream.read_exact(&mut greeting)?;
    Ok(greeting)
}
