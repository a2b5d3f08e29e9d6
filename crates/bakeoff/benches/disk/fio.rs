//! fio as the client: jobs on a folder, and what came of them.

use std::path::Path;
use std::process::{Command, Stdio};

use bakeoff_testkit::is_root;
use serde_json::Value;

/// A job: fio's own words, without the dashes.
pub(crate) struct Job<'a> {
    /// Where its file is.
    pub folder: &'a Path,
    /// The file's name.
    pub file: &'a str,
    /// Bytes of the file.
    pub size: u64,
    /// How long it runs.
    pub seconds: f64,
    /// What it does.
    pub words: &'a [&'a str],
}

/// What a job reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reached {
    /// Reads and writes a second.
    pub per_second: f64,
    /// Bytes a second.
    pub bytes_per_second: f64,
    /// Mean time of a read or write, in seconds.
    pub latency: f64,
}

/// Whether there is a program; on Debian, as root, it is installed where it is missing.
pub(crate) fn have(program: &str) -> bool {
    let works =
        || Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success());
    if !works() && is_root() {
        let _ = Command::new("apt-get").args(["install", "-y", "-q", program]).output();
    }
    works()
}

impl Job<'_> {
    /// Runs it.
    ///
    /// # Panics
    /// When fio fails.
    pub(crate) fn run(&self) -> Reached {
        let mut fio = Command::new("fio");
        fio.args(["--name=job", "--output-format=json", "--time_based", "--randseed=1"]);
        fio.arg(format!("--filename={}", self.folder.join(self.file).display()));
        fio.arg(format!("--size={}", self.size));
        fio.arg(format!("--runtime={}ms", (self.seconds * 1000.0) as u64));
        fio.args(self.words.iter().map(|word| format!("--{word}")));
        let output = fio.stdin(Stdio::null()).output().expect("fio starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{fio:?}: {errors}");
        let text = String::from_utf8_lossy(&output.stdout);
        // Notes may stand before the JSON.
        let start = text.find('{').expect("fio prints JSON");
        let json: Value = serde_json::from_str(&text[start..]).expect("fio prints JSON");
        let jobs = json["jobs"].as_array().into_iter().flatten();
        let sides: Vec<&Value> = jobs.flat_map(|job| [&job["read"], &job["write"]]).collect();
        let figure = |side: &Value, path: &str| side.pointer(path).and_then(Value::as_f64);
        let sum = |path| sides.iter().filter_map(|side| figure(side, path)).sum::<f64>();
        let time =
            |side: &&Value| Some(figure(side, "/clat_ns/mean")? * figure(side, "/total_ios")?);
        let latency = sides.iter().filter_map(time).sum::<f64>() / 1e9 / sum("/total_ios");
        Reached { per_second: sum("/iops"), bytes_per_second: sum("/bw_bytes"), latency }
    }
}
