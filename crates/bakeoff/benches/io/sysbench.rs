//! sysbench's test `fileio`, as its users run it.

use std::path::Path;
use std::process::Command;

use crate::Work;
use crate::usage::{accounted, figure};

/// Its threads.
pub const THREADS: usize = 16;

/// Whether there is one of the version that `fileio-sysbench` follows.
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

/// It works in the folder that it is started in.
fn command(folder: &Path) -> Command {
    let mut command = Command::new("sysbench");
    command.current_dir(folder);
    command.args(["fileio", "--file-total-size=256M", "--file-num=128", "--file-block-size=16384"]);
    command
}

/// Makes its files in a folder.
pub fn prepare(folder: &Path) {
    accounted(command(folder).arg("prepare"));
}

/// Runs a test for so many seconds.
pub fn run(folder: &Path, test: &str, seconds: u32) -> Work {
    let of = |limits: [String; 2]| {
        let mut command = command(folder);
        command.args([format!("--file-test-mode={test}"), format!("--threads={THREADS}")]);
        accounted(command.args(limits).arg("run"))
    };
    // All of its start, and one request.
    let (_, start) = of(["--time=0".into(), "--events=1".into()]);
    let (said, whole) = of([format!("--time={seconds}"), "--events=0".into()]);
    let ran = figure(&said, "total time:");
    let requests = (figure(&said, "reads/s:") + figure(&said, "writes/s:")) * ran;
    Work { requests, seconds: ran, cpu: whole - start }
}
