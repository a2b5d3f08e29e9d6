//! The first operations after a restart: the mean latency of the first ten, hundred and thousand.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use bakeoff_load::{ClockNanos, Driver, DriverClock, EndedOperation, OperationSink, Pacer};
use bakeoff_results::measure::{self, Measure, Measures, Scope};

/// How many are looked at, and under which names.
static FIRST: [(usize, &Measure); 3] =
    [(10, &measure::FIRST_10), (100, &measure::FIRST_100), (1_000, &measure::FIRST_1000)];
const MOST: usize = 1_000;

/// The latencies of the first operations that end, of all clients together.
#[derive(Default)]
pub struct First {
    taken: AtomicUsize,
    latencies: Mutex<Vec<ClockNanos>>,
}

impl First {
    /// A driver whose operations are looked at.
    pub fn observe_driver<'a>(&'a self, driver: Box<dyn Driver + 'a>) -> Box<dyn Driver + 'a> {
        Box::new(Observed { first: self, driver })
    }

    fn take(&self, operation: &EndedOperation) {
        // Those after the first cost an addition.
        if operation.done.error.is_none() && self.taken.fetch_add(1, Ordering::Relaxed) < MOST {
            let latency = operation.ended.saturating_sub(operation.intended);
            self.latencies.lock().unwrap_or_else(PoisonError::into_inner).push(latency);
        }
    }

    /// The means of those that there are enough of.
    pub fn put(&self, measures: &mut Measures) {
        let latencies = self.latencies.lock().unwrap_or_else(PoisonError::into_inner);
        for (count, measure) in FIRST {
            if let Some(first) = latencies.get(..count) {
                let mean = first.iter().sum::<ClockNanos>() as f64 / count as f64;
                measures.set(measure, Scope::Clients, mean / 1e9);
            }
        }
    }
}

struct Observed<'a> {
    first: &'a First,
    driver: Box<dyn Driver + 'a>,
}

impl Driver for Observed<'_> {
    fn run(&mut self, pacer: &mut dyn Pacer, record: &mut dyn OperationSink) {
        self.driver.run(pacer, &mut Looking { first: self.first, record });
    }

    fn lanes(&self) -> usize {
        self.driver.lanes()
    }
}

struct Looking<'a> {
    first: &'a First,
    record: &'a mut dyn OperationSink,
}

impl OperationSink for Looking<'_> {
    fn clock(&self) -> DriverClock {
        self.record.clock()
    }

    fn begin(&mut self, lane: usize, kind: usize, intended: ClockNanos) {
        self.record.begin(lane, kind, intended);
    }

    fn record(&mut self, operation: EndedOperation) -> Option<ClockNanos> {
        self.first.take(&operation);
        self.record.record(operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_of_the_first_that_ended() {
        let first = First::default();
        for number in 0..1_500 {
            let ended = 1_000 + if number < 10 { 500 } else { 20 };
            first.take(&EndedOperation { intended: 1_000, ended, ..EndedOperation::default() });
        }
        let mut measures = Measures::default();
        first.put(&mut measures);
        let of = |measure| measures.get(measure, &Scope::Clients).map(|s| (s * 1e9).round());
        assert_eq!(of(&measure::FIRST_10), Some(500.0));
        assert_eq!(of(&measure::FIRST_100), Some(68.0));
        assert_eq!(of(&measure::FIRST_1000), Some(25.0));
    }
}
