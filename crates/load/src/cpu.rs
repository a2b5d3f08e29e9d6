//! Processor time, from the kernel's own accounts.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Processor time that the calling thread has used so far, in user and kernel mode.
pub fn thread_cpu() -> Duration {
    read(ClockId::ThreadCPUTime)
}

/// Processor time that all threads of this process have used so far, in user and kernel mode.
pub fn process_cpu() -> Duration {
    read(ClockId::ProcessCPUTime)
}

/// How long the calling thread has been ready to run without a processor so far; `None` where the
/// kernel keeps no such account.
///
/// Source: Documentation/scheduler/sched-stats.rst of the kernel, the second field.
pub fn thread_run_delay() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    run_delay(&text)
}

/// The time that a thread waited for a processor, by its `schedstat`.
pub fn run_delay(schedstat: &str) -> Option<Duration> {
    let nanoseconds = schedstat.split_whitespace().nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::try_from(time).unwrap_or_default()
}
