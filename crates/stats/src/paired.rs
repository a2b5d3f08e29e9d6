//! The ratio of two levels from paired blocks, with its interval and decision.
//!
//! A pair is what one block measured at both levels, so that what affects both cancels. On a
//! machine that wanders by 2 % a trial, ten trials of one level and then ten of an equal one differ
//! in 49 % of tries; ten shuffled blocks of both in 5 % (tests/simulations/pairs.rs).

use std::cmp::Ordering;

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::moderated::Variance;
use crate::quantile::median;
use crate::{Error, are_finite, mean};

/// A ratio matters beyond 1.05 or below 1 / 1.05. It is compared in logarithms, so that the order
/// of levels has no influence.
pub const MARGIN: f64 = 0.05;

pub const CONFIDENCE: f64 = 0.95;

/// Of three pairs, one wild value moves it as it moves the mean.
pub const HODGES_LEHMANN_PAIRS: usize = 4;

/// From so many pairs on a ratio is of the trimmed mean. With 10 pairs, 5 % of noise and one trial
/// in twenty 1.3 to 3 times as long, it finds a ratio of 1.3 in 92 % of runs, the mean in 72 %, and
/// the Hodges-Lehmann estimate with its own interval in 69 % (tests/simulations/outliers.rs). A fifth
/// at each end would find 98 %, and has intervals that are a seventh wider where nothing is wild.
pub const TRIMMED_PAIRS: usize = 8;

/// What is cut off at each end, in whole values: 1 of 8 to 13 pairs.
const TRIMMED_SHARE: f64 = 0.15;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub ratio: f64,
    /// `None` with a single pair, as `high` and `p`.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Robust against a few wild pairs; `None` with fewer than [`HODGES_LEHMANN_PAIRS`].
    pub hodges_lehmann: Option<f64>,
    /// Two-sided, of "the ratio is 1".
    pub p: Option<f64>,
    /// Of Student's distribution behind the interval.
    pub freedom: Option<f64>,
    /// Without pairs, the values of the smaller sample.
    pub pairs: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// The interval is below 1 / (1 + margin).
    Faster,
    /// The interval is above 1 + margin.
    Slower,
    /// The interval is between the two.
    Same,
    Undecided,
    /// Mean and Hodges-Lehmann estimate disagree: see [`Estimate::decide`].
    Spiky,
}

impl Decision {
    /// Never [`Decision::Spiky`].
    pub fn from_interval(low: f64, high: f64, margin: f64) -> Self {
        let [low, high] = [low, high].map(|end| compare_to_margin(end, margin));
        match (low, high) {
            (Ordering::Less, Ordering::Less) => Self::Faster,
            (Ordering::Greater, Ordering::Greater) => Self::Slower,
            (Ordering::Equal, Ordering::Equal) => Self::Same,
            _ => Self::Undecided,
        }
    }
}

fn compare_to_margin(ratio: f64, margin: f64) -> Ordering {
    let (log, margin) = (ratio.ln(), margin.ln_1p());
    match log.abs() > margin {
        true => log.total_cmp(&0.0),
        false => Ordering::Equal,
    }
}

/// The logarithms of a ratio, one of each pair, summed up: what an interval needs to know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogSummary {
    /// The mean, or from [`TRIMMED_PAIRS`] on the trimmed mean.
    pub center: f64,
    /// Of one pair: the squared standard error of the center is this over `pairs`. `None` with a
    /// single pair.
    pub variance: Option<Variance>,
    pub pairs: usize,
    hodges_lehmann: Option<f64>,
}

impl LogSummary {
    /// Of the ratios b / a of pairs (a, b).
    pub fn from_pairs(pairs: &[(f64, f64)]) -> Result<Self, Error> {
        Self::from_logs(&take_logs(pairs)?)
    }

    /// With the trimmed mean and its winsorized variance from [`TRIMMED_PAIRS`] on: J. W. Tukey and
    /// D. H. McLaughlin, "Less vulnerable confidence and significance procedures for location based
    /// on a single sample" (1963); for few values K. K. Yuen, "The two-sample trimmed t for unequal
    /// population variances" (1974).
    pub fn from_logs(logs: &[f64]) -> Result<Self, Error> {
        Self::without_ends(logs, count_trimmed(logs.len()))
    }

    /// With the plain mean, whatever the number of pairs, for rules that stop by looks.
    pub fn untrimmed_from_pairs(pairs: &[(f64, f64)]) -> Result<Self, Error> {
        Self::without_ends(&take_logs(pairs)?, 0)
    }

    /// The lowest and highest `cut` values count as the next ones, and not in the center.
    fn without_ends(logs: &[f64], cut: usize) -> Result<Self, Error> {
        if logs.is_empty() {
            return Err(Error::Empty);
        }
        if let Some(&value) = logs.iter().find(|value| !value.is_finite()) {
            return Err(Error::NotFinite { value });
        }
        let pairs = logs.len();
        let mut sorted = logs.to_vec();
        sorted.sort_by(f64::total_cmp);
        let kept = &sorted[cut..pairs - cut];
        let center = mean(kept);
        if !center.is_finite() {
            return Err(Error::NotFinite { value: center });
        }
        let (low, high) = (kept[0], kept[kept.len() - 1]);
        let winsorized: Vec<f64> = sorted.iter().map(|value| value.clamp(low, high)).collect();
        let middle = mean(&winsorized);
        let squares: f64 = winsorized.iter().map(|value| (value - middle).powi(2)).sum();
        let [all, left] = [pairs, kept.len()].map(|n| n as f64);
        let freedom = left - 1.0;
        let value = squares * all / (left * freedom);
        Ok(Self {
            center,
            variance: (freedom > 0.0).then_some(Variance { value, freedom }),
            pairs,
            hodges_lehmann: (pairs >= HODGES_LEHMANN_PAIRS).then(|| hodges_lehmann(logs)).flatten(),
        })
    }

    /// With a variance that knows more than these pairs.
    pub fn with_variance(self, variance: Variance) -> Self {
        Self { variance: Some(variance), ..self }
    }

    /// The ratio is exp(center) and the interval exp(center ± t s / √n): t is the quantile
    /// (1 + confidence) / 2 of Student's distribution with the variance's degrees of freedom, s its
    /// root. Sources: Student, "The probable error of a mean" (1908); on logarithms: Kalibera and
    /// Jones, "Quantifying performance changes with effect size confidence intervals" (2012). A
    /// percentile bootstrap is too narrow for so few pairs.
    pub fn estimate(&self, confidence: f64) -> Result<Estimate, Error> {
        if !(confidence > 0.0 && confidence < 1.0) {
            return Err(Error::Confidence { confidence });
        }
        let spread = self.variance.and_then(|it| self.estimate_spread(it, confidence));
        Ok(Estimate {
            ratio: self.center.exp(),
            low: spread.map(|(half, _)| (self.center - half).exp()),
            high: spread.map(|(half, _)| (self.center + half).exp()),
            hodges_lehmann: self.hodges_lehmann.map(f64::exp),
            p: spread.map(|(_, p)| p),
            freedom: self.variance.map(|it| it.freedom),
            pairs: self.pairs,
        })
    }

    /// The half-width and the two-sided p-value of "the center is 0".
    fn estimate_spread(&self, variance: Variance, confidence: f64) -> Option<(f64, f64)> {
        let student = StudentsT::new(0.0, 1.0, variance.freedom).ok()?;
        let error = (variance.value / self.pairs as f64).sqrt();
        let t = student.inverse_cdf(0.5 + confidence / 2.0);
        // Without spread, 0 / 0 must not become NaN.
        let p = if self.center == 0.0 { 1.0 } else { 2.0 * student.sf(self.center.abs() / error) };
        Some((t * error, p))
    }
}

/// How many values are cut off at each end.
pub fn count_trimmed(pairs: usize) -> usize {
    if pairs < TRIMMED_PAIRS { 0 } else { (TRIMMED_SHARE * pairs as f64) as usize }
}

fn take_logs(pairs: &[(f64, f64)]) -> Result<Vec<f64>, Error> {
    let fits = |value: &f64| value.is_finite() && *value > 0.0;
    let log =
        |(pair, &(a, b)): (usize, &(f64, f64))| match [a, b].into_iter().find(|value| !fits(value))
        {
            Some(value) => Err(Error::NotPositive { pair, value }),
            None => Ok(b.ln() - a.ln()),
        };
    pairs.iter().enumerate().map(log).collect()
}

/// The ratio b / a of pairs (a, b), with an interval: see [`LogSummary`].
pub fn estimate_ratio(pairs: &[(f64, f64)], confidence: f64) -> Result<Estimate, Error> {
    LogSummary::from_pairs(pairs)?.estimate(confidence)
}

/// As [`estimate_ratio`], from differences of logarithms.
pub fn ratio_of_logs(differences: &[f64], confidence: f64) -> Result<Estimate, Error> {
    LogSummary::from_logs(differences)?.estimate(confidence)
}

/// The median of the Walsh averages, the means of all pairs of values and of each with itself.
///
/// Source: Hodges and Lehmann, "Estimates of location based on rank tests" (1963).
pub fn hodges_lehmann(values: &[f64]) -> Option<f64> {
    if !are_finite(values) {
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
    /// The decision with a margin (usually [`MARGIN`]).
    ///
    /// *Spiky* means that a few wild pairs decide: the ratio and its Hodges-Lehmann estimate lie on
    /// different sides of a margin, and the latter lies outside the interval or further away than
    /// the margin.
    pub fn decide(&self, margin: f64) -> Decision {
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
        compare_to_margin(robust, margin) != compare_to_margin(self.ratio, margin)
            && (outside || apart)
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
            let estimate = LogSummary::without_ends(&d, 0).unwrap().estimate(confidence).unwrap();
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
        let estimate = estimate_ratio(&pairs, 0.95).unwrap();
        close(estimate.ratio, 0.2f64.exp(), 1e-12);
        close(estimate.low.unwrap().ln(), 0.2 - 0.248_41, 1e-5);
        close(estimate.high.unwrap().ln(), 0.2 + 0.248_41, 1e-5);
        close(estimate.p.unwrap(), 1.0 - (12.0f64 / 14.0).sqrt(), 1e-10);
        assert_eq!((estimate.pairs, estimate.hodges_lehmann), (3, None));
    }

    /// Of 0 … 8 and 100, one is cut at each end: 1 … 8, mean 4.5. Winsorized: 1, 1, 2 … 7, 8, 8, sum of
    /// squares 66.5. The squared error is 66.5 / (8 · 7), t(.975, 7) = 2.3646.
    #[test]
    fn a_trimmed_ratio_worked_by_hand() {
        let logs: Vec<f64> = (0..9).chain([100]).map(|it| f64::from(it) / 100.0).collect();
        let estimate = ratio_of_logs(&logs, CONFIDENCE).unwrap();
        close(estimate.ratio.ln(), 0.045, 1e-12);
        let half = 2.3646 * (66.5f64 / 56.0).sqrt() / 100.0;
        close(estimate.high.unwrap().ln(), 0.045 + half, 1e-6);
        assert_eq!(estimate.freedom, Some(7.0));
        // Seven pairs are too few to tell which of them are wild.
        close(ratio_of_logs(&logs[3..], CONFIDENCE).unwrap().ratio.ln(), 1.33 / 7.0, 1e-12);
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
        let same = estimate_ratio(&[(2.0, 2.0); 6], CONFIDENCE).unwrap();
        assert_eq!(
            (same.ratio, same.low, same.high, same.p),
            (1.0, Some(1.0), Some(1.0), Some(1.0))
        );
        assert_eq!((same.hodges_lehmann, same.decide(MARGIN)), (Some(1.0), Decision::Same));
        let double = estimate_ratio(&[(2.0, 4.0); 2], CONFIDENCE).unwrap();
        assert_eq!((double.low, double.high, double.p), (Some(2.0), Some(2.0), Some(0.0)));
        assert_eq!(double.decide(MARGIN), Decision::Slower);
    }

    #[test]
    fn a_single_pair_has_a_ratio_and_no_interval() {
        let single = estimate_ratio(&[(1.0, 9.0)], CONFIDENCE).unwrap();
        close(single.ratio, 9.0, 1e-12);
        assert_eq!((single.low, single.high, single.p), (None, None, None));
        assert_eq!(single.decide(MARGIN), Decision::Undecided);
    }

    #[test]
    fn values_without_a_logarithm_are_named() {
        for value in [0.0, -1.0, f64::INFINITY] {
            let error = estimate_ratio(&[(1.0, 1.0), (1.0, value)], CONFIDENCE).unwrap_err();
            assert_eq!(error, Error::NotPositive { pair: 1, value });
        }
        assert!(matches!(
            estimate_ratio(&[(f64::NAN, 1.0)], 0.95),
            Err(Error::NotPositive { pair: 0, .. })
        ));
        assert_eq!(estimate_ratio(&[], CONFIDENCE), Err(Error::Empty));
        for confidence in [0.0, 1.0, 95.0, -0.5] {
            assert_eq!(
                estimate_ratio(&[(1.0, 1.0)], confidence),
                Err(Error::Confidence { confidence })
            );
        }
        assert!(estimate_ratio(&[(1.0, 1.0)], f64::NAN).is_err());
        assert!(ratio_of_logs(&[f64::NAN], CONFIDENCE).is_err());
    }

    #[test]
    fn decisions_lie_wholly_on_one_side_of_the_margins() {
        use Decision::{Faster, Same, Slower, Spiky, Undecided};
        for (low, high, robust, decision) in [
            (0.5, 0.952, None, Faster),
            (0.5, 0.953, None, Undecided),
            (1.051, 3.0, None, Slower),
            // Surely slower than 1, but perhaps by too little to matter.
            (1.01, 1.2, None, Undecided),
            (0.96, 1.04, None, Same),
            // Surely different from 1, by too little to matter.
            (1.01, 1.04, None, Same),
            (0.953, 1.049, None, Same),
            // Within 1 - 5 %, and beyond 5 % seen from the other level: 1 / 0.951 = 1.0515.
            (0.951, 1.04, None, Undecided),
            (1.0 / 1.04, 1.0 / 0.951, None, Undecided),
            (0.5, 2.0, None, Undecided),
            // Spiky is another conclusion by more than a hair: the mean says slower, the bulk does not.
            (1.06, 1.10, Some(1.01), Spiky),
            // Both say slower; by how much does not change the decision.
            (1.06, 1.10, Some(1.5), Slower),
            // A wide interval: 1.41 against 1.0.
            (0.8, 2.5, Some(1.0), Spiky),
            // On two sides of the margin, but next to each other.
            (0.9, 1.23, Some(1.04), Undecided),
        ] {
            let (ratio, interval) = (f64::sqrt(low * high), (Some(low), Some(high)));
            let (low, high) = interval;
            let it = Estimate {
                ratio,
                low,
                high,
                hodges_lehmann: robust,
                p: Some(0.5),
                freedom: Some(5.0),
                pairs: 6,
            };
            assert_eq!(it.decide(MARGIN), decision, "{it:?}");
        }
    }

    /// With four pairs one wild one is seen; with three it can't be told which is the wild one. With
    /// eight it is left out.
    #[test]
    fn one_spike_among_equal_pairs_is_spiky() {
        for (pairs, spike, decision) in [
            (8, 20.0, Decision::Same),
            (7, 20.0, Decision::Spiky),
            (8, 0.999, Decision::Same),
            (4, 3.0, Decision::Spiky),
            (3, 3.0, Decision::Undecided),
        ] {
            let mut all = vec![(1.0, 1.001); pairs];
            all[1] = (1.0, spike);
            let estimate = estimate_ratio(&all, CONFIDENCE).unwrap();
            assert_eq!(estimate.decide(MARGIN), decision, "{spike} among {pairs}");
        }
    }
}
