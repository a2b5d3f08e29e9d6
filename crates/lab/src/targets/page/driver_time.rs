use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bakeoff_load::ClockNanos;

#[derive(Debug, Default)]
pub struct DriverTime {
    ran: AtomicU64,
    waited: AtomicU64,
}

impl DriverTime {
    pub fn add(&self, ran: ClockNanos, waited: ClockNanos) {
        self.ran.fetch_add(ran, Relaxed);
        self.waited.fetch_add(waited, Relaxed);
    }

    /// The share of time, 0 to 1, in which drivers did not wait since the last call; `None` if no
    /// driver has ended.
    pub fn take_busy(&self) -> Option<f64> {
        let (ran, waited) = (self.ran.swap(0, Relaxed), self.waited.swap(0, Relaxed));
        (ran > 0).then(|| 1.0 - waited.min(ran) as f64 / ran as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_are_busy_when_they_do_not_wait() {
        let spent = DriverTime::default();
        assert_eq!(spent.take_busy(), None);
        spent.add(100, 100);
        spent.add(300, 0);
        assert_eq!((spent.take_busy(), spent.take_busy()), (Some(0.75), None));
    }
}
