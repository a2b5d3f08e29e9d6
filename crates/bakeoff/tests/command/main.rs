//! The command as its users meet it: runs, interruptions, and every kind of nonsense.

mod application;
mod bad_input;
mod clients;
mod closed;
mod cluster;
mod compare;
mod cuts;
mod dependencies;
mod disk;
mod elsewhere;
#[cfg(target_arch = "x86_64")]
mod faults;
mod files;
mod guide;
mod images;
mod lists;
mod merge;
mod on_disks;
mod ordinary;
mod others;
mod own_server;
mod pages;
mod placement;
mod plan;
mod program;
mod raw_device;
mod report;
mod resume;
mod run;
mod servers;
mod slurm;
mod stack;
mod states;
mod strangers;
mod timed_disks;
mod tls;
mod trust;
mod untrusted;
mod what_if;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;

use bakeoff_results::Measures;
use bakeoff_testkit::{PATIENCE, ended_within};
use serde_json::Value;

/// What a trial of a run's JSON measured besides latencies.
fn measured(trial: &Value) -> Measures {
    serde_json::from_value(trial["measures"].clone()).unwrap()
}

/// A folder of a test's own, where bakeoff is started and where it keeps its registry.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        // Not the system's temporary folder: that may be in memory, where there is no direct I/O.
        Self(tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    /// A place with the experiment [`SMALL`], and in `r` a finished run of it: one run for all tests,
    /// and a copy for each.
    fn finished() -> Self {
        static FILES: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
        let files = FILES.get_or_init(|| {
            let place = Self::small();
            place.run(&["run", "small.toml", "--out", "r"]).code(0);
            let names = ["run.sqlite", "experiment.toml", "report.html"];
            let read = |name| std::fs::read(place.path("r").join(name)).unwrap();
            names.map(|name| (name.to_owned(), read(name))).into()
        });
        let place = Self::small();
        std::fs::create_dir(place.path("r")).unwrap();
        for (name, bytes) in files {
            std::fs::write(place.path("r").join(name), bytes).unwrap();
        }
        place
    }

    /// A place with the experiment [`SMALL`].
    fn small() -> Self {
        let place = Self::new();
        place.write("small.toml", SMALL);
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff"));
        command.args(arguments).current_dir(self.0.path()).env("XDG_RUNTIME_DIR", self.0.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Done {
        Done(self.command(arguments).output().unwrap())
    }

    /// The same of a line, none of whose words holds a blank.
    fn typed(&self, line: &str) -> Done {
        self.run(&words(line))
    }

    fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().unwrap()
    }

    /// A command that waits for nobody for long, and says little.
    #[track_caller]
    fn run_soon(&self, arguments: &[&str]) -> Done {
        let mut child = self.start(arguments);
        if ended_within(PATIENCE, &mut child).is_none() {
            child.kill().unwrap();
            panic!("it goes on: {:?}", child.wait_with_output().unwrap());
        }
        Done(child.wait_with_output().unwrap())
    }

    /// A run's document, without the trials of blocks that the machine disturbed and that were run
    /// again: how many those are is the machine's doing.
    fn json(&self, folder: &str) -> Value {
        let mut document = self.whole_json(folder);
        let trials = document["trials"].as_array_mut().unwrap();
        trials.retain(|trial| {
            let reason = trial["reason"].as_str().unwrap_or_default();
            !reason.starts_with("the machine was disturbed")
        });
        document
    }

    /// A run's document as it is.
    fn whole_json(&self, folder: &str) -> Value {
        let report = self.run(&["report", folder, "--format", "json"]).code(0);
        serde_json::from_str(&report.out()).unwrap()
    }

    /// Nothing is left of a run but its results.
    fn assert_clean(&self, folder: &str) {
        assert!(!self.path(folder).join("work").exists(), "the work folder is still there");
        let notes = std::fs::read_dir(self.path("bakeoff")).map_or(0, Iterator::count);
        assert_eq!(notes, 0, "a note of a work folder is still there");
    }
}

/// A command that has ended.
struct Done(Output);

impl Done {
    fn out(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).unwrap()
    }

    fn err(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).unwrap()
    }

    #[track_caller]
    fn code(self, code: i32) -> Self {
        let (out, err) = (self.out(), self.err());
        assert_eq!(self.0.status.code(), Some(code), "errors:\n{err}\noutput:\n{out}");
        self
    }

    /// Every one of these stands in what was said.
    #[track_caller]
    fn says(self, texts: &[&str]) -> Self {
        let all = format!("{}{}", self.out(), self.err());
        for text in texts {
            assert!(all.contains(text), "{text:?} is not in:\n{all}");
        }
        self
    }
}

/// The words of a line, none of which holds a blank.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// How many trials a run folder holds, whoever writes it.
fn trials(folder: &Path) -> i64 {
    use rusqlite::{Connection, OpenFlags};
    let database = folder.join("run.sqlite");
    let open = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY);
    let count = open.and_then(|c| c.query_row("SELECT count(*) FROM trial", [], |row| row.get(0)));
    count.unwrap_or(0)
}

/// A small experiment: two levels, in a few seconds.
const SMALL: &str = r#"
name = "small"
workload = "point"
engine = ["sqlite", "lmdb"]
seconds = 0.5
repetitions = 2
"#;
