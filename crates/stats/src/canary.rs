use crate::quantile::{NORMAL_MAD, mad, median};

pub const TOLERANCE: f64 = 0.10;

/// In standard deviations, estimated from the median absolute deviation.
pub const DEVIATIONS: f64 = 3.5;

pub const MIN_HISTORY: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedRange {
    pub median: f64,
    /// The larger of [`TOLERANCE`] of the median and [`DEVIATIONS`] · [`NORMAL_MAD`] · MAD.
    pub tolerance: f64,
}

/// `None` with fewer than [`MIN_HISTORY`] values or one that is not finite.
///
/// Source of the 3.5: Iglewicz and Hoaglin, "How to detect and handle outliers" (1993).
pub fn expect_range(history: &[f64]) -> Option<ExpectedRange> {
    if history.len() < MIN_HISTORY {
        return None;
    }
    let median = median(history)?;
    let tolerance = (TOLERANCE * median.abs()).max(DEVIATIONS * NORMAL_MAD * mad(history)?);
    Some(ExpectedRange { median, tolerance })
}

/// A value that is not finite is always off.
pub fn is_off(history: &[f64], value: f64) -> bool {
    !value.is_finite()
        || expect_range(history)
            .is_some_and(|expected| (value - expected.median).abs() > expected.tolerance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canary_is_off_beyond_its_usual_spread() {
        let quiet = &[100.0, 101.0, 99.0, 100.0, 100.0][..];
        // Median 100, MAD 10: 3.5 · 1.4826 · 10 = 51.891.
        let noisy = &[80.0, 90.0, 100.0, 110.0, 120.0][..];
        let wild = &[100.0, 100.0, 100.0, 100.0, 5000.0, 100.0][..];
        for (history, fine, off) in [
            (quiet, &[110.0, 90.0][..], &[110.1, 89.9][..]),
            (noisy, &[151.8, 48.2], &[152.0, 48.0]),
            (wild, &[], &[120.0]),
            // Without a history only what is no number is off.
            (&[1.0; 4], &[50.0], &[f64::NAN]),
            (&[1.0; 5], &[], &[50.0]),
            (&[1.0, 1.0, 1.0, 1.0, f64::NAN], &[50.0], &[]),
            (&[], &[], &[f64::NAN]),
        ] {
            assert!(!fine.iter().any(|value| is_off(history, *value)), "{history:?}: {fine:?}");
            assert!(off.iter().all(|value| is_off(history, *value)), "{history:?}: {off:?}");
        }
    }
}
