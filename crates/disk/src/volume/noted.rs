//! Moments that have come, and who needs what is remembered of them.

use bakeoff_devices::device::Nanos;
use bakeoff_devices::plug::HistoryMoment;
use rustix::time::{ClockId, clock_gettime};

/// A moment that was waited for, and has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noted {
    /// When, in nanoseconds of `CLOCK_MONOTONIC`.
    pub at: Nanos,
    /// The number of its history and its moment in that history, if one is remembered.
    pub moment: Option<(u64, HistoryMoment)>,
}

/// Who needs what is remembered.
#[derive(Default)]
pub(super) struct Recorders {
    /// Images that are being made, and one for whoever wants all from the start.
    pub count: usize,
    /// Tells one history from the next.
    pub number: u64,
}

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub(super) fn now() -> Nanos {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
