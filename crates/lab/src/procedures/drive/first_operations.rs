//! Mean latency of the first ten, hundred and thousand operations after a restart.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use bakeoff_load::{ClockNanos, Driver, EndedOperation};
use bakeoff_results::measure::{self, Measure, Measures, Scope};

use super::observed::observe_driver;

static FIRST: [(usize, &Measure); 3] =
    [(10, &measure::FIRST_10), (100, &measure::FIRST_100), (1_000, &measure::FIRST_1000)];
const MOST: usize = 1_000;

#[derive(Default)]
pub struct First {
    taken: AtomicUsize,
    latencies: Mutex<Vec<ClockNanos>>,
}

impl First {
    pub fn observe_driver<'a>(&'a self, driver: Box<dyn Driver + 'a>) -> Box<dyn Driver + 'a> {
        observe_driver(driver, |operation| {
            self.take(operation);
            true
        })
    }

    fn take(&self, operation: &EndedOperation) {
        // Later operations cost only an addition.
        if operation.done.error.is_none() && self.taken.fetch_add(1, Ordering::Relaxed) < MOST {
            let latency = operation.ended.saturating_sub(operation.intended);
            self.latencies.lock().unwrap_or_else(PoisonError::into_inner).push(latency);
        }
    }

    /// Only the means with enough operations.
    pub fn put_into(&self, measures: &mut Measures) {
        let latencies = self.latencies.lock().unwrap_or_else(PoisonError::into_inner);
        for (count, measure) in FIRST {
            if let Some(first) = latencies.get(..count) {
                let mean = first.iter().sum::<ClockNanos>() as f64 / count as f64;
                measures.set(measure, Scope::Clients, mean / 1e9);
            }
        }
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
        first.put_into(&mut measures);
        let of = |measure| measures.get(measure, &Scope::Clients).map(|s| (s * 1e9).round());
        assert_eq!(of(&measure::FIRST_10), Some(500.0));
        assert_eq!(of(&measure::FIRST_100), Some(68.0));
        assert_eq!(of(&measure::FIRST_1000), Some(25.0));
    }
}
