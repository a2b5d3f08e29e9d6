//! The house: crates are built on each other as `docs/architecture.md` says, things have names that are found, tests
//! judge nothing by the clock, and `ci/failures` says what failed. It stands here since this crate is built first.

#![allow(clippy::disallowed_methods, reason = "it reads the sources")]

mod architecture;
mod failures;
mod names;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

/// The crate that tests share: it alone reads the clock for them, and the variable of CI.
const KIT: &str = "crates/testkit/";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every source of the workspace with its path in it.
fn sources() -> Vec<(String, String)> {
    let mut folders: Vec<PathBuf> = ["crates", "examples"].map(|name| root().join(name)).into();
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("a source").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root()).expect("it is below").display().to_string();
                files.push((name, fs::read_to_string(&path).expect("a source")));
            }
        }
    }
    files
}

/// The lines of a file that users run, and those of its tests. Benchmarks are neither.
fn split_lines<'a>(path: &str, text: &'a str) -> [Vec<&'a str>; 2] {
    let mut lines = text.lines();
    let is_test = path.contains("/tests/") || path.ends_with("/tests.rs") || path.starts_with(KIT);
    let own = lines.by_ref().take_while(|line| *line != "mod tests {").collect();
    match is_test {
        true => [Vec::new(), text.lines().collect()],
        false if path.contains("/benches/") => [Vec::new(), Vec::new()],
        false => [own, lines.collect()],
    }
}
