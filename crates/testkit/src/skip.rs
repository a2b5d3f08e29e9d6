//! Skips tests that a machine can't run, but not in CI, where all of them must run.

use std::fmt::Display;
use std::io::Write;

/// Whether this is continuous integration, which sets the variable `CI`.
pub fn in_ci() -> bool {
    std::env::var_os("CI").is_some()
}

/// Prints that the calling test is skipped, wholly or in part, and why.
#[track_caller]
pub fn skip(why: impl Display) {
    assert!(!in_ci(), "CI may skip nothing: {why}");
    let thread = std::thread::current();
    let line = match thread.name() {
        Some(test) if test != "main" => format!("skipped: {test}: {why}\n"),
        _ => format!("skipped: {why}\n"),
    };
    // Bypasses the test harness, which hides the output of passing tests.
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Returns something that a test needs; without it, the test is skipped for the error's reason.
#[track_caller]
pub fn needs<T>(found: Result<T, impl Display>) -> Option<T> {
    found.map_err(skip).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Output};

    const WHY: &str = "there is no ladder";
    /// A test of this program that skips itself where this is set: it proves nothing then.
    const SKIPPING: &str = "skip::tests::what_is_there_is_handed_on";
    const MARK: &str = "BAKEOFF_TESTKIT_SKIPS";

    /// This program, which runs [`SKIPPING`] and lacks what that needs.
    fn run(ci: Option<&str>) -> Output {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([SKIPPING, "--exact"]).env(MARK, "1").env_remove("CI");
        command.envs(ci.map(|ci| ("CI", ci))).output().unwrap()
    }

    #[test]
    fn a_skipped_test_passes_and_says_why_although_the_harness_shows_nothing_of_it() {
        let done = run(None);
        assert!(done.status.success(), "{done:?}");
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(said, format!("skipped: {SKIPPING}: {WHY}\n"));
    }

    #[test]
    fn in_ci_it_fails_for_that_reason() {
        // However it is set.
        for ci in ["true", "1", ""] {
            let done = run(Some(ci));
            assert!(!done.status.success(), "{done:?}");
            let said = String::from_utf8(done.stdout).unwrap();
            assert!(said.contains(&format!("CI may skip nothing: {WHY}")), "{said}");
        }
    }

    #[test]
    fn what_is_there_is_handed_on() {
        let lacks = std::env::var_os(MARK).is_some();
        let found = if lacks { Err(WHY) } else { Ok(7) };
        assert_eq!(needs(found), (!lacks).then_some(7));
    }
}
