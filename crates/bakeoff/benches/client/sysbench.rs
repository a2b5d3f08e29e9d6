//! sysbench, as its users run it.

use std::path::Path;
use std::process::Command;

use crate::Work;
use crate::usage::{accounted, figure, output};

/// Whether there is one of the version that `oltp` follows.
///
/// # Errors
/// What is missing, and how to install it.
pub fn available() -> Result<(), String> {
    let install = "install sysbench 1.0.20, as by apt-get install sysbench";
    let asked = Command::new("sysbench").arg("--version").output();
    let asked = asked.map_err(|_| format!("sysbench is missing: {install}"))?;
    let version = String::from_utf8_lossy(&asked.stdout);
    match version.starts_with("sysbench 1.0.20") {
        true => Ok(()),
        false => Err(format!("{} is another version: {install}", version.trim())),
    }
}

fn command(socket: &Path, script: &str, rows: u64) -> Command {
    let mut command = Command::new("sysbench");
    command.args([script, "--tables=1", "--mysql-user=root", "--mysql-db=bakeoff"]);
    command.arg(format!("--table-size={rows}"));
    command.arg(format!("--mysql-socket={}", socket.display()));
    command
}

/// Creates and fills the table in a storage engine.
pub fn prepare(socket: &Path, storage: &str, rows: u64) {
    let mut command = command(socket, "oltp_read_write", rows);
    output(command.arg(format!("--mysql-storage-engine={storage}")).arg("prepare"));
}

/// Runs a test for so many seconds.
pub fn run(socket: &Path, test: &str, rows: u64, clients: usize, seconds: u32) -> Work {
    let script = format!("oltp_{test}");
    // All of its start, and nothing else.
    let (_, start) = accounted(command(socket, &script, rows).arg("help"));
    let mut command = command(socket, &script, rows);
    command.args([format!("--threads={clients}"), format!("--time={seconds}")]);
    let (said, whole) = accounted(command.arg("run"));
    let transactions = figure(&said, "transactions:");
    Work {
        transactions,
        seconds: figure(&said, "total time:"),
        cpu: whole - start,
        queries_each: Some(figure(&said, "queries:") / transactions),
    }
}
