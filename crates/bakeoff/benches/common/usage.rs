//! Other programs: what they say, the processor time that they take, and the processors that they share.

use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Processors for the server and the clients together.
pub const PROCESSORS: usize = 2;

/// What a program says, and the processor seconds of its process.
pub fn accounted(command: &mut Command) -> (String, f64) {
    let before = processor_time(libc::RUSAGE_CHILDREN);
    let said = output(command);
    (said, (processor_time(libc::RUSAGE_CHILDREN) - before).as_secs_f64())
}

/// What a program says that ends well.
pub fn output(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}{errors}");
    said
}

/// What this process (`RUSAGE_SELF`) has used so far, or those that it has started and that have ended
/// (`RUSAGE_CHILDREN`).
pub fn used_by(who: libc::c_int) -> libc::rusage {
    // SAFETY: the call fills the whole of what it is given, and zero is valid for all of that.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(who, &raw mut usage), 0);
        usage
    }
}

/// Its processor time.
pub fn processor_time(who: libc::c_int) -> Duration {
    let usage = used_by(who);
    let time = |it: libc::timeval| {
        Duration::from_secs(it.tv_sec.unsigned_abs())
            + Duration::from_micros(it.tv_usec.unsigned_abs())
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// Whether there is a program, with its flag for that, of the version that limits are for.
///
/// # Errors
/// What is missing, and how to install it.
pub fn is_installed(
    [program, flag]: [&str; 2],
    version: &str,
    package: &str,
) -> Result<(), String> {
    let install = format!("install {program} {version}, as by apt-get install {package}");
    let asked = Command::new(program).arg(flag).output();
    let asked = asked.map_err(|_| format!("{program} is missing: {install}"))?;
    let said = String::from_utf8_lossy(&asked.stdout);
    match said.contains(version) {
        true => Ok(()),
        false => Err(format!("{} is another version: {install}", said.trim())),
    }
}

/// The number behind a word.
pub fn figure(said: &str, word: &str) -> f64 {
    let line = said.lines().find_map(|line| line.trim().strip_prefix(word));
    let first = line.and_then(|rest| rest.split_whitespace().next());
    let number = first.and_then(|text| text.trim_end_matches('s').parse().ok());
    number.unwrap_or_else(|| panic!("{word:?} was not said:\n{said}"))
}

/// Leaves this process, and all that it starts, the first two processors that it may have.
pub fn share_processors() {
    let few = first_processors(PROCESSORS);
    sched_setaffinity(None, &few).expect("a thread may restrict itself");
}

/// Of those that the process had at first.
pub fn first_processors(count: usize) -> CpuSet {
    static ALLOWED: OnceLock<CpuSet> = OnceLock::new();
    let ask = || sched_getaffinity(None).expect("a thread may ask where it may run");
    let allowed = ALLOWED.get_or_init(ask);
    let mut few = CpuSet::new();
    let all = (0..CpuSet::MAX_CPU).filter(|&number| allowed.is_set(number));
    all.take(count).for_each(|number| few.set(number));
    few
}
