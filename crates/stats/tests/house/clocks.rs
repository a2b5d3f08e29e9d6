//! Tests judge counts, order, bytes, states and *never too early*. A test that reads the clock could come
//! to judge how long something took, which a busy machine decides: so that none reads it but the kit,
//! whose `Since` tells what came too early alone, and whose `PATIENCE` is the wait for what must come.

use crate::source::{calls, of_tests, stands_in};
use crate::variables::{KIT, sources};

/// What reads the clock.
const CLOCK: [&str; 2] = ["Instant", "SystemTime::now"];
/// The call that says how much time has passed.
const PASSED: &str = ".elapsed(";
/// Calls that wait for something, which must come within the kit's patience.
const WAITS: [&str; 2] = ["recv_timeout", "wait_timeout"];
/// What draws other cases in each run.
const CHANCE: [&str; 5] = ["thread_rng", "from_os_rng", "from_entropy", "fastrand", "getrandom"];

/// Tests that read the clock all the same, each for its reason.
const BUT: &[(&str, &str)] = &[
    (
        "crates/disk/src/volume/uncached.rs",
        "moments are handed in, made up from one of the clock's",
    ),
    ("crates/load/src/clock.rs", "a clock that stands still is made of a moment of the real one"),
];

/// In what the tests of a file break the rule.
fn breaches(path: &str, text: &str) -> Vec<String> {
    let code = of_tests(path, text);
    let mut breaches = Vec::new();
    let passed = code.contains(PASSED).then_some(&PASSED);
    for word in CLOCK.iter().filter(|word| stands_in(&code, word)).chain(passed) {
        breaches.push(format!("{path}: a test says {word}: take the kit's Since or wait_until"));
    }
    for word in CHANCE.iter().filter(|word| stands_in(&code, word)) {
        breaches.push(format!("{path}: a test says {word}: its cases would differ in each run"));
    }
    for wait in WAITS {
        for argument in calls(&code, wait).filter(|it| !it.ends_with("PATIENCE")) {
            breaches.push(format!("{path}: a test waits for {argument}: take the kit's PATIENCE"));
        }
    }
    breaches
}

#[test]
fn no_test_judges_by_the_clock() {
    let mut excused: Vec<_> = BUT.iter().map(|(path, _)| *path).collect();
    let mut wrong = Vec::new();
    for (path, text) in sources().iter().filter(|(path, _)| !path.starts_with(KIT)) {
        let breaches = breaches(path, text);
        let is_excused = excused.contains(&path.as_str()) && !breaches.is_empty();
        excused.retain(|it| !is_excused || it != path);
        wrong.extend(breaches.into_iter().filter(|_| !is_excused));
    }
    wrong.extend(excused.iter().map(|path| format!("{path} keeps the rule: strike it out of BUT")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Proptest takes its seed from there; see `.cargo/config.toml`.
#[test]
fn random_cases_have_a_seed() {
    let seed = std::env::var("PROPTEST_RNG_SEED").expect("cargo sets it for all tests");
    assert!(seed.parse::<u64>().is_ok(), "{seed}");
}

#[test]
fn a_test_that_reads_the_clock_is_caught() {
    let module = |body: &str| format!("fn f() {{}}\n#[cfg(test)]\nmod tests {{\n{body}\n}}\n");
    for body in [
        "fn f() { let t = Instant::now(); }",
        "fn f() { assert!(t.elapsed() < LIMIT); }",
        "fn f() { std::time::SystemTime::now(); }",
        "fn f() { heard.recv_timeout(Duration::from_millis(50)); }",
        "fn f() { heard.recv_timeout(2 * LIMIT); }",
        "fn f() { bell.wait_timeout(lock, LIMIT); }",
        "fn f() { rand::thread_rng(); }",
    ] {
        for (path, text) in [
            ("crates/lab/src/a.rs", module(body)),
            ("crates/lab/src/a/tests.rs", body.to_owned()),
            ("crates/lab/tests/it/b.rs", body.to_owned()),
            ("examples/own-lab/tests/lab.rs", body.to_owned()),
        ] {
            assert_eq!(breaches(path, &text).len(), 1, "{path}: {text}");
        }
    }
}

#[test]
fn what_is_no_test_and_what_keeps_the_rule_is_not_caught() {
    for (path, text) in [
        ("crates/lab/src/a.rs", "fn f() { Instant::now().elapsed(); }\n#[cfg(test)]\nmod tests {}"),
        ("crates/lab/benches/a.rs", "fn f() { Instant::now(); }"),
        ("crates/lab/tests/a.rs", "// An Instant.\nfn f() { say(\"elapsed\"); Since::now(); }"),
        ("crates/lab/tests/a.rs", "fn f() { heard.recv_timeout(PATIENCE); }"),
        ("crates/lab/tests/a.rs", "fn f() { heard.recv_timeout(bakeoff_testkit::PATIENCE); }"),
        (
            "crates/lab/tests/a.rs",
            "fn f() { progress.elapsed_s; price.elapsed; Instantly::new(); }",
        ),
    ] {
        assert_eq!(breaches(path, text), [""; 0], "{path}: {text}");
    }
}
