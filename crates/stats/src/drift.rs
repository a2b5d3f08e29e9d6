//! A series drifts if it has a trend that is no chance and is large enough to matter.

use std::cmp::Ordering;

use statrs::distribution::{ContinuousCDF, Normal};

use crate::are_finite;
use crate::quantile::median;

pub const SIGNIFICANCE: f64 = 0.01;

/// A share of the median.
pub const SMALLEST_CHANGE: f64 = 0.05;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// Over the whole span, as a share of the median.
    pub change: f64,
    /// Two-sided, of "there is no trend".
    pub p: f64,
}

impl Drift {
    pub fn matters(&self) -> bool {
        self.p < SIGNIFICANCE && self.change.abs() > SMALLEST_CHANGE
    }
}

/// The median slope of all pairs of values.
///
/// Source: Sen, "Estimates of the regression coefficient based on Kendall's tau" (1968), after
/// Theil (1950).
pub fn theil_sen(series: &[f64]) -> Option<f64> {
    if !are_finite(series) {
        return None;
    }
    let slopes: Vec<f64> = series
        .iter()
        .enumerate()
        .flat_map(|(i, a)| {
            series[i + 1..].iter().zip(1..).map(move |(b, steps)| (b - a) / f64::from(steps))
        })
        .collect();
    median(&slopes)
}

/// The two-sided p-value of the Mann-Kendall test: normal approximation with continuity correction,
/// variance corrected for ties. `None` with fewer than four values or one that is not finite.
///
/// With fewer than six values, p never falls below 0.01.
///
/// Sources: Mann, "Nonparametric tests against trend" (1945); Kendall, "Rank correlation methods"
/// (1975); Gilbert, "Statistical methods for environmental pollution monitoring" (1987), 16.4.
pub fn mann_kendall(series: &[f64]) -> Option<f64> {
    if series.len() < 4 || !are_finite(series) {
        return None;
    }
    let s = count_signs(series);
    let twice = |n: usize| (n * (n - 1) * (2 * n + 5)) as f64;
    let variance = (twice(series.len()) - count_ties(series).map(twice).sum::<f64>()) / 18.0;
    if s == 0 {
        return Some(1.0);
    }
    let z = (s.abs() - 1) as f64 / variance.sqrt();
    Some((2.0 * Normal::new(0.0, 1.0).ok()?.sf(z)).min(1.0))
}

fn count_signs(series: &[f64]) -> i64 {
    let mut s = 0;
    for (i, a) in series.iter().enumerate() {
        for b in &series[i + 1..] {
            s += match b.partial_cmp(a) {
                Some(Ordering::Greater) => 1,
                Some(Ordering::Less) => -1,
                _ => 0,
            };
        }
    }
    s
}

fn count_ties(series: &[f64]) -> impl Iterator<Item = usize> {
    let mut sorted = series.to_vec();
    sorted.sort_by(f64::total_cmp);
    let sizes: Vec<usize> = sorted.chunk_by(|a, b| a == b).map(<[f64]>::len).collect();
    sizes.into_iter()
}

/// `None` if [`mann_kendall`] is, or if the median is 0.
pub fn find_drift(series: &[f64]) -> Option<Drift> {
    let p = mann_kendall(series)?;
    let change = theil_sen(series)? * (series.len() - 1) as f64 / median(series)?.abs();
    change.is_finite().then_some(Drift { change, p })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// J. Little's worked example (College of the Holy Cross): 14 values, two of them equal,
    /// S = 72 - 18 = 54, variance (14·13·33 - 2·1·9) / 18 = 332.67, Z = 53 / 18.239 = 2.9058.
    const EXAMPLE: [f64; 14] =
        [12.9, 14.8, 13.2, 15.7, 13.8, 15.6, 12.9, 11.0, 17.3, 15.9, 19.0, 18.3, 20.1, 21.7];

    #[test]
    fn mann_kendall_with_ties() {
        assert_eq!(count_signs(&EXAMPLE), 54);
        assert!((mann_kendall(&EXAMPLE).unwrap() - 0.003_663).abs() < 1e-6);
        let falling: Vec<f64> = EXAMPLE.iter().rev().copied().collect();
        assert_eq!(mann_kendall(&falling), mann_kendall(&EXAMPLE));
        // S = 11, variance (6·5·17 - 3·2·11 - 2·1·9) / 18 = 426 / 18, Z = 10 / 4.8648 = 2.0556,
        // p = 0.03983; without the correction for ties it would be 0.06031.
        let p = mann_kendall(&[1.0, 1.0, 1.0, 2.0, 2.0, 3.0]).unwrap();
        assert!((p - 0.0398).abs() < 1e-4, "{p}");
        assert_eq!(mann_kendall(&[0.0, -0.0, 0.0, -0.0, 0.0]), Some(1.0));
    }

    #[test]
    fn theil_sen_by_hand() {
        // Slopes of 1, 2, 4, 20: 1, 1.5, 19/3, 2, 9, 16; median (2 + 19/3) / 2.
        let slope = theil_sen(&[1.0, 2.0, 4.0, 20.0]).unwrap();
        assert!((slope - 25.0 / 6.0).abs() < 1e-12, "{slope}");
        assert_eq!(theil_sen(&[1.0]), None);
        assert_eq!(theil_sen(&[1.0, f64::INFINITY]), None);
    }

    #[test]
    fn a_drift_must_be_believed_and_matter() {
        let line = |change: f64, n: i32| -> Drift {
            let values: Vec<f64> =
                (0..n).map(|i| 100.0 + change * (f64::from(i) / f64::from(n - 1) - 0.5)).collect();
            find_drift(&values).unwrap()
        };
        assert!(line(6.0, 20).matters() && line(-6.0, 20).matters());
        assert!((line(6.0, 20).change - 0.06).abs() < 1e-12);
        // Certain, but too small to matter.
        assert!(!line(4.0, 20).matters());
        // Large, but five values can't show it.
        assert!(!line(60.0, 5).matters());
        assert!(line(60.0, 6).matters());
        // A wild value at the end is no trend.
        let mut spike = [100.0; 20];
        spike[19] = 900.0;
        assert!(!find_drift(&spike).unwrap().matters());
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(find_drift(&[1.0, 2.0, 3.0]), None);
        assert_eq!(find_drift(&[0.0; 8]), None);
        assert_eq!(find_drift(&[1.0, 2.0, f64::NAN, 3.0, 4.0]), None);
        assert_eq!(find_drift(&[2.0; 8]), Some(Drift { change: 0.0, p: 1.0 }));
    }
}
