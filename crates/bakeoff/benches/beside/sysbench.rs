//! sysbench, as its users run it.

use std::path::Path;
use std::process::Command;

use crate::usage::{self, accounted, figure, output};
use crate::work::Work;

/// Threads of its test `fileio`.
pub const THREADS: usize = 16;

/// Whether there is one of the version that `oltp` and `fileio-sysbench` follow.
///
/// # Errors
/// What is missing, and how to install it.
pub fn available() -> Result<(), String> {
    usage::is_installed(["sysbench", "--version"], "1.0.20", "sysbench")
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
    let count = figure(&said, "transactions:");
    let each = figure(&said, "queries:") / count;
    Work { count, seconds: figure(&said, "total time:"), cpu: whole - start, each }
}

/// Its test of files works in the folder that it is started in.
fn files_command(folder: &Path) -> Command {
    let mut command = Command::new("sysbench");
    command.current_dir(folder);
    command.args(["fileio", "--file-total-size=256M", "--file-num=128", "--file-block-size=16384"]);
    command
}

/// Makes its files in a folder.
pub fn prepare_files(folder: &Path) {
    output(files_command(folder).arg("prepare"));
}

/// Runs a test of files for so many seconds.
pub fn run_files(folder: &Path, test: &str, seconds: u32) -> Work {
    let of = |limits: [String; 2]| {
        let mut command = files_command(folder);
        command.args([format!("--file-test-mode={test}"), format!("--threads={THREADS}")]);
        accounted(command.args(limits).arg("run"))
    };
    // All of its start, and one request.
    let (_, start) = of(["--time=0".into(), "--events=1".into()]);
    let (said, whole) = of([format!("--time={seconds}"), "--events=0".into()]);
    let ran = figure(&said, "total time:");
    let count = (figure(&said, "reads/s:") + figure(&said, "writes/s:")) * ran;
    Work { count, seconds: ran, cpu: whole - start, each: 1.0 }
}
