//! Whether rounds of equal numbers of operations are at one level: the test of a steady state.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::mean;
use crate::paired::CONFIDENCE;
use crate::steady::{LARGEST_ERROR, LARGEST_SLOPE, Steadiness};

/// How many rounds there are.
pub const ROUNDS: usize = 5;

/// The largest range of a steady state's rounds, as a share of their mean.
pub const LARGEST_RANGE: f64 = 0.20;

/// Parts that a round is divided into, so that its noise is known.
const PARTS: usize = 4;
/// Degrees of freedom of that noise: each round gives one less than it has parts.
const FREEDOM: f64 = (ROUNDS * (PARTS - 1)) as f64;
/// The studentised range's quantile 0.95 for five means and 15 degrees of freedom: Pearson and
/// Hartley, "Biometrika tables for statisticians" (1966), table 29.
const STUDENTISED_RANGE: f64 = 4.367;

/// Operations that ended in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OperationStretch {
    /// Where it begins, in seconds.
    pub start_s: f64,
    /// Where it ends: where the next one begins.
    pub end_s: f64,
    /// How many operations ended in it.
    pub operations: u64,
}

/// What rounds of equal numbers of operations say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounds {
    /// Operations a second in each.
    pub per_second: [f64; ROUNDS],
    /// The highest less the lowest, as a share of the mean.
    pub range: f64,
    /// By how much the line through them rises from the first to the last, as a share of the mean;
    /// negative where it falls.
    pub rise: f64,
    /// The standard error of one, as a share, from how far the parts of a round differ.
    pub error: f64,
}

/// Divides operations into rounds of equal numbers, in the order in which they ended. Those of one
/// stretch are taken to have ended evenly over it.
///
/// `None` where there are too few operations for the parts of the rounds.
pub fn rounds(stretches: &[OperationStretch]) -> Option<Rounds> {
    let all: u64 = stretches.iter().map(|stretch| stretch.operations).sum();
    let parts = ROUNDS * PARTS;
    if all < parts as u64 {
        return None;
    }
    let (first, last) = (stretches.first()?, stretches.last()?);
    let share = |part: usize| all as f64 * part as f64 / parts as f64;
    let mut ends: Vec<f64> = (1..parts).map(|part| time_of(share(part), stretches)).collect();
    ends.insert(0, first.start_s);
    // However long nothing ended at the end, it belongs to the last one.
    ends.push(last.end_s);
    let rate = |from: usize, to: usize| share(to - from) / (ends[to] - ends[from]);
    let per_second = std::array::from_fn(|at| rate(at * PARTS, (at + 1) * PARTS));
    let mean = mean(&per_second);
    if !mean.is_finite() || mean <= 0.0 {
        return None;
    }
    let relative = |at: usize| -> f64 {
        let seconds: Vec<f64> =
            (at * PARTS..(at + 1) * PARTS).map(|i| ends[i + 1] - ends[i]).collect();
        let mean = crate::mean(&seconds);
        seconds.iter().map(|it| (it / mean - 1.0).powi(2)).sum()
    };
    let variance = (0..ROUNDS).map(relative).sum::<f64>() / FREEDOM;
    let [low, high] = [f64::min, f64::max].map(|of| per_second.iter().copied().reduce(of));
    Some(Rounds {
        per_second,
        range: (high? - low?) / mean,
        rise: rise(&per_second) / mean,
        error: (variance / PARTS as f64).sqrt(),
    })
}

/// When so many operations had ended.
fn time_of(operations: f64, stretches: &[OperationStretch]) -> f64 {
    let mut before = 0.0;
    for stretch in stretches {
        let here = stretch.operations as f64;
        if before + here >= operations && here > 0.0 {
            let part = (operations - before) / here;
            return stretch.start_s + part * (stretch.end_s - stretch.start_s);
        }
        before += here;
    }
    stretches.last().map_or(0.0, |stretch| stretch.end_s)
}

/// From one end to the other of the least-squares line.
fn rise(values: &[f64; ROUNDS]) -> f64 {
    let x = |at: usize| at as f64 - (ROUNDS as f64 - 1.0) / 2.0;
    let products: f64 = values.iter().enumerate().map(|(at, value)| x(at) * value).sum();
    let squares: f64 = (0..ROUNDS).map(|at| x(at).powi(2)).sum();
    products / squares * (ROUNDS as f64 - 1.0)
}

/// What a range, a rise and their error say. *Not steady* needs a range of more than
/// [`LARGEST_RANGE`] or a rise of more than [`LARGEST_SLOPE`] that the noise does not explain.
pub fn says(range: f64, rise: f64, error: f64) -> Steadiness {
    let squares: f64 = (0..ROUNDS).map(|at| (at as f64 - 2.0).powi(2)).sum();
    let rise_error = error * (ROUNDS as f64 - 1.0) / squares.sqrt();
    let student = StudentsT::new(0.0, 1.0, FREEDOM).expect("a distribution by its freedom");
    let t = student.inverse_cdf(0.5 + CONFIDENCE / 2.0);
    let differs = range > LARGEST_RANGE && range > STUDENTISED_RANGE * error;
    let climbs = rise.abs() > LARGEST_SLOPE && rise.abs() > t * rise_error;
    if differs || climbs {
        Steadiness::NotSteady
    } else if error <= LARGEST_ERROR {
        Steadiness::Steady
    } else {
        Steadiness::CannotTell
    }
}

impl Rounds {
    /// What they say.
    pub fn says(&self) -> Steadiness {
        says(self.range, self.rise, self.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stretch of a second for each count.
    fn seconds(counts: impl IntoIterator<Item = u64>) -> Vec<OperationStretch> {
        let stretch = |(at, operations)| OperationStretch {
            start_s: at as f64,
            end_s: at as f64 + 1.0,
            operations,
        };
        counts.into_iter().enumerate().map(stretch).collect()
    }

    #[test]
    fn rounds_have_equal_numbers_and_take_all_of_the_time() {
        // 40 a second for 10 s, then 10 a second for 10 s: 500 in all, 100 a round.
        let counts = (0..20).map(|at| if at < 10 { 40 } else { 10 });
        let found = rounds(&seconds(counts)).unwrap();
        let expected = [40.0, 40.0, 40.0, 40.0, 10.0];
        for (found, expected) in found.per_second.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
        assert!((found.range - 30.0 / 34.0).abs() < 1e-9);
        assert_eq!(found.says(), Steadiness::NotSteady);
    }

    #[test]
    fn a_stall_at_the_end_is_not_dropped() {
        let level = rounds(&seconds([100; 20])).unwrap();
        assert_eq!((level.says(), level.range), (Steadiness::Steady, 0.0));
        let stalled = rounds(&seconds([100; 20].into_iter().chain([0; 20]))).unwrap();
        assert!(stalled.per_second[4] < 20.0, "{stalled:?}");
        assert_ne!(stalled.says(), Steadiness::Steady);
    }

    #[test]
    fn a_fall_is_not_steady_and_noise_is_not_told_from_it() {
        let falling = rounds(&seconds((0..100).map(|at| 1_000 - 2 * at))).unwrap();
        assert!(falling.rise < -0.1 && falling.range < LARGEST_RANGE, "{falling:?}");
        assert_eq!(falling.says(), Steadiness::NotSteady);
        // From t(.975, 15) = 2.131, and the error of a rise over five points, 4/√10 of one's.
        assert_eq!(says(0.0, 0.14, 0.052), Steadiness::CannotTell);
        assert_eq!(says(0.0, 0.14, 0.051), Steadiness::NotSteady);
        assert_eq!(says(0.22, 0.0, 0.0503), Steadiness::NotSteady);
        assert_eq!(says(0.22, 0.0, 0.0505), Steadiness::CannotTell);
        assert_eq!(says(0.19, 0.09, 0.05), Steadiness::Steady);
    }

    #[test]
    fn too_few_operations_make_no_rounds() {
        assert_eq!(rounds(&[]), None);
        assert_eq!(rounds(&seconds([19])), None);
        assert!(rounds(&seconds([1; 20])).is_some());
    }
}
