//! The embedded engines: a part of the suite that every engine passes, with its folders on a disk.

use std::process::Command;

use bakeoff_conformance::{STORING, TRANSACTIONAL, concurrency, on, sequences, survival};
use bakeoff_engines::{ENGINES, Engine, EngineHome};

use crate::place::Place;

/// The test that makes these checks, which starts itself again.
const TEST: &str = "embedded_engines";

/// Set in the process whose temporary folder is the disk.
const CHILD: &str = "BAKEOFF_TEST_CONFORMS";

/// Makes the checks on a disk of a model. They are made in a process of their own, the test once more,
/// since a process has one temporary folder.
pub fn conform(model: &str) {
    if std::env::var_os(CHILD).is_some() {
        return check();
    }
    let Some(place) = Place::new(model) else { return };
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", TEST, "--nocapture"]);
    let output = command.env(CHILD, "1").env("TMPDIR", place.path()).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{errors}");
    place.leave();
}

/// All of them. Servers have tests of their own on a disk.
fn embedded() -> Vec<&'static dyn Engine> {
    ENGINES.iter().copied().filter(|engine| engine.home() == EngineHome::Process).collect()
}

/// What asks most of a file system: files that are mapped when their process is killed, all kinds of
/// statements, and readers beside writers.
fn check() {
    let engines = embedded();
    // First: it starts this once more, as the process that is killed.
    on(&engines, STORING, |engine| survival::survive_a_kill(engine, TEST));
    on(&engines, TRANSACTIONAL, sequences::answers_like_the_model);
    on(&engines, STORING, concurrency::transfers_keep_the_sum_in_every_snapshot);
}
