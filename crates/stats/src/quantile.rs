/// Values that must lie beyond a quantile before it is printed.
pub const BEYOND: u64 = 10;

/// How many values are needed before the quantile `q` is printed: N with N (1 - q) ≥ [`BEYOND`];
/// `None` when `q` does not lie in [0, 1), where no number would do.
///
/// ```
/// use bakeoff_stats::quantile::needed;
/// assert_eq!([0.5, 0.95, 0.99, 0.999].map(needed), [20, 200, 1_000, 10_000].map(Some));
/// ```
pub fn needed(q: f64) -> Option<u64> {
    // 1 - 0.9 is not 0.1 in binary: rounding must not ask for one value more.
    (0.0..1.0).contains(&q).then(|| (BEYOND as f64 / (1.0 - q) * (1.0 - 1e-12)).ceil() as u64)
}

pub fn is_backed(count: u64, q: f64) -> bool {
    needed(q).is_some_and(|needed| count >= needed)
}

/// `None` without a value or with one that is not finite.
pub fn median(values: &[f64]) -> Option<f64> {
    if values.is_empty() || !crate::are_finite(values) {
        return None;
    }
    let mut values = values.to_vec();
    let (middle, is_odd) = (values.len() / 2, values.len() % 2 == 1);
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    if is_odd {
        return Some(upper);
    }
    let lower = below.iter().copied().max_by(f64::total_cmp)?;
    // Halved first: the sum of two large values may be infinite.
    Some(lower / 2.0 + upper / 2.0)
}

/// 1 / Φ⁻¹(3/4): makes the median absolute deviation of normal values their standard deviation.
/// Source: Hampel, "The influence curve and its role in robust estimation" (1974).
pub const NORMAL_MAD: f64 = 1.4826;

/// The median absolute deviation, unscaled.
pub fn mad(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    median(&values.iter().map(|value| (value - middle).abs()).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_needs_ten_values_beyond_it() {
        for (q, n) in [(0.9, 100), (0.95, 200), (0.99, 1_000), (0.999, 10_000)] {
            assert!(is_backed(n, q) && !is_backed(n - 1, q), "{q}");
        }
        assert!(is_backed(10, 0.0) && !is_backed(9, 0.0));
        for q in [1.0, 1.1, -0.1, f64::NAN, f64::INFINITY] {
            assert!(!is_backed(u64::MAX, q), "{q}");
        }
    }

    #[test]
    fn medians_by_hand() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[f64::MAX, f64::MAX]), Some(f64::MAX));
        assert_eq!((median(&[]), median(&[1.0, f64::NAN])), (None, None));
        // Median 2; deviations 1, 1, 0, 0, 2, 4, 7.
        assert_eq!(mad(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), Some(1.0));
        assert_eq!(mad(&[]), None);
        // Of values in no order, some of them equal.
        for length in 1..60_usize {
            let value = |at: usize| (at * at * 37 % 61) as f64 - 30.0;
            let values: Vec<f64> = (0..length).map(value).collect();
            let mut sorted = values.clone();
            sorted.sort_by(f64::total_cmp);
            let expected = (sorted[(length - 1) / 2] + sorted[length / 2]) / 2.0;
            assert_eq!(median(&values), Some(expected), "{values:?}");
        }
    }

    #[test]
    fn the_factor_is_that_of_the_normal_distribution() {
        use statrs::distribution::{ContinuousCDF, Normal};
        let quartile = Normal::new(0.0, 1.0).unwrap().inverse_cdf(0.75);
        assert!((NORMAL_MAD - 1.0 / quartile).abs() < 5e-5);
    }
}
