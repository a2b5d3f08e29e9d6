use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::mean;
use crate::paired::CONFIDENCE;
use crate::steady::{LARGEST_ERROR, LARGEST_SLOPE, Steadiness};

pub const ROUNDS: usize = 5;

/// As a share of the rounds' mean.
pub const LARGEST_RANGE: f64 = 0.20;

/// Of a round, to know its noise.
const PARTS: usize = 4;
/// Each round gives one less than its parts.
const FREEDOM: f64 = (ROUNDS * (PARTS - 1)) as f64;
/// The quantile 0.95 for five means and 15 degrees of freedom: Pearson and Hartley, "Biometrika
/// tables for statisticians" (1966), table 29.
const STUDENTISED_RANGE: f64 = 4.367;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OperationStretch {
    pub start_s: f64,
    pub end_s: f64,
    pub operations: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounds {
    pub per_second: [f64; ROUNDS],
    /// Highest less lowest, as a share of the mean.
    pub range: f64,
    /// Of the line through them, from first to last, as a share of the mean.
    pub rise: f64,
    /// The standard error of a round, as a share, from its parts.
    pub error: f64,
}

/// Operations of a stretch are taken to have ended evenly. `None` if there are too few for the
/// parts of the rounds.
pub fn divide_into_rounds(stretches: &[OperationStretch]) -> Option<Rounds> {
    let all: u64 = stretches.iter().map(|stretch| stretch.operations).sum();
    let parts = ROUNDS * PARTS;
    if all < parts as u64 {
        return None;
    }
    let (first, last) = (stretches.first()?, stretches.last()?);
    let share = |part: usize| all as f64 * part as f64 / parts as f64;
    let mut ends: Vec<f64> = (1..parts).map(|part| time_of(share(part), stretches)).collect();
    ends.insert(0, first.start_s);
    // A time without ends at the end belongs to the last round.
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
        rise: fit_rise(&per_second) / mean,
        error: (variance / PARTS as f64).sqrt(),
    })
}

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

/// Of the least-squares line, from end to end.
fn fit_rise(values: &[f64; ROUNDS]) -> f64 {
    let x = |at: usize| at as f64 - (ROUNDS as f64 - 1.0) / 2.0;
    let products: f64 = values.iter().enumerate().map(|(at, value)| x(at) * value).sum();
    let squares: f64 = (0..ROUNDS).map(|at| x(at).powi(2)).sum();
    products / squares * (ROUNDS as f64 - 1.0)
}

/// *Not steady* needs a range above [`LARGEST_RANGE`] or a rise above [`LARGEST_SLOPE`] that the
/// noise does not explain.
pub fn judge_rounds(range: f64, rise: f64, error: f64) -> Steadiness {
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
    pub fn steadiness(&self) -> Steadiness {
        judge_rounds(self.range, self.rise, self.error)
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
        let found = divide_into_rounds(&seconds(counts)).unwrap();
        let expected = [40.0, 40.0, 40.0, 40.0, 10.0];
        for (found, expected) in found.per_second.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
        assert!((found.range - 30.0 / 34.0).abs() < 1e-9);
        assert_eq!(found.steadiness(), Steadiness::NotSteady);
    }

    #[test]
    fn a_stall_at_the_end_is_not_dropped() {
        let level = divide_into_rounds(&seconds([100; 20])).unwrap();
        assert_eq!((level.steadiness(), level.range), (Steadiness::Steady, 0.0));
        let stalled = divide_into_rounds(&seconds([100; 20].into_iter().chain([0; 20]))).unwrap();
        assert!(stalled.per_second[4] < 20.0, "{stalled:?}");
        assert_ne!(stalled.steadiness(), Steadiness::Steady);
    }

    #[test]
    fn a_fall_is_not_steady_and_noise_is_not_told_from_it() {
        let falling = divide_into_rounds(&seconds((0..100).map(|at| 1_000 - 2 * at))).unwrap();
        assert!(falling.rise < -0.1 && falling.range < LARGEST_RANGE, "{falling:?}");
        assert_eq!(falling.steadiness(), Steadiness::NotSteady);
        // From t(.975, 15) = 2.131, and the error of a rise over five points, 4/√10 of one's.
        assert_eq!(judge_rounds(0.0, 0.14, 0.052), Steadiness::CannotTell);
        assert_eq!(judge_rounds(0.0, 0.14, 0.051), Steadiness::NotSteady);
        assert_eq!(judge_rounds(0.22, 0.0, 0.0503), Steadiness::NotSteady);
        assert_eq!(judge_rounds(0.22, 0.0, 0.0505), Steadiness::CannotTell);
        assert_eq!(judge_rounds(0.19, 0.09, 0.05), Steadiness::Steady);
    }

    #[test]
    fn too_few_operations_make_no_rounds() {
        assert_eq!(divide_into_rounds(&[]), None);
        assert_eq!(divide_into_rounds(&seconds([19])), None);
        assert!(divide_into_rounds(&seconds([1; 20])).is_some());
    }
}
