use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since the drivers' start.
pub type ClockNanos = u64;

/// How long before its time a wait stops sleeping at most: a sleeping thread wakes some tens of
/// microseconds late.
pub(crate) const LONGEST_SPIN: ClockNanos = 120_000;
const LOOK: ClockNanos = 50_000_000;

#[derive(Clone, Copy, Debug)]
pub struct DriverClock {
    /// Nanoseconds of the kernel's monotonic clock. `Instant` takes twice as long to compute with,
    /// and a driver reads this clock for each operation.
    start: ClockNanos,
}

impl DriverClock {
    /// Stands at 0 as long as any test.
    #[cfg(test)]
    pub fn stopped() -> Self {
        Self::start_after(Duration::from_secs(1_000_000))
    }

    #[cfg(test)]
    pub fn start_now() -> Self {
        Self::start_after(Duration::ZERO)
    }

    pub(crate) fn start_after(lead: Duration) -> Self {
        Self { start: read_monotonic() + to_nanoseconds(lead) }
    }

    pub(crate) fn sleep_until_start(self) {
        thread::sleep(Duration::from_nanos(self.start.saturating_sub(read_monotonic())));
    }

    /// 0 before the start.
    pub fn now(self) -> ClockNanos {
        read_monotonic().saturating_sub(self.start)
    }

    /// Waits until `start`, in its last `spin` without sleeping, and returns the time; `None` if
    /// stopped before. A thread that was off its processor may see both at once: then the start is due.
    pub(crate) fn wait_until(
        self,
        start: ClockNanos,
        spin: ClockNanos,
        mut stopped: impl FnMut() -> bool,
    ) -> Option<ClockNanos> {
        loop {
            let now = self.now();
            match start.checked_sub(now) {
                None | Some(0) => return Some(now),
                Some(left) if left > spin => {
                    if stopped() {
                        return Some(self.now()).filter(|now| *now >= start);
                    }
                    thread::sleep(Duration::from_nanos((left - spin).min(LOOK)));
                }
                Some(_) => std::hint::spin_loop(),
            }
        }
    }
}

fn read_monotonic() -> ClockNanos {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as ClockNanos * 1_000_000_000 + time.tv_nsec as ClockNanos
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
        let start = clock.now() + 5 * LONGEST_SPIN;
        let stopped_late = || {
            while clock.now() < start {}
            true
        };
        assert!(
            clock.wait_until(start, LONGEST_SPIN, stopped_late).is_some_and(|now| now >= start)
        );
        assert_eq!(clock.wait_until(ClockNanos::MAX, 0, || true), None, "it is not due");
    }
}
