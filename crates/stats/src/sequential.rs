//! Looking at pairs several times while they come in, and stopping as soon as they decide: repeated
//! confidence intervals.
//!
//! Who looks at plain 95 % intervals until one has a word is wrong far more often than in 5 of 100
//! runs. Here all intervals have one confidence, higher than 95 %, such that *all looks together* hold
//! the true ratio in 95 %: whatever makes somebody stop at a look, its interval stands.
//!
//! Sources: C. Jennison and B. W. Turnbull, "Repeated confidence intervals for group sequential
//! clinical trials", Controlled Clinical Trials 5 (1984), and "Group sequential methods with
//! applications to clinical trials" (2000), chapter 9; one level for all looks is S. J. Pocock's,
//! "Group sequential methods in the design and analysis of clinical trials", Biometrika 64 (1977).

use std::f64::consts::{FRAC_PI_2, PI};

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::{CONFIDENCE, Decision};

/// How many pairs are looked at first: of fewer, no interval is narrow enough for a word.
pub const FIRST: u32 = 3;

/// How many pairs are waited for at most, where nothing else is said.
pub const MOST: u32 = 20;

/// From so many pairs on it is judged whether a word can still be reached.
pub const FUTILE_FROM: u32 = 6;

/// What the spread may shrink to until the end, as a part of what it is now, where it is judged whether
/// a word can be reached.
const SPREAD_TO_COME: f64 = 0.8;

/// The numbers of pairs at which is looked up to `most`: close at first, then a quarter more each time.
pub fn looks(most: u32) -> Vec<u32> {
    let early = [3, 4, 5, 6, 8, 10, 13, 16, 20].into_iter();
    let later = std::iter::successors(Some(25u32), |look| look.checked_add(look / 4));
    let mut looks: Vec<u32> = early.chain(later).take_while(|look| *look < most).collect();
    looks.push(most);
    looks
}

/// The same, the first of them at `least` pairs, which is at most `most`.
pub fn looks_from(least: u32, most: u32) -> Vec<u32> {
    let mut looks = looks(most);
    looks.retain(|look| *look >= least);
    if looks.first().is_some_and(|first| *first > least) {
        looks.insert(0, least);
    }
    looks
}

/// The confidence of each interval, such that those of all looks at `comparisons` ratios together hold
/// the true ones with [`CONFIDENCE`]; `None` for looks that don't ascend from 2 pairs on.
///
/// Over several ratios the errors are added up (Bonferroni's inequality): that holds however the ratios
/// hang together.
pub fn confidence(looks: &[u32], comparisons: u32) -> Option<f64> {
    Some(1.0 - nominal(looks, (1.0 - CONFIDENCE) / f64::from(comparisons.max(1)))?)
}

/// The two-sided level of each look at which the chance of an error at any of them is `error`.
pub fn nominal(looks: &[u32], error: f64) -> Option<f64> {
    let ascend = looks.windows(2).all(|pair| pair[0] < pair[1]);
    let valid = looks.first().is_some_and(|first| *first >= 2) && ascend;
    if !(valid && error > 0.0 && error < 1.0) {
        return None;
    }
    // The logarithms of the two are nearly on a line: the secant method needs a few steps.
    let off = |log: f64| (any_error(looks, log.exp()) / error).ln();
    let mut before = (error.ln(), off(error.ln()));
    let mut log = before.0 - before.1;
    for _ in 0..20 {
        let now = (log, off(log));
        let slope = (now.1 - before.1) / (now.0 - before.0);
        if now.1.abs() < 1e-6 || !slope.is_finite() || slope <= 0.0 {
            break;
        }
        log = (now.0 - now.1 / slope).min(error.ln());
        before = now;
    }
    Some(log.exp())
}

/// Whether a word may still come: whether some mean that is likely after `most` pairs, with an interval
/// that is a little narrower than this one would become, has one. `mean` and `half` are the logarithm of
/// the ratio and half the width of its interval, after so many pairs, at that confidence.
///
/// It is a forecast, and binds nobody: an interval holds whether or not somebody stops for it.
pub fn reachable(
    (mean, half): (f64, f64),
    (pairs, most): (u32, u32),
    confidence: f64,
    margin: f64,
) -> bool {
    let quantile = |pairs: u32| {
        let student = StudentsT::new(0.0, 1.0, f64::from(pairs) - 1.0).ok()?;
        Some(student.inverse_cdf(0.5 + confidence / 2.0))
    };
    let Some((now, then)) = quantile(pairs).zip(quantile(most)) else { return true };
    let [n, all] = [pairs, most].map(f64::from);
    let spread = half * n.sqrt() / now;
    let drift = spread * (1.0 / n - 1.0 / all).max(0.0).sqrt();
    let half = then * SPREAD_TO_COME * spread / all.sqrt();
    // A word is furthest from 1, or nearest to it, at one of these.
    let means = [mean - drift, 0.0f64.clamp(mean - drift, mean + drift), mean + drift];
    let says =
        |mean: f64| Decision::from_interval((mean - half).exp(), (mean + half).exp(), margin);
    means.into_iter().any(|mean| says(mean) != Decision::Undecided)
}

/// The chance that the interval of any look misses the true value, at that level of each.
///
/// What t says after n values depends on the angle alone between the values, as a vector, and the one
/// whose entries are all 1: c = sin a = sum / (√n |x|), t² = (n - 1) c² / (1 - c²). The next value, over
/// |x|, is the tangent of an angle b whose density is as cos^(n - 1) b, whatever came before; so
/// sin a' = (√n sin a cos b + sin b) / √(n + 1), and the angles are a Markov chain. Its chance of ever
/// leaving the bounds is found backwards, from the last look to the first (P. Armitage, C. K. McPherson
/// and B. C. Rowe, "Repeated significance tests on accumulating data", 1969, for a known variance).
pub fn any_error(looks: &[u32], level: f64) -> f64 {
    let [Some(&first), Some(&last)] = [looks.first(), looks.last()] else { return 0.0 };
    let rule = Quadrature::new();
    let mut after = Errors::none(bound(looks, last, level));
    for n in (first..last).rev() {
        after = after.before(n, bound(looks, n, level), &rule);
    }
    // The first vector lies in any direction alike: the density of its angle is as cos^(n - 2).
    let edge = after.bound;
    let power = first as i32 - 2;
    let density = |angle: f64| angle.cos().powi(power);
    let whole = 2.0 * rule.integrate(0.0, FRAC_PI_2, density);
    let beyond = 2.0 * rule.integrate(edge, FRAC_PI_2, density);
    let within = 2.0 * rule.integrate(0.0, edge, |angle| after.at(angle) * density(angle));
    (beyond + within) / whole
}

/// The angle beyond which a look at n values is wrong; a right angle where there is no look.
fn bound(looks: &[u32], n: u32, level: f64) -> f64 {
    let freedom = f64::from(n) - 1.0;
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(student) if looks.contains(&n) => {
            (student.inverse_cdf(1.0 - level / 2.0) / freedom.sqrt()).atan()
        }
        _ => FRAC_PI_2,
    }
}

/// The chance of an error at a later look, by the angle now, within the bound of now.
struct Errors {
    bound: f64,
    /// At angles that lie equally far apart from 0 to the bound.
    chances: [f64; GRID],
}

const GRID: usize = 80;

impl Errors {
    fn none(bound: f64) -> Self {
        Self { bound, chances: [0.0; GRID] }
    }

    /// At an angle within the bound, by the cubic through the four chances around it.
    fn at(&self, angle: f64) -> f64 {
        let place = (angle.abs() / self.bound).min(1.0) * (GRID - 1) as f64;
        let from = (place as usize).saturating_sub(1).min(GRID - 4);
        let x = place - from as f64;
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| self.chances[from + i]);
        a * (x - 1.0) * (x - 2.0) * (x - 3.0) / -6.0
            + b * x * (x - 2.0) * (x - 3.0) / 2.0
            + c * x * (x - 1.0) * (x - 3.0) / -2.0
            + d * x * (x - 1.0) * (x - 2.0) / 6.0
    }

    /// The same after n values, from the one after n + 1.
    fn before(&self, n: u32, bound: f64, rule: &Quadrature) -> Self {
        let whole = 2.0 * rule.integrate(0.0, FRAC_PI_2, |angle| angle.cos().powi(n as i32 - 1));
        let chance = |i: usize| {
            let angle = bound * i as f64 / (GRID - 1) as f64;
            self.from(n, angle, whole, rule)
        };
        Self { bound, chances: std::array::from_fn(chance) }
    }

    /// The chance of an error after the step from that angle after n values.
    fn from(&self, n: u32, angle: f64, whole: f64, rule: &Quadrature) -> f64 {
        let root = f64::from(n).sqrt();
        // sin a' is this long, times the sine of b and the turn.
        let (sine, turn) = (angle.sin(), (root * angle.sin()).atan());
        let length = ((f64::from(n) * sine * sine + 1.0) / (f64::from(n) + 1.0)).sqrt();
        let reach = (self.bound.sin() / length).min(1.0).asin();
        let density = |b: f64| b.cos().powi(n as i32 - 1) / whole;
        let later = |b: f64| {
            let next = (length * (b + turn).sin()).clamp(-1.0, 1.0).asin();
            self.at(next) * density(b)
        };
        // Beyond the bound below, within it, beyond it above, and within it again past the top.
        let ends = [-reach - turn, reach - turn, PI - reach - turn, FRAC_PI_2];
        let [low, high, again, top] = ends.map(|end| end.clamp(-FRAC_PI_2, FRAC_PI_2));
        rule.integrate(-FRAC_PI_2, low, density)
            + rule.integrate(low, high, later)
            + rule.integrate(high, again, density)
            + rule.integrate(again, top, later)
    }
}

/// Gauss and Legendre's quadrature: the places between -1 and 1, and their weights.
struct Quadrature([(f64, f64); POINTS]);

const POINTS: usize = 40;

impl Quadrature {
    fn new() -> Self {
        Self(std::array::from_fn(|i| {
            let mut x = (PI * (i as f64 + 0.75) / (POINTS as f64 + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..20 {
                let (mut before, mut value) = (1.0, x);
                for k in 2..=POINTS {
                    let k = k as f64;
                    (before, value) =
                        (value, ((2.0 * k - 1.0) * x * value - (k - 1.0) * before) / k);
                }
                slope = POINTS as f64 * (x * value - before) / (x * x - 1.0);
                x -= value / slope;
            }
            (x, 2.0 / ((1.0 - x * x) * slope * slope))
        }))
    }

    fn integrate(&self, from: f64, to: f64, of: impl Fn(f64) -> f64) -> f64 {
        if from >= to {
            return 0.0;
        }
        let (middle, half) = ((from + to) / 2.0, (to - from) / 2.0);
        self.0.iter().map(|(x, weight)| weight * of(middle + half * x)).sum::<f64>() * half
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_close_at_first() {
        assert_eq!(looks(20), [3, 4, 5, 6, 8, 10, 13, 16, 20]);
        assert_eq!(looks(7), [3, 4, 5, 6, 7]);
        assert_eq!(looks(3), [3]);
        assert_eq!(looks(40), [3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 31, 38, 40]);
        assert_eq!(looks_from(FIRST, 20), looks(20));
        assert_eq!(looks_from(5, 8), [5, 6, 8]);
        assert_eq!(looks_from(7, 10), [7, 8, 10]);
        assert_eq!(looks_from(6, 6), [6]);
    }

    /// A single look is Student's; two of a known chance of error would be near to Pocock's.
    #[test]
    fn one_look_is_a_plain_interval() {
        for (n, level) in [(2, 0.05), (5, 0.05), (20, 0.001), (300, 0.01)] {
            let error = any_error(&[n], level);
            assert!((error / level - 1.0).abs() < 1e-4, "{n}, {level}: {error}");
            assert!((nominal(&[n], level).unwrap() / level - 1.0).abs() < 1e-4);
        }
    }

    /// Found by simulation of a million runs: 0.0093, 0.0043, 0.0028, 0.0020.
    #[test]
    fn the_levels_of_nine_looks() {
        let found = [1.0, 2.0, 3.0, 4.0].map(|of| nominal(&looks(20), 0.05 / of).unwrap());
        for (found, level) in found.into_iter().zip([0.0093, 0.0043, 0.0028, 0.0020]) {
            assert!((found / level - 1.0).abs() < 0.04, "{found} instead of {level}");
        }
    }

    #[test]
    fn what_is_no_schedule_has_no_level() {
        for looks in [&[][..], &[1, 2], &[3, 3], &[5, 4]] {
            assert_eq!(nominal(looks, 0.05), None, "{looks:?}");
        }
        assert_eq!(nominal(&[3], 0.0), None);
        assert_eq!(nominal(&[3], f64::NAN), None);
    }

    #[test]
    fn a_word_is_out_of_reach_on_the_margin_and_where_the_spread_is_large() {
        let reachable =
            |ratio: f64, half: f64, pairs| reachable((ratio.ln(), half), (pairs, 20), 0.99, 0.05);
        assert!(reachable(1.3, 0.3, 6), "slower, a little narrower");
        assert!(reachable(1.0, 0.06, 6), "same");
        assert!(!reachable(1.05, 0.03, 6), "on the margin, where it will stay");
        assert!(reachable(1.04, 0.03, 6) && !reachable(1.04, 0.03, 16), "little is to come");
        assert!(!reachable(1.0, 1.0, 13), "far too wide for same, and too near to 1");
        assert!(reachable(2.0, 1.0, 13));
    }
}
