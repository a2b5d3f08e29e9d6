//! Several comparisons at once: with twenty comparisons of equal things, one looks different at
//! 95 % by chance. Intervals are not widened; only which differences are believed is adjusted.

use serde::{Deserialize, Serialize};

use crate::paired::{Decision, Estimate};

/// How p-values of a family are adjusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Adjustment {
    /// The chance of *any* false difference stays below 1 - confidence. With m p-values ascending,
    /// the i-th (from 0) is multiplied by m - i; none is smaller than the one before. Source: Holm,
    /// "A simple sequentially rejective multiple test procedure" (1979).
    Holm,
    /// The expected *share* of false ones among the differences that are believed stays below
    /// 1 - confidence. With m p-values ascending, the i-th (from 1) is multiplied by m / i; none is
    /// larger than the one after. Sources: Benjamini and Hochberg, "Controlling the false discovery
    /// rate" (1995); pairs that share a level depend on each other in a way that keeps it:
    /// Benjamini and Yekutieli, "The control of the false discovery rate in multiple testing under
    /// dependency" (2001).
    FalseDiscovery,
}

impl Adjustment {
    /// A missing or invalid p stays missing and does not count.
    pub fn adjust_p_values(self, p: &[Option<f64>]) -> Vec<Option<f64>> {
        let number = |p: &Option<f64>| p.filter(|p| !p.is_nan());
        let mut order: Vec<(usize, f64)> =
            p.iter().enumerate().filter_map(|(at, p)| Some((at, number(p)?))).collect();
        order.sort_by(|a, b| a.1.total_cmp(&b.1));
        let adjusted_in_order = match self {
            Self::Holm => adjust_step_down(&order),
            Self::FalseDiscovery => adjust_step_up(&order),
        };
        let mut adjusted = vec![None; p.len()];
        for (&(at, _), p) in order.iter().zip(adjusted_in_order) {
            adjusted[at] = Some(p);
        }
        adjusted
    }

    /// Which estimates differ from 1, with this confidence in the family.
    pub fn find_confident(self, family: &[Estimate], confidence: f64) -> Vec<bool> {
        let p: Vec<Option<f64>> = family.iter().map(|estimate| estimate.p).collect();
        let adjusted = self.adjust_p_values(&p);
        adjusted.into_iter().map(|p| is_believed(p, confidence)).collect()
    }

    /// As [`decide_adjusted`], each with its adjusted p-value.
    pub fn decide_family(self, family: &[Estimate], margin: f64, confidence: f64) -> Vec<Decision> {
        let p: Vec<Option<f64>> = family.iter().map(|estimate| estimate.p).collect();
        let adjusted = family.iter().zip(self.adjust_p_values(&p));
        adjusted.map(|(estimate, p)| decide_adjusted(estimate, p, margin, confidence)).collect()
    }
}

/// Whether an adjusted p-value makes a difference believed.
pub fn is_believed(adjusted: Option<f64>, confidence: f64) -> bool {
    adjusted.is_some_and(|p| p <= 1.0 - confidence)
}

/// As [`Estimate::decide`], but *faster* and *slower* become *undecided* where the adjusted p-value
/// is not believed.
pub fn decide_adjusted(
    estimate: &Estimate,
    adjusted: Option<f64>,
    margin: f64,
    confidence: f64,
) -> Decision {
    match estimate.decide(margin) {
        Decision::Faster | Decision::Slower if !is_believed(adjusted, confidence) => {
            Decision::Undecided
        }
        decision => decision,
    }
}

fn adjust_step_down(ascending: &[(usize, f64)]) -> Vec<f64> {
    let mut least: f64 = 0.0;
    let adjust = |(rank, &(_, p)): (usize, &(usize, f64))| {
        least = least.max(p * (ascending.len() - rank) as f64).min(1.0);
        least
    };
    ascending.iter().enumerate().map(adjust).collect()
}

fn adjust_step_up(ascending: &[(usize, f64)]) -> Vec<f64> {
    let (all, mut most) = (ascending.len() as f64, 1.0_f64);
    let adjust = |(rank, &(_, p)): (usize, &(usize, f64))| {
        most = most.min(p * all / (rank + 1) as f64);
        most
    };
    let mut adjusted: Vec<f64> = ascending.iter().enumerate().rev().map(adjust).collect();
    adjusted.reverse();
    adjusted
}

#[cfg(test)]
mod tests {
    use super::Adjustment::{FalseDiscovery, Holm};
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
        close(
            &Holm.adjust_p_values(&[0.01, 0.04, 0.03, 0.005].map(Some)),
            &[0.03, 0.06, 0.06, 0.02],
        );
        // Neither Bonferroni nor nothing.
        close(&Holm.adjust_p_values(&[0.02].map(Some)), &[0.02]);
        close(&Holm.adjust_p_values(&[0.02, 0.02, 0.02].map(Some)), &[0.06, 0.06, 0.06]);
        close(&Holm.adjust_p_values(&[0.9, 0.8].map(Some)), &[1.0, 1.0]);
        close(&Holm.adjust_p_values(&[0.001, 0.049].map(Some)), &[0.002, 0.049]);
        // What was not tested does not count.
        assert_eq!(
            Holm.adjust_p_values(&[None, Some(0.04), Some(f64::NAN)]),
            [None, Some(0.04), None]
        );
        assert!(Holm.adjust_p_values(&[]).is_empty());
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
        assert_eq!(Holm.decide_family(&[barely], MARGIN, CONFIDENCE), [Slower]);
        assert_eq!(
            Holm.decide_family(&[barely, strong, same, single, noise, noise], MARGIN, CONFIDENCE),
            [Undecided, Faster, Same, Undecided, Undecided, Undecided]
        );
        assert_eq!(Holm.find_confident(&[strong, single], CONFIDENCE), [true, false]);
    }

    /// Fifteen p-values of the paper's own example (Neuhaus et al., 1992): at 5 % Holm believes
    /// three of them, the false discovery rate four.
    #[test]
    fn the_example_of_benjamini_and_hochberg_finds_four() {
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        let believed = |adjustment: Adjustment| {
            let adjusted = adjustment.adjust_p_values(&p.map(Some));
            adjusted.into_iter().flatten().filter(|p| *p <= 0.05).count()
        };
        assert_eq!((believed(Holm), believed(FalseDiscovery)), (3, 4));
        // The order of the p-values has no influence, and no larger p has a smaller adjusted one.
        close(&FalseDiscovery.adjust_p_values(&[0.04, 0.01, 0.03].map(Some)), &[0.04, 0.03, 0.04]);
        assert_eq!(
            FalseDiscovery.adjust_p_values(&[None, Some(0.04), Some(f64::NAN)]),
            [None, Some(0.04), None]
        );
    }
}
