//! From the times of single requests to what a write and its flush take.

use bakeoff_results::FlushTiming;
use bakeoff_stats::humps::find_humps;

/// Seconds of requests, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples(Vec<f64>);

impl Samples {
    pub fn add(&mut self, seconds: f64) {
        self.0.push(seconds);
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// 0 without a sample.
    pub fn mean(&self) -> f64 {
        mean_of(&self.0)
    }
}

fn mean_of(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Nearest rank.
fn quantile_of(sorted: &[f64], share: f64) -> f64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// `writes` are those without a sync. `None` with less than two synced writes.
pub fn time_flush_from(writes: Option<&Samples>, synced: &Samples) -> Option<FlushTiming> {
    let values = &synced.0;
    let (first, second) = values.split_at(values.len() / 2);
    if first.is_empty() {
        return None;
    }
    let write_s = writes.map(Samples::mean);
    // A sync that costs nothing may come out below a mean of writes.
    let flush = |synced: &[f64]| (mean_of(synced) - write_s.unwrap_or(0.0)).max(0.0);
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    Some(FlushTiming {
        write_s,
        flush_s: flush(values),
        halves_s: [flush(first), flush(second)],
        median_s: quantile_of(&sorted, 0.5),
        mean_s: synced.mean(),
        p99_s: quantile_of(&sorted, 0.99),
        humps_s: find_humps(values),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(values: impl IntoIterator<Item = f64>) -> Samples {
        Samples(values.into_iter().collect())
    }

    #[test]
    fn a_flush_is_what_a_sync_adds_to_a_write_in_each_half() {
        let writes = samples([10e-6, 20e-6, 30e-6]);
        let first = std::iter::repeat_n(220e-6, 50);
        let synced = samples(first.chain(std::iter::repeat_n(620e-6, 50)));
        let timed = time_flush_from(Some(&writes), &synced).unwrap();
        let near = |value: f64, expected: f64| (value - expected).abs() < 1e-9;
        assert!(timed.write_s.is_some_and(|seconds| near(seconds, 20e-6)), "{timed:?}");
        assert!(near(timed.flush_s, 400e-6), "{timed:?}");
        assert!(near(timed.halves_s[0], 200e-6) && near(timed.halves_s[1], 600e-6), "{timed:?}");
        assert!(!timed.is_steady());
        assert_eq!((timed.median_s, timed.p99_s), (220e-6, 620e-6));
        assert_eq!(timed.humps_s, Some([220e-6, 620e-6]));
    }

    #[test]
    fn without_direct_writes_a_flush_has_the_write_in_it_and_none_is_below_zero() {
        let synced = samples([50e-6, 70e-6]);
        let timed = time_flush_from(None, &synced).unwrap();
        assert_eq!((timed.write_s, timed.humps_s), (None, None));
        assert!((timed.flush_s - 60e-6).abs() < 1e-12, "{timed:?}");
        let slow = samples([90e-6]);
        let timed = time_flush_from(Some(&slow), &synced).unwrap();
        assert_eq!((timed.flush_s, timed.halves_s), (0.0, [0.0, 0.0]));
        // Both are lost in the time of a call.
        assert!(timed.is_steady());
        assert_eq!(time_flush_from(None, &samples([1.0])), None);
    }
}
