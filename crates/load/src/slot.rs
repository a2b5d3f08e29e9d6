//! Slots: the pieces of a trial that each have a histogram of their own.

use hdrhistogram::Histogram;

use crate::ClockNanos;

/// How long a slot is, in nanoseconds.
pub(crate) const LENGTH: ClockNanos = 1_000_000_000;

/// The latencies of one kind of operation in a second of a trial, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencySlot {
    /// Where it starts, in seconds from the drivers' start.
    pub start_s: f64,
    /// Where it ends: a second later, or when the drivers had stopped; what ends exactly then belongs
    /// to the next slot.
    pub end_s: f64,
    /// The latencies of the operations that ended in it, in nanoseconds, to 3 significant digits:
    /// each from its intended start.
    pub histogram: Histogram<u64>,
}

/// A histogram of nanoseconds, to 3 significant digits, that grows with what is put in.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new(3).expect("3 is a number of digits that a histogram can have")
}

/// Merges slots.
pub(crate) fn merged(slots: &[LatencySlot]) -> Histogram<u64> {
    slots.iter().fold(histogram(), |mut sum, slot| {
        sum.add(&slot.histogram).expect("a histogram that grows takes any other");
        sum
    })
}
