//! pgbench's random distributions, by its formulas. The stream of random numbers is our own.

use bakeoff_workloads::WorkloadRandom;
use rand::RngExt;

use super::EvaluationError;

/// pgbench's bounds.
const LEAST_GAUSSIAN: f64 = 2.0;
const LEAST_ZIPFIAN: f64 = 1.001;
const MOST_ZIPFIAN: f64 = 1000.0;

/// The place of a draw in a range of `count` integers, not above the last.
fn scale_place(low: i64, high: i64, place: f64) -> i64 {
    let count = (high - low + 1) as f64;
    low.saturating_add((count * place) as i64).min(high)
}

pub fn draw_exponential(
    random: &mut WorkloadRandom,
    [low, high]: [i64; 2],
    parameter: f64,
) -> Result<i64, EvaluationError> {
    if parameter.is_nan() || parameter <= 0.0 {
        return Err(EvaluationError::new(format!(
            "exponential parameter must be greater than zero (not {parameter})"
        )));
    }
    let cut = (-parameter).exp();
    let uniform = 1.0 - random.random::<f64>();
    let place = -(cut + (1.0 - cut) * uniform).ln() / parameter;
    Ok(scale_place(low, high, place))
}

pub fn draw_gaussian(
    random: &mut WorkloadRandom,
    [low, high]: [i64; 2],
    parameter: f64,
) -> Result<i64, EvaluationError> {
    if parameter.is_nan() || parameter < LEAST_GAUSSIAN {
        return Err(EvaluationError::new(format!(
            "gaussian parameter must be at least {LEAST_GAUSSIAN:.1} (not {parameter})"
        )));
    }
    loop {
        // Box and Muller.
        let (first, second) = (1.0 - random.random::<f64>(), 1.0 - random.random::<f64>());
        let deviation = (-2.0 * first.ln()).sqrt() * (std::f64::consts::TAU * second).sin();
        if (-parameter..parameter).contains(&deviation) {
            return Ok(scale_place(low, high, (deviation / parameter + 1.0) / 2.0));
        }
    }
}

/// Devroye, "Non-Uniform Random Variate Generation" (1986), page 550.
pub fn draw_zipfian(
    random: &mut WorkloadRandom,
    [low, high]: [i64; 2],
    parameter: f64,
) -> Result<i64, EvaluationError> {
    if !(LEAST_ZIPFIAN..=MOST_ZIPFIAN).contains(&parameter) {
        return Err(EvaluationError::new(format!(
            "zipfian parameter must be in range [{LEAST_ZIPFIAN}, {MOST_ZIPFIAN}] (not {parameter}); \
             pick(low, high, zipf:0.8) takes smaller ones"
        )));
    }
    let (count, power) = ((high - low + 1) as f64, parameter - 1.0);
    if low == high {
        return Ok(low);
    }
    let bound = 2f64.powf(power);
    loop {
        let (first, second): (f64, f64) = (random.random(), random.random());
        let rank = first.powf(-1.0 / power).floor();
        let next = (1.0 + 1.0 / rank).powf(power);
        if second * rank * (next - 1.0) / (bound - 1.0) <= next / bound && rank <= count {
            return Ok(low.saturating_add(rank as i64 - 1).min(high));
        }
    }
}
