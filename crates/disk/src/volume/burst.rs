//! Writes that the kernel hands over right before a sync.
//!
//! On a real disk they go to the device when the program calls `fsync`. Here each is a call to this
//! process first, so a sync counts from the first of them.

use std::sync::{Mutex, PoisonError};

use bakeoff_devices::device::Nanos;

/// The next write of a burst, and its sync, come within this time of the one before. A sync that
/// comes so soon after a hand-over of the kernel's own is taken for its end, too: it is answered early
/// by what that took.
const GAP: Nanos = 500_000;
/// A longer burst is no longer that of one sync: the kernel hands over by itself, too.
const LONGEST: Nanos = 5_000_000;

#[derive(Debug, Default)]
pub(super) struct WriteBurst(Mutex<Option<BurstTimes>>);

#[derive(Clone, Copy, Debug)]
struct BurstTimes {
    began: Nanos,
    last: Nanos,
}

impl WriteBurst {
    pub fn note_write(&self, now: Nanos) {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let began = times.filter(|it| it.holds(now)).map_or(now, |it| it.began);
        *times = Some(BurstTimes { began, last: now });
    }

    /// When the sync began that this process hears of now.
    pub fn start_sync(&self, now: Nanos) -> Nanos {
        let times = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let began = times.filter(|it| it.holds(now)).map_or(now, |it| it.began);
        began.max(now.saturating_sub(LONGEST))
    }
}

impl BurstTimes {
    fn holds(self, now: Nanos) -> bool {
        now.saturating_sub(self.last) <= GAP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_counts_from_the_first_write_of_its_burst() {
        let burst = WriteBurst::default();
        burst.note_write(1_000);
        burst.note_write(GAP);
        assert_eq!(burst.start_sync(2 * GAP), 1_000);
        // The next one has no writes of its own.
        assert_eq!(burst.start_sync(2 * GAP + 1), 2 * GAP + 1);
    }

    #[test]
    fn writes_without_end_count_for_little() {
        let burst = WriteBurst::default();
        let last = 40 * LONGEST / GAP;
        (0..last).for_each(|number| burst.note_write(number * GAP));
        let now = last * GAP;
        assert_eq!(burst.start_sync(now), now - LONGEST);
    }

    #[test]
    fn what_was_handed_over_long_before_is_no_part_of_it() {
        let burst = WriteBurst::default();
        burst.note_write(1_000);
        burst.note_write(3 * GAP);
        assert_eq!(burst.start_sync(3 * GAP + 10), 3 * GAP);
        burst.note_write(4 * GAP);
        assert_eq!(burst.start_sync(6 * GAP), 6 * GAP);
    }
}
