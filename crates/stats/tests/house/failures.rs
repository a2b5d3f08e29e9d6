//! `ci/failures` says again what failed, at the end of a log that nobody reads whole: it has to find the panics
//! of each kind of harness, and to stay short.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::root;

/// What it says of a log.
fn said(log: &str) -> String {
    let mut command = Command::new(root().join("ci/failures"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("awk");
    // It says nothing before it has read all, so that this can't wait for it.
    child.stdin.take().expect("it is piped").write_all(log.as_bytes()).expect("it reads");
    let done = child.wait_with_output().expect("it ends");
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).expect("text")
}

/// Of a harness that captures what its tests say, of one that doesn't, and of a program that dies.
const LOG: &str = "
     Running tests/it/main.rs (target/debug/deps/it-0123abcd)
test a::holds ... ok
test a::breaks ... FAILED

failures:

---- a::breaks stdout ----

thread '<unnamed>' (7) panicked at crates/a/src/b.rs:1:2:
the cause
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

thread 'a::breaks' (6) panicked at crates/a/tests/it/a.rs:3:4:
assertion `left == right` failed
  left: 1
 right: 2

failures:
    a::breaks

test result: FAILED. 1 passed; 1 failed; 0 ignored
     Running tests/trials/main.rs (target/debug/deps/trials-0123abcd)
thread '<unnamed>' (9) panicked at crates/a/tests/trials/a.rs:5:6:
no trial
test breaks   ... FAILED
test holds ... ok
     Running tests/dies.rs (target/debug/deps/dies-0123abcd)
error: test failed, to rerun pass `-p a --test dies`

Caused by:
  process didn't exit successfully: `dies-0123abcd` (signal: 6, SIGABRT: process abort signal)
";

const SAID: &str = "\
test a::breaks ... FAILED (tests/it/main.rs (it))
  thread '<unnamed>' (7) panicked at crates/a/src/b.rs:1:2:
  the cause
  thread 'a::breaks' (6) panicked at crates/a/tests/it/a.rs:3:4:
  assertion `left == right` failed
    left: 1
   right: 2
test breaks ... FAILED (tests/trials/main.rs (trials))
  thread '<unnamed>' (9) panicked at crates/a/tests/trials/a.rs:5:6:
  no trial
a program of tests died (tests/dies.rs (dies)):
";

#[test]
fn each_failure_is_said_with_its_panics() {
    let all = said(LOG);
    let died = all.strip_prefix(SAID).unwrap_or_else(|| panic!("{all}"));
    assert!(died.contains("SIGABRT") && !died.contains("holds ... FAILED"), "{died}");

    let head = "     Running tests/it/main.rs (target/debug/deps/it-0123abcd)\n";
    let going_on = ["a", "b", "c"]
        .map(|name| format!("test {name} has been running for over 60 seconds\n"))
        .concat();
    let log = format!("{head}{going_on}test a ... ok\ntest c - should panic ... FAILED\n");
    let wanted =
        "test c ... FAILED (tests/it/main.rs (it))\ntest b did not end (tests/it/main.rs (it))\n";
    assert_eq!(said(&log), wanted);

    let error = "error[E0308]: mismatched types\n --> crates/a/src/b.rs:1:2\n";
    let log = format!("    Checking a\n{error}error: could not compile `a` (lib)\n");
    assert!(said(&log).starts_with("  error[E0308]: mismatched types\n   --> crates/a"), "{log}");
    let lines: String = (0..100).map(|it| format!("line {it}\n")).collect();
    let end = said(&lines);
    assert!(end.starts_with("the end of the log:\n  line 85\n") && end.ends_with("  line 99\n"));
    assert_eq!(said(""), "");
}

#[test]
fn it_stays_short_however_much_failed() {
    let long: String = (0..40).map(|it| format!("line {it}\n")).collect();
    let one = format!("---- t stdout ----\nthread 't' (1) panicked at a.rs:1:2:\n{long}");
    // The test, its panic, and 15 lines after that.
    assert_eq!(said(&one).lines().count(), 17);
    for failed in [3, 29, 30, 59, 60, 200] {
        let tests = (0..failed).map(|it| one.replace("---- t ", &format!("---- t{it} ")));
        let said = said(&tests.collect::<String>());
        assert!(said.lines().count() <= 60, "{failed} failed:\n{said}");
        let named = said.lines().filter(|line| line.contains(" ... FAILED")).count();
        assert_eq!(named, failed.min(59), "{said}");
    }
}
