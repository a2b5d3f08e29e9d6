//! Tests whether several groups show one effect, or it differs from group to group.
//!
//! Sources: W. G. Cochran, Biometrics 10 (1954), 101–129, for Q; Higgins and Thompson, "Quantifying
//! heterogeneity in a meta-analysis" (2002), for I²; DerSimonian and Laird, "Meta-analysis in
//! clinical trials" (1986), for the variance between groups; Higgins, Thompson and Spiegelhalter,
//! "A re-evaluation of random-effects meta-analysis" (2009), section 4.1, for the interval of one
//! more group.

use statrs::distribution::{ContinuousCDF, FisherSnedecor, StudentsT};

use crate::CONFIDENCE;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Effect {
    value: f64,
    variance: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupSummary {
    pub mean: f64,
    pub deviation: f64,
    pub values: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heterogeneity {
    /// Cochran's Q.
    pub q: f64,
    /// The mean of Q if all groups agree: groups less one.
    pub expected: f64,
    /// Of "all groups have the same effect".
    pub p: f64,
    /// I²: the part of the spread that is between groups, from 0 to 1.
    pub i_squared: f64,
    /// τ: the standard deviation of the true effects.
    pub tau: f64,
    pub mean: f64,
    /// Of one more such group; `None` with fewer than three groups.
    pub interval: Option<(f64, f64)>,
}

impl GroupSummary {
    /// From a mean and the half-width of its 95 % interval by Student's distribution with so many
    /// degrees of freedom, as an [`Estimate`](crate::Estimate) has them.
    pub fn of_interval(mean: f64, half: f64, freedom: f64, values: usize) -> Option<Self> {
        let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
        let t = student.inverse_cdf(0.5 + CONFIDENCE / 2.0);
        let deviation = half / t * (values as f64).sqrt();
        (mean.is_finite() && deviation.is_finite() && deviation >= 0.0).then_some(Self {
            mean,
            deviation,
            values,
        })
    }
}

/// For means of groups that may have few values.
///
/// The variance of a value is estimated from all groups together: a small group's own is so
/// uncertain that Q would find differences that are not there. Q over its expected value is then
/// the F of an analysis of variance (R. A. Fisher, "Statistical Methods for Research Workers",
/// 1925).
///
/// `None` for fewer than two groups, without a group of two values, or without any variation inside
/// groups.
pub fn of_groups(groups: &[GroupSummary], confidence: f64) -> Option<Heterogeneity> {
    let freedom = |group: &GroupSummary| group.values.saturating_sub(1) as f64;
    let several = groups.iter().filter(|group| group.values > 1);
    let squares = several.map(|it| freedom(it) * it.deviation * it.deviation).sum::<f64>();
    let within: f64 = groups.iter().map(freedom).sum();
    let variance = squares / within;
    let effect = |group: &GroupSummary| Effect {
        value: group.mean,
        variance: variance / group.values as f64,
    };
    let effects: Vec<Effect> = groups.iter().map(effect).collect();
    judge_effects(&effects, confidence, |q, between| {
        Some(FisherSnedecor::new(between, within).ok()?.sf(q / between))
    })
}

fn judge_effects(
    effects: &[Effect],
    confidence: f64,
    p: impl Fn(f64, f64) -> Option<f64>,
) -> Option<Heterogeneity> {
    let fits = |it: &Effect| it.value.is_finite() && it.variance > 0.0 && it.variance.is_finite();
    let inside = confidence > 0.0 && confidence < 1.0;
    if effects.len() < 2 || !effects.iter().all(fits) || !inside {
        return None;
    }
    let expected = effects.len() as f64 - 1.0;
    let (common, weights) = weigh_effects(effects, 0.0);
    let q: f64 = effects.iter().map(|it| (it.value - common).powi(2) / it.variance).sum();
    let squares: f64 = effects.iter().map(|it| it.variance.powi(-2)).sum();
    let tau_squared = ((q - expected) / (weights - squares / weights)).max(0.0);
    let (mean, weights) = weigh_effects(effects, tau_squared);
    let spread = (tau_squared + 1.0 / weights).sqrt();
    let interval = StudentsT::new(0.0, 1.0, expected - 1.0).ok().map(|student| {
        let half = student.inverse_cdf(0.5 + confidence / 2.0) * spread;
        (mean - half, mean + half)
    });
    let i_squared = if q > expected { (q - expected) / q } else { 0.0 };
    let p = p(q, expected)?;
    let numbers = [q, p, tau_squared, mean];
    numbers.iter().all(|number| number.is_finite()).then_some(Heterogeneity {
        q,
        expected,
        p,
        i_squared,
        tau: tau_squared.sqrt(),
        mean,
        interval,
    })
}

/// The mean, weighted by inverse variances, and the sum of weights.
fn weigh_effects(effects: &[Effect], between: f64) -> (f64, f64) {
    let weight = |it: &Effect| 1.0 / (it.variance + between);
    let sum: f64 = effects.iter().map(weight).sum();
    let mean = effects.iter().map(|it| weight(it) * it.value).sum::<f64>() / sum;
    (mean, sum)
}

#[cfg(test)]
mod tests {
    use statrs::distribution::ChiSquared;

    use super::*;
    use crate::paired::ratio_of_logs;

    /// The continuous data of Borenstein, Hedges, Higgins and Rothstein, "Introduction to Meta-Analysis"
    /// (2009), chapter 14: of each study the mean, standard deviation and number of the treated and of the
    /// control group.
    const STUDIES: [[(f64, f64, f64); 2]; 6] = [
        [(94.0, 22.0, 60.0), (92.0, 20.0, 60.0)],
        [(98.0, 21.0, 65.0), (92.0, 22.0, 65.0)],
        [(98.0, 28.0, 40.0), (88.0, 26.0, 40.0)],
        [(94.0, 19.0, 200.0), (82.0, 17.0, 200.0)],
        [(98.0, 21.0, 50.0), (88.0, 22.0, 45.0)],
        [(96.0, 21.0, 85.0), (92.0, 22.0, 85.0)],
    ];

    /// Hedges' g of two groups, and its variance (chapter 4 of the same book).
    fn effect([(a, sa, na), (b, sb, nb)]: [(f64, f64, f64); 2]) -> Effect {
        let freedom = na + nb - 2.0;
        let pooled = (((na - 1.0) * sa * sa + (nb - 1.0) * sb * sb) / freedom).sqrt();
        let d = (a - b) / pooled;
        let variance = (na + nb) / (na * nb) + d * d / (2.0 * (na + nb));
        let small = 1.0 - 3.0 / (4.0 * freedom - 1.0);
        Effect { value: small * d, variance: small * small * variance }
    }

    #[track_caller]
    fn close(found: f64, published: f64, digits: i32) {
        let half_of_the_last = 0.5 * 10_f64.powi(-digits);
        assert!((found - published).abs() <= half_of_the_last * 1.01, "{found}, not {published}");
    }

    /// The figures of chapters 14, 16 and 17.
    #[test]
    fn effects_have_the_published_figures() {
        let effects = STUDIES.map(effect);
        let found = judge_effects(&effects, CONFIDENCE, |q, freedom| {
            Some(ChiSquared::new(freedom).ok()?.sf(q))
        })
        .unwrap();
        close(found.q, 12.0033, 4);
        assert_eq!(found.expected, 5.0);
        close(found.p, 0.0347, 4);
        close(100.0 * found.i_squared, 58.34, 2);
        close(found.tau * found.tau, 0.0373, 4);
        close(found.mean, 0.3582, 4);
        let (low, high) = found.interval.unwrap();
        close(low, -0.2525, 4);
        close(high, 0.9690, 4);
    }

    /// Yields of plants (A. J. Dobson, "An Introduction to Statistical Modelling", 1983; the data set
    /// PlantGrowth of R), whose analysis of variance has F = 4.846 on 2 and 27, p = 0.0159.
    #[test]
    fn groups_have_the_published_analysis_of_variance() {
        let groups = [
            [4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14],
            [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69],
            [6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26],
        ];
        let group = |values: [f64; 10]| {
            let mean = values.iter().sum::<f64>() / 10.0;
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            GroupSummary { mean, deviation: (squares / 9.0).sqrt(), values: 10 }
        };
        let found = of_groups(&groups.map(group), CONFIDENCE).unwrap();
        close(found.q / found.expected, 4.846, 3);
        close(found.p, 0.0159, 4);
    }

    #[test]
    fn an_interval_says_what_its_values_deviate() {
        let logs: [f64; 4] = [0.1, 0.3, 0.2, 0.6];
        let estimate = ratio_of_logs(&logs, CONFIDENCE).unwrap();
        let half = (estimate.high.unwrap() / estimate.low.unwrap()).ln() / 2.0;
        let group = GroupSummary::of_interval(estimate.ratio.ln(), half, 3.0, 4).unwrap();
        assert!((group.mean - 0.3).abs() < 1e-12, "{group:?}");
        // Of the squares 0.04, 0, 0.01 and 0.09.
        assert!((group.deviation - (0.14_f64 / 3.0).sqrt()).abs() < 1e-9, "{group:?}");
    }

    #[test]
    fn groups_that_agree_have_nothing_between_them() {
        let of = |mean| GroupSummary { mean, deviation: 0.1, values: 5 };
        let found = of_groups(&[of(0.5), of(0.5), of(0.5)], CONFIDENCE).unwrap();
        assert_eq!((found.q, found.i_squared, found.tau), (0.0, 0.0, 0.0));
        assert!((found.p - 1.0).abs() < 1e-9, "{found:?}");
        // Between far ones the interval of one more is wider than they lie apart.
        let apart = of_groups(&[of(0.0), of(1.0), of(2.0)], CONFIDENCE).unwrap();
        let (low, high) = apart.interval.unwrap();
        assert!(low < 0.0 && high > 2.0 && apart.i_squared > 0.9, "{apart:?}");
        assert_eq!(of_groups(&[of(0.0), of(1.0)], CONFIDENCE).unwrap().interval, None);
    }

    #[test]
    fn what_can_t_be_told_is_none() {
        let of = |deviation, values| GroupSummary { mean: 0.5, deviation, values };
        assert_eq!(of_groups(&[], CONFIDENCE), None);
        assert_eq!(of_groups(&[of(0.1, 5)], CONFIDENCE), None);
        assert_eq!(of_groups(&[of(0.1, 1), of(0.1, 1)], CONFIDENCE), None);
        assert_eq!(of_groups(&[of(0.0, 5), of(0.0, 5)], CONFIDENCE), None);
        assert_eq!(of_groups(&[of(0.1, 0), of(0.1, 5)], CONFIDENCE), None);
        assert_eq!(of_groups(&[of(f64::NAN, 5), of(0.1, 5)], CONFIDENCE), None);
        assert_eq!(of_groups(&[of(0.1, 5), of(0.1, 5)], 1.0), None);
        assert_eq!(GroupSummary::of_interval(0.5, 0.1, 0.0, 1), None);
        assert!(of_groups(&[of(f64::NAN, 1), of(0.1, 5)], CONFIDENCE).is_some());
    }
}
