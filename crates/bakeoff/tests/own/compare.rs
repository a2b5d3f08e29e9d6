//! The script of the page on CI, with an engine in which a regression is planted.

use std::path::Path;
use std::process::{Command, Output};

use bakeoff_testkit::in_time;
use serde_json::Value;

use super::{command, said};

const PAGE: &str = include_str!("../../../../docs/ci.md");

/// The last block of the page in a language.
fn block(language: &str) -> &'static str {
    let start = format!("```{language}\n");
    let (_, rest) = PAGE.rsplit_once(&start).expect("the page has such a block");
    rest.split_once("```").expect("the block has an end").0
}

/// This program as a build in a folder, which is where its engine looks.
fn build(place: &Path, name: &str) {
    let folder = place.join(name);
    std::fs::create_dir(&folder).unwrap();
    let program = std::env::current_exe().unwrap();
    if std::fs::hard_link(&program, folder.join("lab")).is_err() {
        std::fs::copy(&program, folder.join("lab")).unwrap();
    }
}

fn run(place: &Path, program: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(place).env("XDG_RUNTIME_DIR", place);
    command.output().unwrap()
}

/// The script's exit code where nothing is decided: its trials waited too long for a processor, or too unevenly.
const UNDECIDED: i32 = 3;

/// The delay of each read of the build without a regression, in milliseconds: see `engines.rs`.
const PLANTED_MS: f64 = 2.0;

/// The mean of the trials of a run, in milliseconds.
fn mean_ms(place: &Path, folder: &str) -> f64 {
    let report = command(place, &["report", folder, "--format", "json"]).output().unwrap();
    let document: Value = serde_json::from_slice(&report.stdout).unwrap();
    let trials = document["trials"].as_array().unwrap().iter();
    let means = trials.filter_map(|trial| trial["operations"][0]["mean_s"].as_f64());
    let means: Vec<f64> = means.collect();
    1000.0 * means.iter().sum::<f64>() / means.len() as f64
}

pub fn catches_a_regression() {
    let script = block("sh");
    assert!(script.lines().count() <= 10, "{script}");
    let (folder, done) = in_time("a quiet moment", |_| {
        let folder = super::place();
        let place = folder.path();
        ["before", "after"].iter().for_each(|name| build(place, name));
        std::fs::write(place.join("ci.sh"), script).unwrap();
        std::fs::write(place.join("ci.toml"), block("toml")).unwrap();
        let done = run(place, "sh", &["ci.sh"]);
        let is_decided = match done.status.code() {
            Some(UNDECIDED) => false,
            // What is planted may be little beside what the machine added to both.
            Some(0) => mean_ms(place, "run-before") <= 5.0 * PLANTED_MS,
            _ => true,
        };
        is_decided.then_some((folder, done))
    });
    let place = folder.path();
    assert_eq!(done.status.code(), Some(1), "{}", said(&done));
    assert!(said(&done).contains("Worse by more than 10 %"), "{}", said(&done));
    // The other way round something is decided, and nothing is worse.
    let lab = place.join("after/lab");
    let lab = lab.to_str().unwrap();
    let back = run(place, lab, &["compare", "run-after", "run-before", "--fail-above", "10%"]);
    assert_eq!(back.status.code(), Some(0), "{}", said(&back));
    assert!(said(&back).contains("slower by more than 10 %"));
}
