//! A test harness for programs that are also something else: a trial's process, for example, that
//! its own tests start.

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// A test and its name.
pub type Test = (&'static str, fn());

/// Runs tests in order, `at_once` at a time, as cargo's own harness does and with its arguments, of which at
/// most one is a part of a name. Tests in `slow` behave like tests marked `ignore`. What they print is not
/// captured.
pub fn run(tests: &[Test], slow: &[&str], at_once: usize, arguments: &[String]) -> ExitCode {
    let mut arguments = Arguments::from_iter([&"tests".to_owned()].into_iter().chain(arguments));
    arguments.test_threads.get_or_insert(at_once);
    let trial = |&(name, test): &Test| {
        let run = move || {
            test();
            Ok(())
        };
        Trial::test(name, run).with_ignored_flag(slow.contains(&name))
    };
    libtest_mimic::run(&arguments, tests.iter().map(trial).collect()).exit_code()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One that fails would be taken for one of these by who reads the log.
    #[test]
    fn slow_ones_run_where_they_are_asked_for() {
        let tests: &[Test] = &[("one", || ()), ("other", || panic!("it is slow"))];
        for arguments in [&[][..], &["one", "--include-ignored"], &["one", "--ignored"]] {
            let arguments: Vec<String> = arguments.iter().map(|it| (*it).to_owned()).collect();
            let code = run(tests, &["other"], 2, &arguments);
            assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS));
        }
    }
}
