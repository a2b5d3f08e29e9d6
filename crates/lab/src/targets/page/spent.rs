//! How much of their time the drivers of a page had something to do.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bakeoff_load::ClockNanos;

/// The time of drivers that have ended, all together.
#[derive(Debug, Default)]
pub struct Spent {
    ran: AtomicU64,
    waited: AtomicU64,
}

impl Spent {
    /// Adds a driver's time, and how much of it the driver waited: for answers, or until a start was due.
    pub fn add(&self, ran: ClockNanos, waited: ClockNanos) {
        self.ran.fetch_add(ran, Relaxed);
        self.waited.fetch_add(waited, Relaxed);
    }

    /// The part of it in which they did not wait, 0 to 1, since the last call; `None` where none has ended.
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
        let spent = Spent::default();
        assert_eq!(spent.take_busy(), None);
        spent.add(100, 100);
        spent.add(300, 0);
        assert_eq!((spent.take_busy(), spent.take_busy()), (Some(0.75), None));
    }
}
