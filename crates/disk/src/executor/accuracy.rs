//! Compares the model's latency with the achieved one.

use bakeoff_devices::device::Nanos;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// From this latency on a device is slow enough for its error to count.
pub const SLOW: Nanos = 1_000_000;

/// Latencies are kept up to an hour; a longer one counts as this.
const LONGEST: Nanos = 3_600_000_000_000;
/// Relative errors are kept in units of a millionth, up to a thousand times.
const ERROR_UNITS: f64 = 1e6;
const LARGEST_ERROR: u64 = 1_000_000_000;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    pub modelled: Quantiles,
    /// Includes the way to and from the executor.
    pub achieved: Quantiles,
    /// How much work took [`SLOW`] or more by the model: the base of the two errors.
    pub slow: u64,
    /// The median of |achieved − modelled| ÷ modelled.
    pub error_median: f64,
    pub error_p99: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quantiles {
    pub count: u64,
    pub mean_us: f64,
    pub p50_us: f64,
    pub p99_us: f64,
    pub max_us: f64,
}

impl Quantiles {
    fn from_histogram(histogram: &Histogram<u64>) -> Self {
        let micros = |nanos: u64| nanos as f64 / 1e3;
        Self {
            count: histogram.len(),
            mean_us: histogram.mean() / 1e3,
            p50_us: micros(histogram.value_at_quantile(0.5)),
            p99_us: micros(histogram.value_at_quantile(0.99)),
            max_us: micros(histogram.max()),
        }
    }
}

pub(super) struct LatencyRecord {
    modelled: Histogram<u64>,
    achieved: Histogram<u64>,
    errors: Histogram<u64>,
}

impl LatencyRecord {
    pub(super) fn new() -> Self {
        let histogram =
            |largest| Histogram::new_with_bounds(1, largest, 3).expect("these bounds are in order");
        Self {
            modelled: histogram(LONGEST),
            achieved: histogram(LONGEST),
            errors: histogram(LARGEST_ERROR),
        }
    }

    pub(super) fn add_latency(&mut self, modelled: Nanos, achieved: Nanos) {
        self.modelled.saturating_record(modelled);
        self.achieved.saturating_record(achieved);
        if modelled >= SLOW {
            let error = achieved.abs_diff(modelled) as f64 / modelled as f64;
            self.errors.saturating_record((error * ERROR_UNITS) as u64);
        }
    }

    pub(super) fn accuracy(&self) -> Accuracy {
        let error = |quantile| self.errors.value_at_quantile(quantile) as f64 / ERROR_UNITS;
        Accuracy {
            modelled: Quantiles::from_histogram(&self.modelled),
            achieved: Quantiles::from_histogram(&self.achieved),
            slow: self.errors.len(),
            error_median: error(0.5),
            error_p99: error(0.99),
        }
    }
}
