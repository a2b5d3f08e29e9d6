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

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::try_from(time).unwrap_or_default()
}
