//! Time since the drivers' start, and waiting for a point in it.

use std::thread;
use std::time::{Duration, Instant};

/// Nanoseconds since the drivers' start.
pub type ClockNanos = u64;

/// How long before its time a wait stops to sleep: a sleeping thread wakes some tens of
/// microseconds late.
const SPIN: ClockNanos = 120_000;
/// The longest sleep between two looks at whether to stop.
const LOOK: ClockNanos = 50_000_000;

/// Time since the drivers' start.
#[derive(Clone, Copy, Debug)]
pub struct DriverClock(pub(crate) Instant);

impl DriverClock {
    /// A clock that stands at 0 as long as any test: whoever is given it tells the moments.
    #[cfg(test)]
    pub fn stopped() -> Self {
        Self(Instant::now() + Duration::from_secs(1_000_000))
    }

    /// One that has just begun.
    #[cfg(test)]
    pub fn begun() -> Self {
        Self(Instant::now())
    }

    /// Nanoseconds since the start; 0 before it.
    pub fn now(self) -> ClockNanos {
        nanoseconds(Instant::now().saturating_duration_since(self.0))
    }

    /// Waits until `start`, to the microsecond, and returns what time it is then; `None` when
    /// `stopped` says so before. A thread that was off its processor may hear of both at once: then
    /// the start is due.
    pub(crate) fn wait(self, start: ClockNanos, stopped: impl Fn() -> bool) -> Option<ClockNanos> {
        loop {
            let now = self.now();
            match start.checked_sub(now) {
                None | Some(0) => return Some(now),
                Some(left) if left > SPIN => {
                    if stopped() {
                        return Some(self.now()).filter(|now| *now >= start);
                    }
                    thread::sleep(Duration::from_nanos((left - SPIN).min(LOOK)));
                }
                Some(_) => std::hint::spin_loop(),
            }
        }
    }
}

/// A duration as nanoseconds, without the detour over 128 bits.
pub(crate) fn nanoseconds(duration: Duration) -> ClockNanos {
    duration.as_secs() * 1_000_000_000 + u64::from(duration.subsec_nanos())
}

/// A point in nanoseconds as seconds.
pub(crate) fn seconds(nanoseconds: ClockNanos) -> f64 {
    nanoseconds as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The thread was off its processor from before the start until after the stop.
    #[test]
    fn a_start_that_is_due_when_the_stop_is_seen_is_due() {
        let clock = DriverClock::begun();
        let start = clock.now() + 5 * SPIN;
        let stopped_late = || {
            while clock.now() < start {}
            true
        };
        assert!(clock.wait(start, stopped_late).is_some_and(|now| now >= start));
        assert_eq!(clock.wait(ClockNanos::MAX, || true), None, "it is not due");
    }
}
