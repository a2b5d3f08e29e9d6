//! Slots: the seconds of a trial, each with a histogram.

use hdrhistogram::Histogram;

use crate::ClockNanos;

/// In nanoseconds.
pub(crate) const LENGTH: ClockNanos = 1_000_000_000;

#[derive(Clone, Debug, PartialEq)]
pub struct LatencySlot {
    pub start_s: f64,
    /// A second later, or when the drivers stopped; exclusive.
    pub end_s: f64,
    /// Latencies from the intended start, of operations that ended in the slot: nanoseconds to 3
    /// digits.
    pub histogram: Histogram<u64>,
}

/// Of nanoseconds to 3 significant digits.
pub(crate) fn new_histogram() -> Histogram<u64> {
    Histogram::new(3).expect("3 is a number of digits that a histogram can have")
}

pub(crate) fn merge_slots(slots: &[LatencySlot]) -> Histogram<u64> {
    slots.iter().fold(new_histogram(), |mut sum, slot| {
        sum.add(&slot.histogram).expect("a histogram that grows takes any other");
        sum
    })
}
