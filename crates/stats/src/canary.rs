//! Whether the machine alone is as fast as it was: a value against its history.

use crate::quantile::{NORMAL_MAD, mad, median};

/// The least share of the median that is off.
pub const TOLERANCE: f64 = 0.10;

/// How many standard deviations, estimated from the median absolute deviation, are off.
pub const DEVIATIONS: f64 = 3.5;

/// The fewest values that make a history; nothing is off with fewer.
pub const MIN_HISTORY: usize = 5;

/// Where a value is expected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedRange {
    /// The median of the history.
    pub median: f64,
    /// How far from the median a value may be: the larger of [`TOLERANCE`] of the median and
    /// [`DEVIATIONS`] · [`NORMAL_MAD`] · MAD.
    pub tolerance: f64,
}

/// What a history leads to expect; `None` when it is shorter than [`MIN_HISTORY`] or holds a value
/// that is not finite.
///
/// Source of the 3.5: Iglewicz and Hoaglin, "How to detect and handle outliers" (1993).
pub fn expected(history: &[f64]) -> Option<ExpectedRange> {
    if history.len() < MIN_HISTORY {
        return None;
    }
    let median = median(history)?;
    let tolerance = (TOLERANCE * median.abs()).max(DEVIATIONS * NORMAL_MAD * mad(history)?);
    Some(ExpectedRange { median, tolerance })
}

/// Whether a value is too far from what the values before it lead to expect, to either side. A
/// value that is not finite is off; without a history nothing else is.
pub fn is_off(history: &[f64], value: f64) -> bool {
    !value.is_finite()
        || expected(history)
            .is_some_and(|expected| (value - expected.median).abs() > expected.tolerance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_history_allows_ten_percent() {
        let history = [100.0, 101.0, 99.0, 100.0, 100.0];
        assert!(!is_off(&history, 110.0) && !is_off(&history, 90.0));
        assert!(is_off(&history, 110.1) && is_off(&history, 89.9));
    }

    #[test]
    fn a_noisy_history_allows_its_own_spread() {
        // Median 100, MAD 10: 3.5 · 1.4826 · 10 = 51.891.
        let history = [80.0, 90.0, 100.0, 110.0, 120.0];
        assert!(!is_off(&history, 151.8) && is_off(&history, 152.0));
        assert!(!is_off(&history, 48.2) && is_off(&history, 48.0));
    }

    #[test]
    fn one_wild_value_in_the_history_does_not_widen_it() {
        assert!(is_off(&[100.0, 100.0, 100.0, 100.0, 5000.0, 100.0], 120.0));
    }

    #[test]
    fn without_a_history_only_what_is_no_number_is_off() {
        assert!(!is_off(&[1.0, 1.0, 1.0, 1.0], 50.0));
        assert!(is_off(&[1.0; 5], 50.0));
        assert!(!is_off(&[1.0, 1.0, 1.0, 1.0, f64::NAN], 50.0));
        assert!(is_off(&[], f64::NAN));
    }
}
