//! A driver's operations in flight, visible to other threads: a hanging client can't report them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::ClockNanos;

/// Bits of a lane for the kind; an idle lane is 0.
const KIND_BITS: u32 = 8;
pub(crate) const MOST_KINDS: usize = (1 << KIND_BITS) - 1;

#[derive(Debug)]
pub(crate) struct Lanes(Box<[AtomicU64]>);

impl Lanes {
    pub fn new(number: usize) -> Self {
        Self((0..number).map(|_| AtomicU64::new(0)).collect())
    }

    pub fn begin(&self, lane: usize, kind: usize, intended: ClockNanos) {
        self.0[lane].store(intended << KIND_BITS | (kind as u64 + 1), Relaxed);
    }

    pub fn end(&self, lane: usize) {
        self.0[lane].store(0, Relaxed);
    }

    /// Each operation's kind, and when it was to start.
    pub fn under_way(&self) -> impl Iterator<Item = (usize, ClockNanos)> {
        let busy = self.0.iter().map(|lane| lane.load(Relaxed)).filter(|lane| *lane != 0);
        busy.map(|lane| ((lane & MOST_KINDS as u64) as usize - 1, lane >> KIND_BITS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_tells_what_it_was_told() {
        let lanes = Lanes::new(3);
        assert_eq!(lanes.under_way().count(), 0);
        let (year, last) = (31_536_000_000_000_000, MOST_KINDS - 1);
        lanes.begin(0, 0, 0);
        lanes.begin(2, last, year);
        assert_eq!(lanes.under_way().collect::<Vec<_>>(), [(0, 0), (last, year)]);
        lanes.end(0);
        assert_eq!(lanes.under_way().collect::<Vec<_>>(), [(last, year)]);
    }
}
