//! Tests whether the next value of a series depends on the one before.
//!
//! All intervals here assume that pairs are independent. If a machine is slow for one level over
//! several blocks, they are too narrow: with a correlation of 0.5 between neighbours, repeated
//! looks err in 15 % of runs.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::{are_finite, mean};

pub const FEWEST: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SerialCorrelation {
    pub lag1: f64,
    /// One-sided, of "the order means nothing".
    pub p: f64,
}

/// `None` with fewer than [`FEWEST`] values, with equal ones only, or one that is not finite.
///
/// Over all orders of n normal values the mean is -1 / n and the variance (n - 2)² / (n² (n - 1)).
/// Source: P. A. P. Moran, "Some theorems on time series II: the significance of the serial
/// correlation coefficient", Biometrika 35 (1948).
pub fn correlate_lag1(values: &[f64]) -> Option<SerialCorrelation> {
    if values.len() < FEWEST || !are_finite(values) {
        return None;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values.windows(2).map(|it| (it[0] - mean) * (it[1] - mean)).sum();
    let lag1 = Some(products / squares).filter(|lag1| lag1.is_finite())?;
    let n = values.len() as f64;
    let deviation = (n - 2.0) / (n * (n - 1.0).sqrt());
    let p = Normal::standard().sf((lag1 + 1.0 / n) / deviation);
    Some(SerialCorrelation { lag1, p })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1, 2 ... 8: the squares sum to 42, the products to 26.25.
    #[test]
    fn worked_by_hand() {
        let rising: Vec<f64> = (1..=8).map(f64::from).collect();
        let found = correlate_lag1(&rising).unwrap();
        assert!((found.lag1 - 26.25 / 42.0).abs() < 1e-12 && found.p < 0.01, "{found:?}");
        let alternating: Vec<f64> = (0..8).map(|i| f64::from(i % 2)).collect();
        let found = correlate_lag1(&alternating).unwrap();
        assert!((found.lag1 + 7.0 / 8.0).abs() < 1e-12 && found.p > 0.99, "{found:?}");
    }

    #[test]
    fn nothing_is_said_of_little_or_of_equal_values() {
        assert_eq!(correlate_lag1(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), None);
        assert_eq!(correlate_lag1(&[2.0; 20]), None);
        assert_eq!(correlate_lag1(&[f64::NAN; 20]), None);
    }
}
