//! Variances that borrow strength from each other.
//!
//! A comparison of three blocks knows its own noise badly: Student's t with 2 degrees of freedom
//! is 4.3. All comparisons of one run know together how noisy such a run is. So each variance is
//! drawn towards that common value, and the degrees of freedom of both are added.
//!
//! Source: G. K. Smyth, "Linear models and empirical Bayes methods for assessing differential
//! expression in microarray experiments", Statistical Applications in Genetics and Molecular
//! Biology 3 (2004), sections 4 and 6.2 (the program limma). The limit of what is borrowed is our
//! own, and simulated (tests/simulations/moderated.rs).

use statrs::function::gamma::digamma;

use crate::mean;

/// With fewer comparisons there is too little to borrow from.
pub const LEAST_COMPARISONS: usize = 4;

/// At most this many times its own degrees of freedom are lent to a variance, so that a noisy cell
/// keeps its own noise.
pub const MOST_BORROWED: f64 = 2.0;

/// A variance of exactly zero has no logarithm; it counts as this share of the median (limma).
const LEAST_SHARE: f64 = 1e-5;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variance {
    pub value: f64,
    pub freedom: f64,
}

/// What the variances of several comparisons have in common: a scaled inverse chi-squared
/// distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VariancePrior {
    pub value: f64,
    /// Infinite where the variances differ by no more than chance.
    pub freedom: f64,
}

impl VariancePrior {
    /// By the moments of the variances' logarithms. `None` for fewer than [`LEAST_COMPARISONS`]
    /// variances, or where none is above zero.
    pub fn from_variances(own: &[Variance]) -> Option<Self> {
        let is_known =
            |it: &&Variance| it.freedom >= 1.0 && it.value >= 0.0 && it.value.is_finite();
        let own: Vec<Variance> = own.iter().filter(is_known).copied().collect();
        let values: Vec<f64> = own.iter().map(|it| it.value).collect();
        let least = LEAST_SHARE * crate::quantile::median(&values)?;
        if own.len() < LEAST_COMPARISONS || least <= 0.0 {
            return None;
        }
        let logs: Vec<f64> = own
            .iter()
            .map(|it| {
                let half = it.freedom / 2.0;
                it.value.max(least).ln() - digamma(half) + half.ln()
            })
            .collect();
        let center = mean(&logs);
        let squares: f64 = logs.iter().map(|log| (log - center).powi(2)).sum();
        let chance: Vec<f64> = own.iter().map(|it| trigamma(it.freedom / 2.0)).collect();
        let excess = squares / (own.len() as f64 - 1.0) - mean(&chance);
        if excess <= 0.0 {
            return Some(Self { value: center.exp(), freedom: f64::INFINITY });
        }
        let half = invert_trigamma(excess);
        let value = (center + digamma(half) - half.ln()).exp();
        Some(Self { value, freedom: 2.0 * half })
    }

    /// The variance with what it borrows.
    pub fn moderate(&self, own: Variance) -> Variance {
        let borrowed = self.freedom.min(MOST_BORROWED * own.freedom);
        let freedom = borrowed + own.freedom;
        let value = (borrowed * self.value + own.freedom * own.value) / freedom;
        Variance { value, freedom }
    }
}

/// The second derivative of the logarithm of the gamma function, for x > 0: by recurrence up to
/// where its asymptotic series holds. Source: Abramowitz and Stegun, "Handbook of mathematical
/// functions" (1964), 6.4.6 and 6.4.12.
fn trigamma(x: f64) -> f64 {
    let (mut x, mut sum) = (x, 0.0);
    while x < 8.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series = y * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y / 30.0)));
    sum + 1.0 / x + y / 2.0 + series / x
}

/// The x > 0 with that [`trigamma`], which falls from infinity to zero: by bisection in logarithms.
fn invert_trigamma(value: f64) -> f64 {
    let (mut low, mut high) = (-20.0_f64, 20.0_f64);
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        match trigamma(middle.exp()) > value {
            true => low = middle,
            false => high = middle,
        }
    }
    ((low + high) / 2.0).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() <= within * expected, "{found} instead of {expected}");
    }

    fn variances(values: &[f64], freedom: f64) -> Vec<Variance> {
        values.iter().map(|value| Variance { value: *value, freedom }).collect()
    }

    /// π² / 6, π² / 2 and, from scipy, polygamma(1, 10).
    #[test]
    fn trigamma_has_its_known_values() {
        let square = std::f64::consts::PI.powi(2);
        for (x, expected) in
            [(1.0, square / 6.0), (0.5, square / 2.0), (10.0, 0.105_166_335_681_685_8)]
        {
            close(trigamma(x), expected, 1e-9);
            close(invert_trigamma(expected), x, 1e-8);
        }
    }

    /// The same moments, computed in Python with scipy's digamma and polygamma.
    #[test]
    fn the_prior_is_smyths() {
        const PRIOR_VALUE: f64 = 1.354_596_789_674_754;
        const PRIOR_FREEDOM: f64 = 6.160_673_884_945_767;
        let values = [0.4, 1.0, 0.1, 2.5, 0.9, 6.0];
        let prior = VariancePrior::from_variances(&variances(&values, 2.0)).unwrap();
        close(prior.value, PRIOR_VALUE, 1e-6);
        close(prior.freedom, PRIOR_FREEDOM, 1e-6);
        let moderated = prior.moderate(Variance { value: 6.0, freedom: 2.0 });
        assert_eq!(moderated.freedom, 6.0, "at most twice its own is borrowed");
        close(moderated.value, (4.0 * PRIOR_VALUE + 2.0 * 6.0) / 6.0, 1e-6);
    }
    #[test]
    fn equal_variances_are_lent_whole_and_zeros_not_at_all() {
        let equal = VariancePrior::from_variances(&variances(&[0.25; 5], 2.0)).unwrap();
        assert_eq!(equal.freedom, f64::INFINITY);
        assert_eq!(equal.moderate(Variance { value: 0.25, freedom: 2.0 }).freedom, 6.0);
        assert_eq!(VariancePrior::from_variances(&variances(&[0.0; 5], 2.0)), None);
        assert_eq!(VariancePrior::from_variances(&variances(&[1.0, 2.0, 3.0], 2.0)), None);
        assert_eq!(VariancePrior::from_variances(&[]), None);
        // One without spread among others is taken for nearly none, and borrows.
        let one =
            VariancePrior::from_variances(&variances(&[0.0, 1.0, 1.2, 0.8, 1.1], 2.0)).unwrap();
        let moderated = one.moderate(Variance { value: 0.0, freedom: 2.0 });
        assert!(moderated.value > 0.0 && one.freedom < 4.0, "{one:?} {moderated:?}");
    }

    /// Where one cell has a hundred times the noise, it keeps it, and the others keep theirs.
    #[test]
    fn a_wild_cell_keeps_its_noise() {
        let mut all = variances(&[1.0, 1.3, 0.7, 1.1, 0.9, 1.2, 0.8, 1.0], 4.0);
        all.push(Variance { value: 1e4, freedom: 4.0 });
        let prior = VariancePrior::from_variances(&all).unwrap();
        let [wild, calm] = [all[8], all[0]].map(|own| prior.moderate(own).value);
        assert!(wild > 3e3, "{wild}");
        assert!((0.5..2.0).contains(&calm), "{calm}");
    }
}
