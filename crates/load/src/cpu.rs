//! Processor time, from the kernel's accounts.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

pub fn thread_cpu() -> Duration {
    read_clock(ClockId::ThreadCPUTime)
}

pub fn process_cpu() -> Duration {
    read_clock(ClockId::ProcessCPUTime)
}

/// How long the calling thread has waited for a processor; `None` without such accounts.
///
/// Source: Documentation/scheduler/sched-stats.rst of the kernel, the second field.
pub fn thread_run_delay() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    run_delay(&text)
}

pub fn run_delay(schedstat: &str) -> Option<Duration> {
    let nanoseconds = schedstat.split_whitespace().nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

fn read_clock(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::try_from(time).unwrap_or_default()
}
