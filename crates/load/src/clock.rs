use std::thread;
use std::time::{Duration, Instant};

/// Nanoseconds since the drivers' start.
pub type ClockNanos = u64;

/// How long before its time a wait stops sleeping: a sleeping thread wakes some tens of
/// microseconds late.
const SPIN: ClockNanos = 120_000;
const LOOK: ClockNanos = 50_000_000;

#[derive(Clone, Copy, Debug)]
pub struct DriverClock(pub(crate) Instant);

impl DriverClock {
    /// Stands at 0 as long as any test.
    #[cfg(test)]
    pub fn stopped() -> Self {
        Self(Instant::now() + Duration::from_secs(1_000_000))
    }

    #[cfg(test)]
    pub fn start_now() -> Self {
        Self(Instant::now())
    }

    /// 0 before the start.
    pub fn now(self) -> ClockNanos {
        to_nanoseconds(Instant::now().saturating_duration_since(self.0))
    }

    /// Waits until `start`, to the microsecond, and returns the time; `None` if stopped before. A
    /// thread that was off its processor may see both at once: then the start is due.
    pub(crate) fn wait_until(
        self,
        start: ClockNanos,
        mut stopped: impl FnMut() -> bool,
    ) -> Option<ClockNanos> {
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

pub(crate) fn to_nanoseconds(duration: Duration) -> ClockNanos {
    duration.as_secs() * 1_000_000_000 + u64::from(duration.subsec_nanos())
}

pub(crate) fn to_seconds(nanoseconds: ClockNanos) -> f64 {
    nanoseconds as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The thread was off its processor from before the start until after the stop.
    #[test]
    fn a_start_that_is_due_when_the_stop_is_seen_is_due() {
        let clock = DriverClock::start_now();
        let start = clock.now() + 5 * SPIN;
        let stopped_late = || {
            while clock.now() < start {}
            true
        };
        assert!(clock.wait_until(start, stopped_late).is_some_and(|now| now >= start));
        assert_eq!(clock.wait_until(ClockNanos::MAX, || true), None, "it is not due");
    }
}
