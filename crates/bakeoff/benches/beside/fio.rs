//! fio, as those run it who want the most of it.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::usage::{self, accounted};
use crate::work::Work;

/// Whether there is one of the version that the limits are for.
///
/// # Errors
/// What is missing, and how to install it.
pub fn available() -> Result<(), String> {
    usage::is_installed(["fio", "--version"], "3.33", "fio")
}

/// Random reads of a file that is there.
pub struct Reads<'a> {
    pub file: &'a Path,
    /// Whether around the page cache.
    pub direct: bool,
    /// How many at once.
    pub depth: usize,
}

impl Reads<'_> {
    /// Reads for so many seconds.
    pub fn run(&self, seconds: u32) -> Work {
        // All of its start, and one read.
        let (_, start) = accounted(self.command().arg("--number_ios=1"));
        let mut command = self.command();
        let (said, whole) =
            accounted(command.args(["--time_based", &format!("--runtime={seconds}")]));
        // Notes may stand before the JSON.
        let text = said.find('{').map(|start| &said[start..]).expect("fio prints JSON");
        let json: Value = serde_json::from_str(text).expect("fio prints JSON");
        let figure = |path: &str| {
            let found = json.pointer(path).and_then(Value::as_f64);
            found.unwrap_or_else(|| panic!("fio told no {path}:\n{said}"))
        };
        let (count, ran) = (figure("/jobs/0/read/total_ios"), figure("/jobs/0/read/runtime"));
        Work { count, seconds: ran / 1000.0, cpu: whole - start, each: 1.0 }
    }

    fn command(&self) -> Command {
        let mut command = Command::new("fio");
        command.args(["--name=job", "--output-format=json", "--rw=randread", "--bs=4k"]);
        // Another row of blocks each time, without a note of those that were read; and what the page cache has
        // stays there.
        command.args(["--norandommap", "--randrepeat=0", "--invalidate=0"]);
        command.args(["--ioengine=io_uring", "--registerfiles", "--fixedbufs"]);
        command.arg(format!("--filename={}", self.file.display()));
        let size = self.file.metadata().expect("the file is there").len();
        command.arg(format!("--size={size}"));
        command.arg(format!("--direct={}", u8::from(self.direct)));
        command.arg(format!("--iodepth={}", self.depth));
        command
    }
}
