//! Whether values fall into two groups.

use crate::quantile::median;

/// The share of all values that each group has at least.
const LEAST_SHARE: f64 = 0.1;
/// The share of the variance that lies between the groups. Evenly spread values have 3/4, normal ones 2/π.
const LEAST_BETWEEN: f64 = 0.9;
/// How many times as large the median of the larger ones is at least.
const LEAST_RATIO: f64 = 1.5;
const LEAST_VALUES: usize = 20;

/// The medians of the small and of the large values, by their logarithms, where two groups are told
/// apart. `None` with fewer than 20 values, or with one that is not positive.
///
/// Source: Otsu, "A threshold selection method from gray-level histograms" (1979): the groups between
/// which most of the variance lies.
pub fn find_humps(values: &[f64]) -> Option<[f64; 2]> {
    if values.len() < LEAST_VALUES || !values.iter().all(|it| it.is_finite() && *it > 0.0) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let logs: Vec<f64> = sorted.iter().map(|value| value.ln()).collect();
    let (number, mean) = (logs.len() as f64, crate::mean(&logs));
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>();
    let least = ((number * LEAST_SHARE).ceil() as usize).max(1);
    let mut below = 0.0;
    let mut best = (0.0, 0);
    for (index, log) in logs.iter().enumerate() {
        below += log - mean;
        let count = index + 1;
        if count < least || count + least > logs.len() {
            continue;
        }
        // The sum of squares between two groups whose deviations from the mean sum to ±below.
        let between = below * below * (1.0 / count as f64 + 1.0 / (number - count as f64));
        if between > best.0 {
            best = (between, count);
        }
    }
    let (between, count) = best;
    if count == 0 || between < LEAST_BETWEEN * variance {
        return None;
    }
    let (small, large) = (median(&sorted[..count])?, median(&sorted[count..])?);
    (large >= LEAST_RATIO * small).then_some([small, large])
}

#[cfg(test)]
mod tests {
    use super::find_humps;

    fn repeat_near(middle: f64, count: usize) -> impl Iterator<Item = f64> {
        (0..count).map(move |number| middle * (1.0 + 0.01 * (number % 9) as f64))
    }

    #[test]
    fn two_groups_are_told_from_one_that_is_wide_and_from_stragglers() {
        let two: Vec<f64> = repeat_near(0.3, 50).chain(repeat_near(1.35, 60)).collect();
        let [small, large] = find_humps(&two).unwrap();
        assert!((0.3..0.33).contains(&small) && (1.35..1.47).contains(&large), "{small} {large}");
        let even: Vec<f64> = (0..100).map(|number| 1.1_f64.powi(number)).collect();
        assert_eq!(find_humps(&even), None, "evenly spread");
        let stragglers: Vec<f64> = repeat_near(0.3, 95).chain(repeat_near(9.0, 5)).collect();
        assert_eq!(find_humps(&stragglers), None);
        let near: Vec<f64> = [1.0, 1.2].into_iter().flat_map(|it| repeat_near(it, 40)).collect();
        assert_eq!(find_humps(&near), None);
        assert_eq!(find_humps(&[1.0; 50]), None);
        assert_eq!(find_humps(&two[..10]), None);
    }
}
