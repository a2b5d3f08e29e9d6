//! Where a series' warm-up ends.

use crate::{finite, mean};

/// How many values make a batch.
pub const BATCH: usize = 5;

/// The fewest batches that say anything.
pub const MIN_BATCHES: usize = 6;

/// How many batches a cut beyond the half must leave.
pub const REST: usize = 5;

/// How many values at the start belong to the warm-up, by MSER-5: a multiple of [`BATCH`], and 0
/// for a series that starts as it goes on.
///
/// The series is averaged in batches of five. Of all cuts, the one is taken that leaves the mean
/// of the rest with the least squared standard error: for k batches Z and a cut after d of them,
/// the least Σ (Z_i - mean of the rest)² / (k - d)², both over i > d; the earliest where several
/// are equal. Sources: White, "An effective truncation heuristic for bias reduction in
/// simulation output" (1997); Franklin and White, "Stationarity tests and MSER-5" (2008).
///
/// Cuts that leave fewer than [`REST`] batches are tried only up to the half: a few values at the
/// end agree by chance. `None` when the best cut does not lie in the first half (the series may
/// never have settled, so no cut is to be trusted), with fewer than [`MIN_BATCHES`] batches, or
/// with a value that is not finite. It is no proof of a warm-up: of 60 values of noise around a
/// level, 14 % end so.
pub fn mser5(series: &[f64]) -> Option<usize> {
    let batches: Vec<f64> = series.chunks_exact(BATCH).map(mean).collect();
    if batches.len() < MIN_BATCHES || !finite(series) {
        return None;
    }
    // What rounding alone may leave of a spread; a level series must not be cut for its sake.
    let rounding = (mean(&batches) * 1e-12).powi(2);
    let error = |cut: usize| {
        let rest = &batches[cut..];
        let mean = mean(rest);
        let squares: f64 = rest.iter().map(|z| (z - mean).powi(2) + rounding).sum();
        squares / (rest.len() as f64).powi(2)
    };
    let half = batches.len() / 2;
    let last = half.max(batches.len().saturating_sub(REST));
    let best = (0..=last).min_by(|a, b| error(*a).total_cmp(&error(*b)))?;
    (best < half).then_some(best * BATCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values around a level, in turn above and below, the same for every batch of five but the
    /// sign.
    fn level(length: usize, level: f64) -> Vec<f64> {
        (0..length).map(|i| level + if i % 2 == 0 { 1.0 } else { -1.0 }).collect()
    }

    #[test]
    fn a_slow_start_is_cut_where_it_ends() {
        let mut series = level(100, 50.0);
        for (i, value) in series.iter_mut().take(15).enumerate() {
            *value += 60.0 - 4.0 * i as f64;
        }
        assert_eq!(mser5(&series), Some(15));
    }

    #[test]
    fn a_cut_falls_between_batches() {
        // Twelve slow values spoil three batches.
        let series: Vec<f64> = [vec![500.0; 12], level(88, 50.0)].concat();
        assert_eq!(mser5(&series), Some(15));
    }

    #[test]
    fn a_level_series_is_not_cut() {
        assert_eq!(mser5(&level(100, 50.0)), Some(0));
        for value in [0.0, 0.1, 1e9 / 3.0] {
            assert_eq!(mser5(&[value; 203]), Some(0), "{value}");
        }
    }

    fn batches(means: [f64; 6]) -> Vec<f64> {
        means.into_iter().flat_map(|z| [z; 5]).collect()
    }

    /// Cuts 0 to 3 of 9, 1, 1, 2, 1, 1 give 51.5 / 36, 0.8 / 25, 0.75 / 16 and 0.67 / 9: the least
    /// is at 1. The plain sums of squares are least at 3.
    #[test]
    fn the_statistic_worked_by_hand() {
        assert_eq!(mser5(&batches([9.0, 1.0, 1.0, 2.0, 1.0, 1.0])), Some(5));
    }

    /// Cuts 0 to 3 of 2, 1, 2, 1, 2, 1 give 1.5 / 36, 1.2 / 25, 1 / 16 and 0.67 / 9: the least is
    /// at 0. The variances of the rest (1.5 / 6, 1.2 / 5, 1 / 4, 0.67 / 3) are least at 3.
    #[test]
    fn a_shorter_rest_is_held_to_more_than_its_variance() {
        assert_eq!(mser5(&batches([2.0, 1.0, 2.0, 1.0, 2.0, 1.0])), Some(0));
    }

    #[test]
    fn a_cut_in_the_second_half_is_not_trusted() {
        let ramp: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(mser5(&ramp), None);
        let late: Vec<f64> = [vec![500.0; 70], vec![50.0; 30]].concat();
        assert_eq!(mser5(&late), None);
    }

    #[test]
    fn an_end_that_differs_is_no_warm_up() {
        let series: Vec<f64> = [level(90, 50.0), vec![500.0; 10]].concat();
        assert_ne!(mser5(&series), Some(90));
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(mser5(&[]), None);
        assert_eq!(mser5(&[1.0; 29]), None);
        assert_eq!(mser5(&[1.0; 30]), Some(0));
        let mut series = [1.0; 40];
        series[39] = f64::NAN;
        assert_eq!(mser5(&series), None);
    }
}
