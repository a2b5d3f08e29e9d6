//! Repeated confidence intervals: looks at pairs as they come in, and stops when they decide.
//!
//! Looking at plain 95 % intervals until one decides is wrong far more often than in 5 of 100 runs.
//! Here all intervals have one higher confidence, such that *all looks together* hold the true
//! ratio in 95 %.
//!
//! Sources: C. Jennison and B. W. Turnbull, "Repeated confidence intervals for group sequential
//! clinical trials", Controlled Clinical Trials 5 (1984), and "Group sequential methods with
//! applications to clinical trials" (2000), chapter 9; one level for all looks is S. J. Pocock's,
//! "Group sequential methods in the design and analysis of clinical trials", Biometrika 64 (1977).

use std::f64::consts::{FRAC_PI_2, PI};

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::{CONFIDENCE, Decision};

pub const FIRST: u32 = 3;

pub const MOST: u32 = 20;

/// From here on futility is judged.
pub const FUTILE_FROM: u32 = 6;

/// How far the spread may shrink until the end, as a part of now.
const SPREAD_TO_COME: f64 = 0.8;

/// Numbers of pairs: close at first, then a quarter more each time.
pub fn plan_looks(most: u32) -> Vec<u32> {
    let early = [3, 4, 5, 6, 8, 10, 13, 16, 20].into_iter();
    let later = std::iter::successors(Some(25u32), |look| look.checked_add(look / 4));
    let mut looks: Vec<u32> = early.chain(later).take_while(|look| *look < most).collect();
    looks.push(most);
    looks
}

/// With the first look at `least` pairs.
pub fn looks_from(least: u32, most: u32) -> Vec<u32> {
    let mut looks = plan_looks(most);
    looks.retain(|look| *look >= least);
    if looks.first().is_some_and(|first| *first > least) {
        looks.insert(0, least);
    }
    looks
}

/// The confidence of each interval, such that all looks at all `comparisons` hold the true ratios
/// with [`CONFIDENCE`]; `None` if looks don't ascend from 2.
///
/// Errors of several ratios are added (Bonferroni's inequality), however they depend on each other.
pub fn find_confidence(looks: &[u32], comparisons: u32) -> Option<f64> {
    Some(1.0 - find_nominal_level(looks, (1.0 - CONFIDENCE) / f64::from(comparisons.max(1)))?)
}

pub fn find_nominal_level(looks: &[u32], error: f64) -> Option<f64> {
    let ascend = looks.windows(2).all(|pair| pair[0] < pair[1]);
    let valid = looks.first().is_some_and(|first| *first >= 2) && ascend;
    if !(valid && error > 0.0 && error < 1.0) {
        return None;
    }
    // In logarithms this is nearly a line: the secant method needs a few steps.
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

/// Whether a decision is still reachable: whether some likely mean after `most` pairs has one with
/// the narrower interval of then. `mean` and `half` are the logarithm of the ratio and half its
/// interval now.
///
/// A forecast only: intervals hold whether or not somebody stops.
pub fn is_reachable(
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
    // A decision is furthest from 1, or nearest, at one of these.
    let means = [mean - drift, 0.0f64.clamp(mean - drift, mean + drift), mean + drift];
    let says =
        |mean: f64| Decision::from_interval((mean - half).exp(), (mean + half).exp(), margin);
    means.into_iter().any(|mean| says(mean) != Decision::Undecided)
}

/// The chance that the interval of any look misses the true value, at that level of each.
///
/// t after n values depends only on the angle between the values, as a vector, and the vector of
/// ones: c = sin a = sum / (√n |x|), t² = (n - 1) c² / (1 - c²). The next value over |x| is the
/// tangent of an angle b with a density as cos^(n - 1) b; so sin a' = (√n sin a cos b + sin b) /
/// √(n + 1), and the angles are a Markov chain. The chance of leaving the bounds is found backwards
/// from the last look (P. Armitage, C. K. McPherson and B. C. Rowe, "Repeated significance tests on
/// accumulating data", 1969, for a known variance).
pub fn any_error(looks: &[u32], level: f64) -> f64 {
    let [Some(&first), Some(&last)] = [looks.first(), looks.last()] else { return 0.0 };
    let rule = Quadrature::new();
    let mut after = Errors::without_errors(find_bound_angle(looks, last, level));
    for n in (first..last).rev() {
        after = after.step_back(n, find_bound_angle(looks, n, level), &rule);
    }
    // The first vector has any direction: the density of its angle is as cos^(n - 2).
    let edge = after.bound;
    let power = first as i32 - 2;
    let density = |angle: f64| angle.cos().powi(power);
    let whole = 2.0 * rule.integrate(0.0, FRAC_PI_2, density);
    let beyond = 2.0 * rule.integrate(edge, FRAC_PI_2, density);
    let within =
        2.0 * rule.integrate(0.0, edge, |angle| after.interpolate_chance(angle) * density(angle));
    (beyond + within) / whole
}

/// The angle beyond which a look at n values errs; a right angle without a look.
fn find_bound_angle(looks: &[u32], n: u32, level: f64) -> f64 {
    let freedom = f64::from(n) - 1.0;
    match StudentsT::new(0.0, 1.0, freedom) {
        Ok(student) if looks.contains(&n) => {
            (student.inverse_cdf(1.0 - level / 2.0) / freedom.sqrt()).atan()
        }
        _ => FRAC_PI_2,
    }
}

struct Errors {
    bound: f64,
    /// At equal steps of the angle from 0 to the bound.
    chances: [f64; GRID],
}

const GRID: usize = 80;

impl Errors {
    fn without_errors(bound: f64) -> Self {
        Self { bound, chances: [0.0; GRID] }
    }

    /// By the cubic through the four nearest chances.
    fn interpolate_chance(&self, angle: f64) -> f64 {
        let place = (angle.abs() / self.bound).min(1.0) * (GRID - 1) as f64;
        let from = (place as usize).saturating_sub(1).min(GRID - 4);
        let x = place - from as f64;
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| self.chances[from + i]);
        a * (x - 1.0) * (x - 2.0) * (x - 3.0) / -6.0
            + b * x * (x - 2.0) * (x - 3.0) / 2.0
            + c * x * (x - 1.0) * (x - 3.0) / -2.0
            + d * x * (x - 1.0) * (x - 2.0) / 6.0
    }

    /// The chances after n values, from those after n + 1.
    fn step_back(&self, n: u32, bound: f64, rule: &Quadrature) -> Self {
        let whole = 2.0 * rule.integrate(0.0, FRAC_PI_2, |angle| angle.cos().powi(n as i32 - 1));
        let chance = |i: usize| {
            let angle = bound * i as f64 / (GRID - 1) as f64;
            self.from(n, angle, whole, rule)
        };
        Self { bound, chances: std::array::from_fn(chance) }
    }

    fn from(&self, n: u32, angle: f64, whole: f64, rule: &Quadrature) -> f64 {
        let root = f64::from(n).sqrt();
        // sin a' is this long, times the sine of b and the turn.
        let (sine, turn) = (angle.sin(), (root * angle.sin()).atan());
        let length = ((f64::from(n) * sine * sine + 1.0) / (f64::from(n) + 1.0)).sqrt();
        let reach = (self.bound.sin() / length).min(1.0).asin();
        let density = |b: f64| b.cos().powi(n as i32 - 1) / whole;
        let later = |b: f64| {
            let next = (length * (b + turn).sin()).clamp(-1.0, 1.0).asin();
            self.interpolate_chance(next) * density(b)
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

/// Gauss and Legendre's quadrature: places in (-1, 1) and weights.
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
        assert_eq!(plan_looks(20), [3, 4, 5, 6, 8, 10, 13, 16, 20]);
        assert_eq!(plan_looks(7), [3, 4, 5, 6, 7]);
        assert_eq!(plan_looks(3), [3]);
        assert_eq!(plan_looks(40), [3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 31, 38, 40]);
        assert_eq!(looks_from(FIRST, 20), plan_looks(20));
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
            assert!((find_nominal_level(&[n], level).unwrap() / level - 1.0).abs() < 1e-4);
        }
    }

    /// Found by simulation of a million runs: 0.0093, 0.0043, 0.0028, 0.0020.
    #[test]
    fn the_levels_of_nine_looks() {
        let found =
            [1.0, 2.0, 3.0, 4.0].map(|of| find_nominal_level(&plan_looks(20), 0.05 / of).unwrap());
        for (found, level) in found.into_iter().zip([0.0093, 0.0043, 0.0028, 0.0020]) {
            assert!((found / level - 1.0).abs() < 0.04, "{found} instead of {level}");
        }
    }

    #[test]
    fn what_is_no_schedule_has_no_level() {
        for looks in [&[][..], &[1, 2], &[3, 3], &[5, 4]] {
            assert_eq!(find_nominal_level(looks, 0.05), None, "{looks:?}");
        }
        assert_eq!(find_nominal_level(&[3], 0.0), None);
        assert_eq!(find_nominal_level(&[3], f64::NAN), None);
    }

    #[test]
    fn a_word_is_out_of_reach_on_the_margin_and_where_the_spread_is_large() {
        let reachable = |ratio: f64, half: f64, pairs| {
            is_reachable((ratio.ln(), half), (pairs, 20), 0.99, 0.05)
        };
        assert!(reachable(1.3, 0.3, 6), "slower, a little narrower");
        assert!(reachable(1.0, 0.06, 6), "same");
        assert!(!reachable(1.05, 0.03, 6), "on the margin, where it will stay");
        assert!(reachable(1.04, 0.03, 6) && !reachable(1.04, 0.03, 16), "little is to come");
        assert!(!reachable(1.0, 1.0, 13), "far too wide for same, and too near to 1");
        assert!(reachable(2.0, 1.0, 13));
    }
}
