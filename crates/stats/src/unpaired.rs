//! The ratio of two samples without pairs, as of two sittings. What changed between them is in it.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::paired::{Estimate, HODGES_LEHMANN_PAIRS};
use crate::quantile::median;
use crate::{Error, are_finite, mean};

/// The ratio of the second sample over the first, from logarithms.
///
/// With d the difference of the means and v = s² / n of each sample, the ratio is exp(d) and the
/// interval exp(d ± t √(v₁ + v₂)), t with (v₁ + v₂)² / (v₁² / (n₁ - 1) + v₂² / (n₂ - 1)) degrees of
/// freedom. Sources: Welch, "The generalization of ‘Student’s’ problem when several different
/// population variances are involved" (1947); Satterthwaite, "An approximate distribution of
/// estimates of variance components" (1946).
///
/// The Hodges-Lehmann estimate is the median of all differences between the samples: Hodges and
/// Lehmann, "Estimates of location based on rank tests" (1963).
pub fn ratio_of_logs(first: &[f64], second: &[f64], confidence: f64) -> Result<Estimate, Error> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(Error::Confidence { confidence });
    }
    if first.is_empty() || second.is_empty() {
        return Err(Error::Empty);
    }
    if let Some(&value) = first.iter().chain(second).find(|value| !value.is_finite()) {
        return Err(Error::NotFinite { value });
    }
    let difference = mean(second) - mean(first);
    if !difference.is_finite() {
        return Err(Error::NotFinite { value: difference });
    }
    let spread = estimate_spread(first, second, difference, confidence);
    let pairs = first.len().min(second.len());
    Ok(Estimate {
        ratio: difference.exp(),
        low: spread.map(|(half, ..)| (difference - half).exp()),
        high: spread.map(|(half, ..)| (difference + half).exp()),
        hodges_lehmann: (pairs >= HODGES_LEHMANN_PAIRS)
            .then(|| estimate_shift(first, second))
            .flatten()
            .map(f64::exp),
        p: spread.map(|(_, p, _)| p),
        freedom: spread.map(|(.., freedom)| freedom),
        pairs,
    })
}

/// The half-width, the two-sided p-value of "the difference is 0" and the degrees of freedom; `None`
/// if a sample has a single value.
fn estimate_spread(
    first: &[f64],
    second: &[f64],
    difference: f64,
    confidence: f64,
) -> Option<(f64, f64, f64)> {
    let (one, other) = (variance_of_mean(first)?, variance_of_mean(second)?);
    let variance = one + other;
    if variance == 0.0 {
        let values = first.len() + second.len();
        let p = if difference == 0.0 { 1.0 } else { 0.0 };
        return Some((0.0, p, values as f64 - 2.0));
    }
    // As shares of the sum, so that small variances have squares.
    let part = |own: f64, values: &[f64]| (own / variance).powi(2) / (values.len() as f64 - 1.0);
    let freedom = 1.0 / (part(one, first) + part(other, second));
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let error = variance.sqrt();
    let t = student.inverse_cdf(0.5 + confidence / 2.0);
    Some((t * error, 2.0 * student.sf(difference.abs() / error), freedom))
}

fn variance_of_mean(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| squares / (n - 1.0) / n)
}

fn estimate_shift(first: &[f64], second: &[f64]) -> Option<f64> {
    let differences: Vec<f64> =
        first.iter().flat_map(|one| second.iter().map(move |other| other - one)).collect();
    are_finite(&differences).then(|| median(&differences)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paired::{CONFIDENCE, Decision, MARGIN};

    fn close(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() <= within, "{found} instead of {expected}");
    }

    /// Two samples of three with s = 0.1 each: 4 degrees of freedom, t(.975) = 2.776445, and the error
    /// is √(0.02 / 3). With 4 degrees P(|T| > t) = 1 - sin θ (1 + cos² θ / 2), tan θ = t / 2
    /// (Abramowitz and Stegun, 26.7.4).
    #[test]
    fn samples_of_equal_spread_worked_by_hand() {
        let estimate = ratio_of_logs(&[0.0, 0.1, 0.2], &[0.5, 0.3, 0.4], CONFIDENCE).unwrap();
        let half = 2.776_445 * (0.02_f64 / 3.0).sqrt();
        close(estimate.ratio.ln(), 0.3, 1e-12);
        close(estimate.low.unwrap().ln(), 0.3 - half, 1e-5);
        close(estimate.high.unwrap().ln(), 0.3 + half, 1e-5);
        let theta = (0.3 / (0.02_f64 / 3.0).sqrt() / 2.0).atan();
        let p = 1.0 - theta.sin() * (1.0 + theta.cos().powi(2) / 2.0);
        close(estimate.p.unwrap(), p, 1e-9);
        assert_eq!((estimate.pairs, estimate.hodges_lehmann), (3, None));
    }

    /// A sample without spread adds no freedom, however large it is: 2 degrees are left, and t is
    /// 4.302653. Pooled variances would give 11 degrees and an interval of half that width.
    #[test]
    fn the_spreads_are_not_pooled() {
        let estimate = ratio_of_logs(&[0.0, 0.1, 0.2], &[0.3; 10], CONFIDENCE).unwrap();
        let half = 4.302_653 * (0.01_f64 / 3.0).sqrt();
        close(estimate.high.unwrap().ln(), 0.2 + half, 1e-5);
        close(estimate.low.unwrap().ln(), 0.2 - half, 1e-5);
    }

    #[test]
    fn no_value_belongs_to_one_of_the_other_sample() {
        let (first, second) = ([0.0, 0.5, 1.0, 1.5], [0.125, 0.625, 1.125, 1.625]);
        let mut turned = second;
        turned.reverse();
        let [one, other] =
            [second, turned].map(|second| ratio_of_logs(&first, &second, CONFIDENCE).unwrap());
        assert_eq!(one, other);
        // As pairs they would differ by 0.125 each, without any spread.
        assert_eq!(one.decide(MARGIN), Decision::Undecided);
    }

    /// Differences of 0, 0, 0, 0 and 0, 0, 0, 9: 12 of 16 are 0.
    #[test]
    fn one_wild_value_is_spiky() {
        let first = [0.0, 0.001, 0.0, -0.001];
        let wild = ratio_of_logs(&first, &[0.0, 0.0, 0.0, 9.0], CONFIDENCE).unwrap();
        close(wild.hodges_lehmann.unwrap(), 1.0, 0.01);
        assert_eq!(wild.decide(MARGIN), Decision::Spiky);
    }

    #[test]
    fn what_has_no_spread_has_a_point_for_an_interval_and_a_single_value_has_none() {
        let same = ratio_of_logs(&[0.5; 4], &[0.5; 5], CONFIDENCE).unwrap();
        assert_eq!((same.low, same.high, same.p), (Some(1.0), Some(1.0), Some(1.0)));
        assert_eq!(same.decide(MARGIN), Decision::Same);
        let apart = ratio_of_logs(&[0.0; 4], &[1.0; 4], CONFIDENCE).unwrap();
        assert_eq!((apart.p, apart.decide(MARGIN)), (Some(0.0), Decision::Slower));
        let single = ratio_of_logs(&[0.0], &[1.0, 1.1, 1.2], CONFIDENCE).unwrap();
        assert_eq!((single.low, single.high, single.p, single.pairs), (None, None, None, 1));
        assert_eq!(single.decide(MARGIN), Decision::Undecided);
        let tiny = ratio_of_logs(&[0.0, 1e-160], &[0.0, 1e-160], CONFIDENCE).unwrap();
        assert!(tiny.p.is_some_and(|p| !p.is_nan()), "{tiny:?}");
    }

    #[test]
    fn nonsense_is_refused() {
        assert_eq!(ratio_of_logs(&[], &[1.0], CONFIDENCE), Err(Error::Empty));
        assert_eq!(ratio_of_logs(&[1.0], &[], CONFIDENCE), Err(Error::Empty));
        assert!(matches!(
            ratio_of_logs(&[f64::NEG_INFINITY], &[1.0], CONFIDENCE),
            Err(Error::NotFinite { .. })
        ));
        assert_eq!(ratio_of_logs(&[1.0], &[1.0], 1.0), Err(Error::Confidence { confidence: 1.0 }));
    }
}
