//! Whether what comes next in a series depends on what came before.
//!
//! Every interval here takes pairs for independent of each other. Where a machine is slow for one level
//! over several blocks on end, they are not, and intervals are too narrow: with a correlation of 0.5
//! from one pair to the next, repeated looks are wrong in 15 % of runs.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::{finite, mean};

/// Of fewer values nothing is said.
pub const FEWEST: usize = 8;

/// The correlation of a series with itself, one place later.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Serial {
    /// The correlation, from -1 to 1.
    pub lag1: f64,
    /// The one-sided p-value of "the order means nothing".
    pub p: f64,
}

/// The lag-1 correlation of at least [`FEWEST`] values; `None` where there are fewer, where all are
/// equal, and where one is not finite.
///
/// Its mean and variance over all orders of n normal values are -1 / n and (n - 2)² / (n² (n - 1)).
/// Source: P. A. P. Moran, "Some theorems on time series II: the significance of the serial correlation
/// coefficient", Biometrika 35 (1948).
pub fn lag1(values: &[f64]) -> Option<Serial> {
    if values.len() < FEWEST || !finite(values) {
        return None;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values.windows(2).map(|it| (it[0] - mean) * (it[1] - mean)).sum();
    let lag1 = Some(products / squares).filter(|lag1| lag1.is_finite())?;
    let n = values.len() as f64;
    let deviation = (n - 2.0) / (n * (n - 1.0).sqrt());
    let p = Normal::standard().sf((lag1 + 1.0 / n) / deviation);
    Some(Serial { lag1, p })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1, 2 ... 8: the squares sum to 42, the products to 26.25.
    #[test]
    fn worked_by_hand() {
        let rising: Vec<f64> = (1..=8).map(f64::from).collect();
        let found = lag1(&rising).unwrap();
        assert!((found.lag1 - 26.25 / 42.0).abs() < 1e-12 && found.p < 0.01, "{found:?}");
        let alternating: Vec<f64> = (0..8).map(|i| f64::from(i % 2)).collect();
        let found = lag1(&alternating).unwrap();
        assert!((found.lag1 + 7.0 / 8.0).abs() < 1e-12 && found.p > 0.99, "{found:?}");
    }

    #[test]
    fn nothing_is_said_of_little_or_of_equal_values() {
        assert_eq!(lag1(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), None);
        assert_eq!(lag1(&[2.0; 20]), None);
        assert_eq!(lag1(&[f64::NAN; 20]), None);
    }
}
