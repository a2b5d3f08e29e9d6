//! The processors that a bench and all that it starts have, and how much of them its programs took.

use std::process::Command;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Processors for the server and the clients together.
const PROCESSORS: usize = 2;

/// Leaves this process, and all that it starts, the first processors that it may have.
pub fn share() {
    let allowed = sched_getaffinity(None).expect("a thread may ask where it may run");
    let mut few = CpuSet::new();
    let all = (0..CpuSet::MAX_CPU).filter(|&number| allowed.is_set(number));
    all.take(PROCESSORS).for_each(|number| few.set(number));
    sched_setaffinity(None, &few).expect("a thread may restrict itself");
}

/// What a program says.
pub fn output(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}{errors}");
    said
}

/// What a program says, and the processor seconds of its process.
pub fn accounted(command: &mut Command) -> (String, f64) {
    let before = processor_time();
    let said = output(command);
    (said, (processor_time() - before).as_secs_f64())
}

/// Processor time of the processes that this one has started and that have ended.
fn processor_time() -> Duration {
    // SAFETY: the call fills the whole of what it is given, and zero is valid for all of that.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage), 0);
        usage
    };
    let time = |it: libc::timeval| {
        Duration::from_secs(it.tv_sec.unsigned_abs())
            + Duration::from_micros(it.tv_usec.unsigned_abs())
    };
    time(usage.ru_utime) + time(usage.ru_stime)
}

