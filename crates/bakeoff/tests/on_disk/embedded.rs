//! The embedded engines: the suite that every engine passes, with its folders on a disk.

use std::path::PathBuf;
use std::process::Command;

use crate::place::Place;

/// The engines' names. Servers have tests of their own on a disk.
const EMBEDDED: [&str; 3] = ["sqlite", "lmdb", "fjall"];

/// Runs the engines' conformance suite on a disk of a model.
pub fn conform(model: &str) {
    let suite = suite();
    let Some(place) = Place::new(model) else { return };
    for engine in EMBEDDED {
        let mut command = Command::new(&suite);
        // What has a fault on purpose has it anywhere.
        command.args(["--skip", "broken::"]);
        command.env("CONFORMANCE_ENGINE", engine).env("TMPDIR", place.path());
        let output = command.output().expect("the suite was just built");
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{engine}: {said}{errors}");
        assert!(said.contains("answers_like_the_model ... ok"), "{said}");
    }
    place.leave();
}

/// Builds the suite, which has been if the whole workspace is tested, and finds it.
fn suite() -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["test", "--workspace", "--test", "conformance", "--no-run", "--locked"]);
    let output = cargo.arg("--message-format=json").output().expect("cargo is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let messages = String::from_utf8_lossy(&output.stdout);
    let mut messages = messages.lines().filter_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        // A lab of somebody's own has a test of that name, too.
        let source = message["target"]["src_path"].as_str()?;
        if !source.ends_with("engines/tests/conformance/main.rs") {
            return None;
        }
        message["executable"].as_str().map(PathBuf::from)
    });
    messages.next().expect("the suite is a program")
}
