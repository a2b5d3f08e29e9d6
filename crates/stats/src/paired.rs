//! The ratio of two levels from paired blocks, with its interval and what follows from it.
//!
//! A pair is what one block measured at both levels. Only differences inside blocks count, so
//! whatever a block does to both its trials alike cancels. On a machine that wanders by 2 % a
//! trial, ten trials of one level and then ten of an equal one are called different in 49 % of
//! tries; ten shuffled blocks of both in 5 % (tests/simulations/pairs.rs).

use std::cmp::Ordering;

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::quantile::median;
use crate::{Error, finite, mean};

/// How far a ratio must be from 1 to matter: 5 %, that is beyond 1.05 or below 1 / 1.05. Ratios are
/// held against it in logarithms, so that the same pairs say the same whichever of the two levels
/// is put first.
pub const MARGIN: f64 = 0.05;

/// The confidence of the intervals that are reported.
pub const CONFIDENCE: f64 = 0.95;

/// The confidence of intervals that are looked at before a run has ended, so that looking often
/// does not find differences that are not there.
pub const INTERIM_CONFIDENCE: f64 = 0.99;

/// The fewest pairs that get a Hodges-Lehmann estimate: of three, one wild value moves it as it
/// moves the mean.
pub const HODGES_LEHMANN_PAIRS: usize = 4;

/// What pairs say of a ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The second level's value over the first's: the geometric mean over all pairs.
    pub ratio: f64,
    /// The interval's lower end; `None` with a single pair.
    pub low: Option<f64>,
    /// The interval's upper end; `None` with a single pair.
    pub high: Option<f64>,
    /// The Hodges-Lehmann estimate of the ratio, which a few wild pairs can't move far; `None`
    /// with fewer than [`HODGES_LEHMANN_PAIRS`].
    pub hodges_lehmann: Option<f64>,
    /// The two-sided p-value of "the ratio is 1"; `None` with a single pair.
    pub p: Option<f64>,
    /// How many pairs there are; of two samples without pairs, how many values the smaller one has.
    pub pairs: usize,
}

/// What an estimate says, for a value of which less is better (a latency).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// The interval lies wholly below 1 / (1 + margin).
    Faster,
    /// The interval lies wholly above 1 + margin.
    Slower,
    /// The interval lies between the two.
    Same,
    /// None of these, or there is no interval.
    Undecided,
    /// Undecided, because mean and Hodges-Lehmann estimate disagree: see [`Estimate::decision`].
    Spiky,
}

impl Decision {
    /// What an interval alone says; never [`Decision::Spiky`].
    pub fn from_interval(low: f64, high: f64, margin: f64) -> Self {
        let [low, high] = [low, high].map(|end| side(end, margin));
        match (low, high) {
            (Ordering::Less, Ordering::Less) => Self::Faster,
            (Ordering::Greater, Ordering::Greater) => Self::Slower,
            (Ordering::Equal, Ordering::Equal) => Self::Same,
            _ => Self::Undecided,
        }
    }
}

/// On which side of the margin a ratio lies, or within it.
fn side(ratio: f64, margin: f64) -> Ordering {
    let (log, margin) = (ratio.ln(), margin.ln_1p());
    match log.abs() > margin {
        true => log.total_cmp(&0.0),
        false => Ordering::Equal,
    }
}

/// The ratio b / a from pairs (a, b) of one block each, with an interval at that confidence.
///
/// With d = ln b - ln a of each pair, the ratio is exp(mean d) and the interval
/// exp(mean d ± t s / √n), t being the quantile (1 + confidence) / 2 of Student's distribution
/// with n - 1 degrees of freedom and s the standard deviation of d. Sources: Student, "The
/// probable error of a mean" (1908); on logarithms, for ratios of run times: Kalibera and Jones,
/// "Quantifying performance changes with effect size confidence intervals" (2012). A bootstrap of
/// percentiles is no substitute: of so few pairs, its intervals are too narrow.
///
/// # Errors
/// [`Error::Empty`]; [`Error::NotPositive`] for a pair whose logarithm is no number;
/// [`Error::Confidence`].
pub fn ratio(pairs: &[(f64, f64)], confidence: f64) -> Result<Estimate, Error> {
    let fits = |value: &f64| value.is_finite() && *value > 0.0;
    let differences = pairs
        .iter()
        .enumerate()
        .map(|(pair, &(a, b))| match [a, b].into_iter().find(|value| !fits(value)) {
            Some(value) => Err(Error::NotPositive { pair, value }),
            None => Ok(b.ln() - a.ln()),
        })
        .collect::<Result<Vec<_>, _>>()?;
    ratio_of_logs(&differences, confidence)
}

/// As [`ratio`], from the differences of logarithms themselves.
///
/// # Errors
/// [`Error::Empty`], [`Error::NotFinite`], [`Error::Confidence`].
pub fn ratio_of_logs(differences: &[f64], confidence: f64) -> Result<Estimate, Error> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(Error::Confidence { confidence });
    }
    if differences.is_empty() {
        return Err(Error::Empty);
    }
    if let Some(&value) = differences.iter().find(|value| !value.is_finite()) {
        return Err(Error::NotFinite { value });
    }
    let pairs = differences.len();
    let mean = mean(differences);
    if !mean.is_finite() {
        return Err(Error::NotFinite { value: mean });
    }
    let spread = spread(differences, mean, confidence);
    Ok(Estimate {
        ratio: mean.exp(),
        low: spread.map(|(half, _)| (mean - half).exp()),
        high: spread.map(|(half, _)| (mean + half).exp()),
        hodges_lehmann: (pairs >= HODGES_LEHMANN_PAIRS)
            .then(|| hodges_lehmann(differences))
            .flatten()
            .map(f64::exp),
        p: spread.map(|(_, p)| p),
        pairs,
    })
}

/// The interval's half-width and the two-sided p-value of "the mean is 0"; `None` for a single
/// value.
fn spread(differences: &[f64], mean: f64, confidence: f64) -> Option<(f64, f64)> {
    let n = differences.len() as f64;
    let student = StudentsT::new(0.0, 1.0, n - 1.0).ok()?;
    let squares: f64 = differences.iter().map(|d| (d - mean).powi(2)).sum();
    let error = (squares / (n - 1.0) / n).sqrt();
    let t = student.inverse_cdf(0.5 + confidence / 2.0);
    // Without any spread, 0 / 0 must not become "not a number".
    let p = if mean == 0.0 { 1.0 } else { 2.0 * student.sf(mean.abs() / error) };
    Some((t * error, p))
}

/// The median of the means of all pairs of values, each value with itself too (Walsh averages);
/// `None` without a value or with one that is not finite.
///
/// Source: Hodges and Lehmann, "Estimates of location based on rank tests" (1963).
pub fn hodges_lehmann(values: &[f64]) -> Option<f64> {
    if !finite(values) {
        return None;
    }
    let averages: Vec<f64> = values
        .iter()
        .enumerate()
        .flat_map(|(i, a)| values[i..].iter().map(move |b| a / 2.0 + b / 2.0))
        .collect();
    median(&averages)
}

impl Estimate {
    /// What follows, with a margin (usually [`MARGIN`]).
    ///
    /// *Spiky* is what a few wild pairs make of an estimate: the ratio and its Hodges-Lehmann
    /// estimate lead to different conclusions (one lies beyond a margin and the other does not, or
    /// beyond the other margin), and not by a hair: the Hodges-Lehmann estimate lies outside the
    /// interval, or the two are further apart than the margin.
    pub fn decision(&self, margin: f64) -> Decision {
        let (Some(low), Some(high)) = (self.low, self.high) else { return Decision::Undecided };
        match self.is_spiky(low, high, margin) {
            true => Decision::Spiky,
            false => Decision::from_interval(low, high, margin),
        }
    }

    fn is_spiky(&self, low: f64, high: f64, margin: f64) -> bool {
        let Some(robust) = self.hodges_lehmann else { return false };
        let apart = (robust / self.ratio).ln().abs() > margin.ln_1p();
        let outside = robust < low || robust > high;
        side(robust, margin) != side(self.ratio, margin) && (outside || apart)
    }

    /// Whether more pairs would change little: the interval's half-width is at most
    /// ln(1 + margin). Looked at before a run has ended, the estimate must be one at
    /// [`INTERIM_CONFIDENCE`].
    pub fn precise_enough(&self, margin: f64) -> bool {
        match (self.low, self.high) {
            (Some(low), Some(high)) => (high / low).ln() / 2.0 <= margin.ln_1p(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() <= within, "{found} instead of {expected}");
    }

    /// Of a symmetric pair -s, +s (n = 2: error s) and its like, the half-width is t times the
    /// error: so the quantile can be read off and held against a printed table.
    #[test]
    fn intervals_follow_the_printed_t_table() {
        let table = [
            (2, 0.95, 12.706),
            (3, 0.95, 4.303),
            (4, 0.95, 3.182),
            (5, 0.95, 2.776),
            (6, 0.95, 2.571),
            (10, 0.95, 2.262),
            (31, 0.95, 2.042),
            (2, 0.99, 63.657),
            (5, 0.99, 4.604),
            (10, 0.99, 3.250),
            (5, 0.90, 2.132),
        ];
        for (n, confidence, t) in table {
            let d: Vec<f64> = (0..n).map(|i| 0.01 * (i * i % 7) as f64 - 0.01).collect();
            let m = d.iter().sum::<f64>() / n as f64;
            let s = (d.iter().map(|x| (x - m).powi(2)).sum::<f64>() / (n - 1) as f64).sqrt();
            let estimate = ratio_of_logs(&d, confidence).unwrap();
            let half = s / (n as f64).sqrt();
            close((estimate.high.unwrap().ln() - m) / half, t, 6e-4);
            close((m - estimate.low.unwrap().ln()) / half, t, 6e-4);
        }
    }

    /// d = 0.1, 0.2, 0.3: mean 0.2, s = 0.1, error 0.1 / √3, t(.975, 2) = 4.3027. The t statistic
    /// is 2 √3 and, with 2 degrees of freedom, p = 1 - t / √(2 + t²) = 1 - √(12 / 14).
    #[test]
    fn a_ratio_worked_by_hand() {
        let pairs = [(1.0, 0.1f64.exp()), (2.0, 2.0 * 0.2f64.exp()), (5.0, 5.0 * 0.3f64.exp())];
        let estimate = ratio(&pairs, 0.95).unwrap();
        close(estimate.ratio, 0.2f64.exp(), 1e-12);
        close(estimate.low.unwrap().ln(), 0.2 - 0.248_41, 1e-5);
        close(estimate.high.unwrap().ln(), 0.2 + 0.248_41, 1e-5);
        close(estimate.p.unwrap(), 1.0 - (12.0f64 / 14.0).sqrt(), 1e-10);
        assert_eq!((estimate.pairs, estimate.hodges_lehmann), (3, None));
    }

    /// Walsh averages of 1, 2, 10: 1, 1.5, 5.5, 2, 6, 10; their median is (2 + 5.5) / 2, neither
    /// the mean 4.33 nor the median 2. Without the values themselves it would be 5.5.
    #[test]
    fn hodges_lehmann_of_a_small_sample() {
        assert_eq!(hodges_lehmann(&[10.0, 1.0, 2.0]), Some(3.75));
        assert_eq!(hodges_lehmann(&[4.0]), Some(4.0));
        assert_eq!(hodges_lehmann(&[]), None);
        assert_eq!(hodges_lehmann(&[1.0, f64::NAN]), None);
    }

    #[test]
    fn pairs_without_spread_have_a_point_for_an_interval() {
        let same = ratio(&[(2.0, 2.0); 6], CONFIDENCE).unwrap();
        assert_eq!(
            (same.ratio, same.low, same.high, same.p),
            (1.0, Some(1.0), Some(1.0), Some(1.0))
        );
        assert_eq!((same.hodges_lehmann, same.decision(MARGIN)), (Some(1.0), Decision::Same));
        let double = ratio(&[(2.0, 4.0); 2], CONFIDENCE).unwrap();
        assert_eq!((double.low, double.high, double.p), (Some(2.0), Some(2.0), Some(0.0)));
        assert_eq!(double.decision(MARGIN), Decision::Slower);
        assert!(double.precise_enough(MARGIN));
    }

    #[test]
    fn a_single_pair_has_a_ratio_and_no_interval() {
        let single = ratio(&[(1.0, 9.0)], CONFIDENCE).unwrap();
        close(single.ratio, 9.0, 1e-12);
        assert_eq!((single.low, single.high, single.p), (None, None, None));
        assert_eq!(single.decision(MARGIN), Decision::Undecided);
        assert!(!single.precise_enough(MARGIN));
    }

    #[test]
    fn values_without_a_logarithm_are_named() {
        for value in [0.0, -1.0, f64::INFINITY] {
            let error = ratio(&[(1.0, 1.0), (1.0, value)], CONFIDENCE).unwrap_err();
            assert_eq!(error, Error::NotPositive { pair: 1, value });
        }
        assert!(matches!(ratio(&[(f64::NAN, 1.0)], 0.95), Err(Error::NotPositive { pair: 0, .. })));
        assert_eq!(ratio(&[], CONFIDENCE), Err(Error::Empty));
        for confidence in [0.0, 1.0, 95.0, -0.5] {
            assert_eq!(ratio(&[(1.0, 1.0)], confidence), Err(Error::Confidence { confidence }));
        }
        assert!(ratio(&[(1.0, 1.0)], f64::NAN).is_err());
        assert!(ratio_of_logs(&[f64::NAN], CONFIDENCE).is_err());
    }

    fn estimate(low: f64, high: f64, robust: Option<f64>) -> Estimate {
        let ratio = (low * high).sqrt();
        let interval = (Some(low), Some(high));
        let (low, high) = interval;
        Estimate { ratio, low, high, hodges_lehmann: robust, p: Some(0.5), pairs: 6 }
    }

    #[test]
    fn decisions_lie_wholly_on_one_side_of_the_margins() {
        let decision = |low, high| estimate(low, high, None).decision(MARGIN);
        assert_eq!(decision(0.5, 0.952), Decision::Faster);
        assert_eq!(decision(0.5, 0.953), Decision::Undecided);
        assert_eq!(decision(1.051, 3.0), Decision::Slower);
        // Surely slower than 1, but perhaps by too little to matter.
        assert_eq!(decision(1.01, 1.2), Decision::Undecided);
        assert_eq!(decision(0.96, 1.04), Decision::Same);
        // Surely different from 1, by too little to matter.
        assert_eq!(decision(1.01, 1.04), Decision::Same);
        assert_eq!(decision(0.953, 1.049), Decision::Same);
        // Within 1 - 5 %, and beyond 5 % seen from the other level: 1 / 0.951 = 1.0515.
        assert_eq!(decision(0.951, 1.04), Decision::Undecided);
        assert_eq!(decision(1.0 / 1.04, 1.0 / 0.951), Decision::Undecided);
        assert_eq!(decision(0.5, 2.0), Decision::Undecided);
    }

    #[test]
    fn spiky_means_another_conclusion_by_more_than_a_hair() {
        let decision = |low, high, robust| estimate(low, high, Some(robust)).decision(MARGIN);
        // The mean says slower, the bulk of the pairs does not.
        assert_eq!(decision(1.06, 1.10, 1.01), Decision::Spiky);
        // Both say slower; by how much does not change the decision.
        assert_eq!(decision(1.06, 1.10, 1.5), Decision::Slower);
        // A wide interval: 1.41 against 1.0.
        assert_eq!(decision(0.8, 2.5, 1.0), Decision::Spiky);
        // On two sides of the margin, but next to each other.
        assert_eq!(decision(0.9, 1.23, 1.04), Decision::Undecided);
    }

    #[test]
    fn one_spike_among_equal_pairs_is_spiky() {
        let mut pairs = [(1.0, 1.001); 8];
        pairs[3] = (1.0, 20.0);
        assert_eq!(ratio(&pairs, CONFIDENCE).unwrap().decision(MARGIN), Decision::Spiky);
        pairs[3] = (1.0, 0.999);
        assert_eq!(ratio(&pairs, CONFIDENCE).unwrap().decision(MARGIN), Decision::Same);
    }

    /// With four pairs one wild one is seen; with three it can't be told which is the wild one.
    #[test]
    fn four_pairs_are_guarded() {
        let with = |n: usize| {
            let mut pairs = vec![(1.0, 1.001); n];
            pairs[1] = (1.0, 3.0);
            ratio(&pairs, CONFIDENCE).unwrap().decision(MARGIN)
        };
        assert_eq!((with(3), with(4)), (Decision::Undecided, Decision::Spiky));
    }

    #[test]
    fn precise_enough_is_a_half_width_of_the_margin() {
        assert!(estimate(2.0, 2.0 * 1.05 * 1.0499, None).precise_enough(MARGIN));
        assert!(!estimate(2.0, 2.0 * 1.05 * 1.0501, None).precise_enough(MARGIN));
    }
}
