//! PostgreSQL's server: where it is installed, how it is started and stopped.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::servers::{Launch, Review, ServerPlaces, ServerProduct, ServerProgram, Signal};
use bakeoff_folders::Dir;

use super::review::REVIEW;

const LOOK: Duration = Duration::from_secs(1);
const PID_FILE: &str = "postmaster.pid";
/// The line of that file, from 0, with the process's state.
const STATUS_LINE: usize = 7;
const LONGEST_STATUS: u64 = 16 << 10;
const PROTOCOL: u32 = 3 << 16;
/// The first byte of an answer that asks for no password, and of an error.
const AUTHENTICATION: u8 = b'R';
const ERROR: u8 = b'E';
/// The error field for "the database system is starting up" (or shutting down).
const NOT_YET: &[u8] = b"\0C57P03\0";

pub static POSTGRES: ServerProgram = ServerProgram::from_kind(&PostgresServer);

#[derive(Debug)]
pub(super) struct PostgresServer;

impl ServerProduct for PostgresServer {
    fn name(&self) -> &'static str {
        "PostgreSQL"
    }

    fn package(&self) -> &'static str {
        "postgresql"
    }

    fn user(&self) -> &'static str {
        "postgres"
    }

    fn executables(&self) -> [&'static str; 2] {
        ["postgres", "initdb"]
    }

    fn usual_folders(&self) -> &'static [&'static str] {
        &[
            "/usr/lib/postgresql/*/bin",
            "/usr/pgsql-*/bin",
            "/usr/bin",
            "/usr/local/bin",
            "/usr/local/pgsql/bin",
        ]
    }

    fn subfolders(&self) -> &'static [&'static str] {
        &["bin", ""]
    }

    fn oldest_version(&self) -> (u32, u32) {
        (13, 0)
    }

    fn socket_name(&self) -> &'static str {
        ".s.PGSQL.5432"
    }

    fn stale_files(&self, places: &ServerPlaces) -> Vec<PathBuf> {
        // They name a process by a number that may be another one's by now.
        let lock = places.runtime.join(format!("{}.lock", self.socket_name()));
        vec![places.socket.clone(), lock, places.data.join(PID_FILE)]
    }

    fn review(&self) -> &'static Review {
        &REVIEW
    }

    fn complaint_marks(&self) -> &'static [&'static str] {
        &["FATAL: ", "PANIC: "]
    }

    fn initialise(&self, command: &mut Command, _: &ServerPlaces, data: &Path, _: &Launch) {
        command
            .arg(format_option("--pgdata=", data))
            .args(["--username=bakeoff", "--auth-local=trust"]);
        // With a TCP port, a rule must say who may connect.
        command.arg("--auth-host=reject").args(["--encoding=UTF8", "--no-locale"]);
        // All of it is synced once, at the end.
        command.arg("--no-sync");
    }

    fn serve(&self, command: &mut Command, places: &ServerPlaces, launch: &Launch) {
        command.arg("-D").arg(&places.data);
        for (name, value) in &launch.settings {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        // It is a list, so the path is quoted.
        let mut folder = OsString::from("unix_socket_directories=\"");
        folder.push(&places.runtime);
        folder.push("\"");
        // After all settings: the last one counts.
        command.arg("-c").arg(folder).args(["-c", "listen_addresses=", "-c", "port=5432"]);
        command.args(["-c", "logging_collector=off", "-c", "log_destination=stderr"]);
        // The only kind that goes with the server's name space when it is killed.
        command.args(["-c", "dynamic_shared_memory_type=sysv"]);
    }

    /// The server reads all settings before it prints one; it wants a data folder, and reads no
    /// file there.
    fn try_settings(&self, command: &mut Command, settings: &[(String, String)]) {
        command.args(["-C", "port", "-D", "/", "-c", "config_file=/dev/null"]);
        for (name, value) in settings {
            command.arg("-c").arg(format!("{name}={value}"));
        }
    }

    fn stop_signal(&self) -> Signal {
        Signal::INT
    }

    fn answers(&self, places: &ServerPlaces) -> bool {
        // The file is read first: a client that comes during recovery makes a line in the log.
        let status = read_status(&places.data).unwrap_or_default();
        let ready = status.lines().nth(STATUS_LINE).is_some_and(|line| line.trim() == "ready");
        ready
            && ask_for_entry(&places.socket).is_ok_and(|answer| match answer.first() {
                Some(&AUTHENTICATION) => true,
                Some(&ERROR) => !answer.windows(NOT_YET.len()).any(|part| part == NOT_YET),
                _ => false,
            })
    }
}

fn read_status(data: &Path) -> io::Result<String> {
    let mut status = String::new();
    Dir::open(data)?.open_for_read(PID_FILE)?.take(LONGEST_STATUS).read_to_string(&mut status)?;
    Ok(status)
}

fn ask_for_entry(socket: &Path) -> io::Result<Vec<u8>> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(LOOK))?;
    let mut body = PROTOCOL.to_be_bytes().to_vec();
    body.extend_from_slice(b"user\0bakeoff\0database\0postgres\0\0");
    let length = u32::try_from(body.len() + 4).expect("it is short");
    stream.write_all(&length.to_be_bytes())?;
    stream.write_all(&body)?;
    let mut answer = vec![0; 1024];
    let read = stream.read(&mut answer)?;
    answer.truncate(read);
    // Says goodbye; the server may be gone already.
    let _ = stream.write_all(b"X\0\0\0\x04");
    Ok(answer)
}

fn format_option(name: &str, path: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(path);
    option
}
