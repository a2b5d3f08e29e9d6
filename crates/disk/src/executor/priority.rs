//! The priority of threads whose lateness would be measured as slowness of a disk.

use std::num::NonZeroU64;

/// Before every normal thread, behind all else that is real-time.
const REAL_TIME: i32 = 1;
const NICE: i32 = -20;

/// Lets the calling thread wake as exactly as it may: without timer slack, and in real time or at
/// least before others. What is not permitted is left out; the accuracy is measured in any case.
pub(super) fn raise_priority() {
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    // SAFETY: all zeros is a value of this plain structure.
    let mut parameters: libc::sched_param = unsafe { std::mem::zeroed() };
    parameters.sched_priority = REAL_TIME;
    // SAFETY: 0 is the calling thread, and the parameters outlive the call.
    let real_time = unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const parameters) };
    if real_time != 0 {
        let thread = rustix::thread::gettid();
        let _ = rustix::process::setpriority_process(Some(thread), NICE);
    }
}
