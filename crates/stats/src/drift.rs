//! Whether a series drifts: a trend that chance does not explain and that is large enough to
//! matter.

use std::cmp::Ordering;

use statrs::distribution::{ContinuousCDF, Normal};

use crate::finite;
use crate::quantile::median;

/// A trend is believed below this p-value.
pub const SIGNIFICANCE: f64 = 0.01;

/// A trend matters above this total change, as a share of the series' median.
pub const SMALLEST_CHANGE: f64 = 0.05;

/// A series' trend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// How much the series changes over its whole span, as a share of its median; negative where
    /// it falls.
    pub change: f64,
    /// The two-sided p-value of "there is no trend".
    pub p: f64,
}

impl Drift {
    /// Whether the trend is believed and matters.
    pub fn matters(&self) -> bool {
        self.p < SIGNIFICANCE && self.change.abs() > SMALLEST_CHANGE
    }
}

/// The median of the slopes between all pairs of values, a step of the series being 1; `None` with
/// fewer than two values or with one that is not finite.
///
/// Source: Sen, "Estimates of the regression coefficient based on Kendall's tau" (1968), after
/// Theil (1950).
pub fn theil_sen(series: &[f64]) -> Option<f64> {
    if !finite(series) {
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

/// The two-sided p-value of the Mann-Kendall test for a trend: the normal approximation with
/// continuity correction, its variance corrected for ties. `None` with fewer than four values or
/// with one that is not finite.
///
/// The approximation errs on the safe side for short series: with fewer than six values no
/// trend gets below 0.01.
///
/// Sources: Mann, "Nonparametric tests against trend" (1945); Kendall, "Rank correlation methods"
/// (1975); Gilbert, "Statistical methods for environmental pollution monitoring" (1987), 16.4.
pub fn mann_kendall(series: &[f64]) -> Option<f64> {
    if series.len() < 4 || !finite(series) {
        return None;
    }
    let s = signs(series);
    let twice = |n: usize| (n * (n - 1) * (2 * n + 5)) as f64;
    let variance = (twice(series.len()) - ties(series).map(twice).sum::<f64>()) / 18.0;
    if s == 0 {
        return Some(1.0);
    }
    let z = (s.abs() - 1) as f64 / variance.sqrt();
    Some((2.0 * Normal::new(0.0, 1.0).ok()?.sf(z)).min(1.0))
}

/// Of all pairs of values, how many rise less how many fall.
fn signs(series: &[f64]) -> i64 {
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

/// How many values each group of equal values holds.
fn ties(series: &[f64]) -> impl Iterator<Item = usize> {
    let mut sorted = series.to_vec();
    sorted.sort_by(f64::total_cmp);
    let sizes: Vec<usize> = sorted.chunk_by(|a, b| a == b).map(<[f64]>::len).collect();
    sizes.into_iter()
}

/// The trend of a series; `None` where [`mann_kendall`] is, and where the median is 0.
pub fn drift(series: &[f64]) -> Option<Drift> {
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
    fn mann_kendall_of_a_published_example_with_a_tie() {
        assert_eq!(signs(&EXAMPLE), 54);
        assert!((mann_kendall(&EXAMPLE).unwrap() - 0.003_663).abs() < 1e-6);
        let falling: Vec<f64> = EXAMPLE.iter().rev().copied().collect();
        assert_eq!(mann_kendall(&falling), mann_kendall(&EXAMPLE));
    }

    /// 1 1 1 2 2 3: S = 11, variance (6·5·17 - 3·2·11 - 2·1·9) / 18 = 426 / 18, Z = 10 / 4.8648 =
    /// 2.0556, p = 0.03983; without the correction for ties it would be 0.06031.
    #[test]
    fn many_ties_shrink_the_variance() {
        let p = mann_kendall(&[1.0, 1.0, 1.0, 2.0, 2.0, 3.0]).unwrap();
        assert!((p - 0.0398).abs() < 1e-4, "{p}");
    }

    #[test]
    fn zeros_of_both_signs_are_equal() {
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
            drift(&values).unwrap()
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
        assert!(!drift(&spike).unwrap().matters());
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(drift(&[1.0, 2.0, 3.0]), None);
        assert_eq!(drift(&[0.0; 8]), None);
        assert_eq!(drift(&[1.0, 2.0, f64::NAN, 3.0, 4.0]), None);
        assert_eq!(drift(&[2.0; 8]), Some(Drift { change: 0.0, p: 1.0 }));
    }
}
