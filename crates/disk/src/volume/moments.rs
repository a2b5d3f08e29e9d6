use bakeoff_devices::device::Nanos;
use bakeoff_devices::plug::HistoryMoment;
use rustix::time::{ClockId, clock_gettime};

#[derive(Clone, Copy, Debug)]
pub(super) struct Noted {
    /// In nanoseconds of `CLOCK_MONOTONIC`.
    pub at: Nanos,
    /// The number of its history and its moment in that history, if one is remembered.
    pub moment: Option<(u64, HistoryMoment)>,
}

#[derive(Default)]
pub(super) struct Recorders {
    /// Images in the making, and one for a caller that wants everything from the start.
    pub count: usize,
    /// Tells one history from the next.
    pub number: u64,
}

pub(super) fn monotonic_now() -> Nanos {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
