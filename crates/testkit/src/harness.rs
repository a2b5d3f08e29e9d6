//! The harness of a program of tests that is something else, too: a trial's process, say, that its own
//! tests start.

use std::panic::catch_unwind;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// What is run, by its name.
pub type Test = (&'static str, fn());

/// Runs the tests whose names contain one of the arguments that are no flags, or all of them if there
/// is no such argument, in their order, `at_once` of them at a time; `--list` lists them instead.
/// Those whose names contain the word after a `--skip` are left out.
/// Those whose names are in `slow` are what tests marked `ignore` are elsewhere: left out, unless
/// `--ignored` asks for them alone or `--include-ignored` for all. Succeeds if all of them pass.
///
/// # Panics
/// When nothing may run at once.
pub fn run(tests: &[Test], slow: &[&str], at_once: usize, arguments: &[String]) -> ExitCode {
    let tests = chosen(tests, slow, arguments);
    if arguments.iter().any(|argument| argument == "--list") {
        tests.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    if failed(&tests, at_once).is_empty() { ExitCode::SUCCESS } else { ExitCode::from(101) }
}

fn chosen(tests: &[Test], slow: &[&str], arguments: &[String]) -> Vec<Test> {
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let (only, all) = (has("--ignored"), has("--include-ignored") || has("--list"));
    let wanted = |(name, _): &Test| all || slow.contains(name) == only;
    let (words, skipped) = words(arguments);
    let has_one = |(name, _): &Test, words: &[&str]| words.iter().any(|word| name.contains(word));
    let named = |test: &Test| words.is_empty() || has_one(test, &words);
    let left = |test: &Test| !has_one(test, &skipped);
    tests.iter().copied().filter(wanted).filter(named).filter(left).collect()
}

/// What tests' names are to contain, and what they are not to.
fn words(arguments: &[String]) -> (Vec<&str>, Vec<&str>) {
    let (mut words, mut skipped) = (Vec::new(), Vec::new());
    let mut arguments = arguments.iter().map(String::as_str);
    while let Some(argument) = arguments.next() {
        match argument.strip_prefix("--skip") {
            Some("") => skipped.extend(arguments.next()),
            Some(rest) if rest.starts_with('=') => skipped.push(&rest[1..]),
            _ if argument.starts_with('-') => {}
            _ => words.push(argument),
        }
    }
    (words, skipped)
}

/// Runs the tests; the names of those that failed.
fn failed(tests: &[Test], at_once: usize) -> Vec<&'static str> {
    assert!(at_once > 0, "no test would be run");
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((name, test)) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
            let start = Instant::now();
            let passed = catch_unwind(test).is_ok();
            let seconds = start.elapsed().as_secs_f64();
            println!("test {name} ... {} ({seconds:.1} s)", if passed { "ok" } else { "FAILED" });
            if !passed {
                failed.lock().expect("nobody panics with it").push(*name);
            }
        }
    };
    std::thread::scope(|scope| (0..at_once).for_each(|_| drop(scope.spawn(work))));
    failed.into_inner().expect("nobody panics with it")
}

#[cfg(test)]
mod tests {
    use super::*;

    static DONE: AtomicUsize = AtomicUsize::new(0);

    const TESTS: &[Test] = &[
        ("one_passes", passes),
        ("one_fails", || panic!("it fails on purpose")),
        ("another_passes", passes),
    ];

    fn passes() {
        DONE.fetch_add(1, Ordering::Relaxed);
    }

    fn names(arguments: &[&str]) -> Vec<&'static str> {
        let arguments: Vec<_> = arguments.iter().map(|it| (*it).to_owned()).collect();
        chosen(TESTS, &["one_fails"], &arguments).iter().map(|(name, _)| *name).collect()
    }

    #[test]
    fn the_tests_are_chosen_by_parts_of_their_names() {
        assert_eq!(names(&["--nocapture", "passes"]), ["one_passes", "another_passes"]);
        assert_eq!(
            names(&["--include-ignored", "fails", "another"]),
            ["one_fails", "another_passes"]
        );
        assert_eq!(names(&["--include-ignored", "--quiet"]).len(), 3);
        assert_eq!(names(&["no_such_test"]), [""; 0]);
    }

    #[test]
    fn those_that_contain_a_word_to_skip_are_left_out() {
        let all = "--include-ignored";
        for skip in [&["--skip", "passes"][..], &["--skip=passes"]] {
            assert_eq!(names(&[skip, &[all]].concat()), ["one_fails"]);
            assert_eq!(names(&[&["another", all], skip].concat()), [""; 0]);
        }
        // The word is none that a name has to contain.
        assert_eq!(names(&["--skip", "another"]), ["one_passes"]);
        let two = ["--skip", "another", "--skip", "fails", all, "one"];
        assert_eq!(names(&two), ["one_passes"]);
        assert_eq!(names(&["--ignored", "--skip", "no_such_test"]), ["one_fails"]);
    }

    #[test]
    fn slow_ones_are_run_where_they_are_asked_for() {
        assert_eq!(names(&[]), ["one_passes", "another_passes"]);
        assert_eq!(names(&["one"]), ["one_passes"]);
        assert_eq!(names(&["--ignored"]), ["one_fails"]);
        assert_eq!(names(&["--ignored", "passes"]), [""; 0]);
    }

    #[test]
    fn one_that_fails_is_told_and_the_others_are_run() {
        for at_once in [1, 2] {
            DONE.store(0, Ordering::Relaxed);
            assert_eq!(failed(TESTS, at_once), ["one_fails"]);
            assert_eq!(DONE.load(Ordering::Relaxed), 2);
        }
        assert_eq!(failed(&TESTS[..1], 1), [""; 0]);
    }
}
