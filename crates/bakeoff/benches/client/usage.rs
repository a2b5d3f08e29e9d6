//! Other programs: what they say, and the processor time that they take.

use std::process::Command;
use std::time::Duration;

/// Whose processor time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// This process's.
    Mine,
    /// Of the processes that this one has started and that have ended.
    Ended,
}

/// What a program says, and the processor seconds of its process.
pub fn accounted(command: &mut Command) -> (String, f64) {
    let before = processor_time(Whose::Ended);
    let said = output(command);
    (said, (processor_time(Whose::Ended) - before).as_secs_f64())
}

/// What a program says that ends well.
pub fn output(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}{errors}");
    said
}

/// Processor time so far.
pub fn processor_time(whose: Whose) -> Duration {
    let who = match whose {
        Whose::Mine => libc::RUSAGE_SELF,
        Whose::Ended => libc::RUSAGE_CHILDREN,
    };
    // SAFETY: the call fills the whole of what it is given, and zero is valid for all of that.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(who, &raw mut usage), 0);
        usage
    };
    let time = |it: libc::timeval| {
        Duration::from_secs(it.tv_sec.unsigned_abs())
            + Duration::from_micros(it.tv_usec.unsigned_abs())
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// The number behind a word.
pub fn figure(said: &str, word: &str) -> f64 {
    let line = said.lines().find_map(|line| line.trim().strip_prefix(word));
    let first = line.and_then(|rest| rest.split_whitespace().next());
    let number = first.and_then(|text| text.trim_end_matches('s').parse().ok());
    number.unwrap_or_else(|| panic!("{word:?} was not said:\n{said}"))
}
