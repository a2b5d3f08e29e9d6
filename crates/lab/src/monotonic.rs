//! The clock that gives the moment of a power cut.

use rustix::time::{ClockId, clock_gettime};

/// `CLOCK_MONOTONIC` is the same for all processes of this machine.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
