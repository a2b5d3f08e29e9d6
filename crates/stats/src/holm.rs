//! Several comparisons at once: Holm's step-down adjustment.
//!
//! With twenty comparisons of equal things, one looks different at 95 % by chance. A family is all
//! that was compared. Intervals are not widened; only which differences are believed is adjusted,
//! so that the chance of believing any false one stays below 1 - confidence.

use crate::paired::{Decision, Estimate};

/// Adjusts p-values; a missing or invalid p stays missing and does not count.
///
/// With m p-values ascending, the i-th (from 0) is multiplied by m - i; none is smaller than the
/// one before, or larger than 1. Source: Holm, "A simple sequentially rejective multiple test
/// procedure" (1979).
pub fn adjust_p_values(p: &[Option<f64>]) -> Vec<Option<f64>> {
    let number = |p: &Option<f64>| p.filter(|p| !p.is_nan());
    let mut order: Vec<(usize, f64)> =
        p.iter().enumerate().filter_map(|(at, p)| Some((at, number(p)?))).collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut adjusted = vec![None; p.len()];
    let mut least: f64 = 0.0;
    for (rank, &(at, p)) in order.iter().enumerate() {
        least = least.max(p * (order.len() - rank) as f64).min(1.0);
        adjusted[at] = Some(least);
    }
    adjusted
}

/// Which estimates differ from 1, with `confidence` in all of them together.
pub fn find_confident(family: &[Estimate], confidence: f64) -> Vec<bool> {
    let p: Vec<Option<f64>> = family.iter().map(|estimate| estimate.p).collect();
    adjust_p_values(&p).into_iter().map(|p| p.is_some_and(|p| p <= 1.0 - confidence)).collect()
}

/// As [`Estimate::decide`], but *faster* and *slower* become *undecided* if not [`find_confident`] in
/// the family.
pub fn decide_family(family: &[Estimate], margin: f64, confidence: f64) -> Vec<Decision> {
    let temper = |(estimate, confident): (&Estimate, bool)| match estimate.decide(margin) {
        Decision::Faster | Decision::Slower if !confident => Decision::Undecided,
        decision => decision,
    };
    family.iter().zip(find_confident(family, confidence)).map(temper).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::{CONFIDENCE, MARGIN, ratio_of_logs};

    fn close(found: &[Option<f64>], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found.unwrap() - expected).abs() < 1e-12, "{found:?} not {expected}");
        }
    }

    /// The usual textbook case: 0.01, 0.04, 0.03, 0.005 become 0.03, 0.06, 0.06, 0.02. The 0.06 of
    /// 0.04 is carried over from 0.03: one may not be believed where a smaller p is not.
    #[test]
    fn each_p_is_adjusted_by_how_many_are_left() {
        close(&adjust_p_values(&[0.01, 0.04, 0.03, 0.005].map(Some)), &[0.03, 0.06, 0.06, 0.02]);
        // Neither Bonferroni nor nothing.
        close(&adjust_p_values(&[0.02].map(Some)), &[0.02]);
        close(&adjust_p_values(&[0.02, 0.02, 0.02].map(Some)), &[0.06, 0.06, 0.06]);
        close(&adjust_p_values(&[0.9, 0.8].map(Some)), &[1.0, 1.0]);
        close(&adjust_p_values(&[0.001, 0.049].map(Some)), &[0.002, 0.049]);
        // What was not tested does not count.
        assert_eq!(adjust_p_values(&[None, Some(0.04), Some(f64::NAN)]), [None, Some(0.04), None]);
        assert!(adjust_p_values(&[]).is_empty());
    }

    /// Alone, p = 0.026 (t = 3.44 with 4 degrees of freedom) is believed; as the second of five,
    /// it counts as 4 · 0.026.
    #[test]
    fn a_decision_that_the_family_does_not_bear_is_undecided() {
        let of = |d: &[f64]| ratio_of_logs(d, CONFIDENCE).unwrap();
        let barely = of(&[0.2, 0.2, 0.9, 0.5, 0.9]);
        let strong = of(&[-0.65, -0.66, -0.64, -0.65, -0.65]);
        let same = of(&[0.001, -0.001, 0.002, 0.0, 0.001]);
        let single = of(&[3.0]);
        let noise = of(&[0.9, -0.2, 0.1, -0.3, 0.6]);
        use Decision::{Faster, Same, Slower, Undecided};
        assert_eq!(decide_family(&[barely], MARGIN, CONFIDENCE), [Slower]);
        assert_eq!(
            decide_family(&[barely, strong, same, single, noise, noise], MARGIN, CONFIDENCE),
            [Undecided, Faster, Same, Undecided, Undecided, Undecided]
        );
        assert_eq!(find_confident(&[strong, single], CONFIDENCE), [true, false]);
    }
}
