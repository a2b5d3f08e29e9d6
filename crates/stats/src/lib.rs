//! Pure functions over numbers: ratios with intervals, decisions, warm-up, drift, shares.
//!
//! Every formula names its source. The crate must never know what the numbers are: no database,
//! no trial, no file, no clock, no randomness. A series is a slice of values that lie equally far
//! apart in time.
//!
//! Input that has no answer (too few values, a value that is not a number) is answered with `None`,
//! or with an [`Error`] where somebody can mend it; no function panics on any input.

pub mod backlog;
pub mod canary;
pub mod drift;
pub mod heterogeneity;
pub mod holm;
pub mod limit;
pub mod none_seen;
pub mod paired;
pub mod quantile;
pub mod rounds;
pub mod sequential;
pub mod serial;
pub mod share;
pub mod steady;
pub mod unpaired;
pub mod warmup;

pub use paired::{CONFIDENCE, Decision, Estimate, INTERIM_CONFIDENCE, MARGIN};

/// Why figures can't be worked out from what was given.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// There is nothing to work with.
    #[error("no values to compare")]
    Empty,
    /// A ratio needs finite values above zero.
    #[error("value {value} of pair {pair} (from 0) is not a finite number above zero")]
    NotPositive {
        /// Which pair, from 0.
        pair: usize,
        /// The first of its values that does not fit.
        value: f64,
    },
    /// A value is infinite or not a number.
    #[error("{value} is not a finite number")]
    NotFinite {
        /// The value.
        value: f64,
    },
    /// A confidence must lie between 0 and 1.
    #[error("a confidence of {confidence} does not lie between 0 and 1")]
    Confidence {
        /// What was asked for.
        confidence: f64,
    },
    /// Not every combination of levels is there exactly once and equally often repeated.
    #[error("not a balanced full factorial: {0}")]
    Unbalanced(String),
    /// The cell that was asked for is not among those given.
    #[error("the cell {0:?} is not among those measured")]
    NoSuchCell(Vec<usize>),
}

/// Whether all values are finite numbers.
fn finite(values: &[f64]) -> bool {
    values.iter().all(|value| value.is_finite())
}

/// The mean of at least one value.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
