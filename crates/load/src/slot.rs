//! Slots: the pieces of a trial that each have a histogram of their own.

use hdrhistogram::Histogram;

/// The latencies of one kind of operation in a piece of a trial, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// Where it starts, in seconds from the drivers' start.
    pub start_s: f64,
    /// Where it ends; what ends exactly then belongs to the next slot.
    pub end_s: f64,
    /// The latencies of the operations that ended in it, in nanoseconds, to 3 significant digits:
    /// each from its intended start.
    pub histogram: Histogram<u64>,
    /// The same from each operation's real start; in an open loop alone.
    pub service: Option<Histogram<u64>>,
}

/// A histogram of nanoseconds, to 3 significant digits, that grows with what is put in.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new(3).expect("3 is a number of digits that a histogram can have")
}

/// Merges the slots that lie wholly between two points, in seconds from the drivers' start.
pub fn kept(slots: &[Slot], from_s: f64, to_s: f64) -> Histogram<u64> {
    merged(inside(slots, from_s, to_s).map(|slot| &slot.histogram))
}

/// As [`kept`], of service times; `None` in a closed loop.
pub fn kept_service(slots: &[Slot], from_s: f64, to_s: f64) -> Option<Histogram<u64>> {
    slots.first()?.service.as_ref()?;
    Some(merged(inside(slots, from_s, to_s).filter_map(|slot| slot.service.as_ref())))
}

fn inside(slots: &[Slot], from_s: f64, to_s: f64) -> impl Iterator<Item = &Slot> {
    // Half a nanosecond: the slots' edges are whole ones.
    const ROUNDING: f64 = 0.5e-9;
    slots
        .iter()
        .filter(move |slot| slot.start_s >= from_s - ROUNDING && slot.end_s <= to_s + ROUNDING)
}

fn merged<'a>(histograms: impl Iterator<Item = &'a Histogram<u64>>) -> Histogram<u64> {
    histograms.fold(histogram(), |mut sum, more| {
        sum.add(more).expect("a histogram that grows takes any other");
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_takes_whole_slots_only() {
        let slots: Vec<Slot> = (0u32..4)
            .map(|second| {
                let mut histogram = histogram();
                histogram.record_n(1, 10u64.pow(second)).unwrap();
                let (start_s, end_s) = (f64::from(second), f64::from(second + 1));
                Slot { start_s, end_s, histogram, service: None }
            })
            .collect();
        assert_eq!(kept(&slots, 1.0, 3.0).len(), 110);
        assert_eq!(kept(&slots, 0.5, 3.0).len(), 110);
        assert_eq!(kept(&slots, 0.0, 9.0).len(), 1111);
        assert_eq!(kept(&slots, 3.5, 3.6).len(), 0);
    }
}
