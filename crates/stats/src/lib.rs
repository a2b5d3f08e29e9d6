//! Pure functions over numbers: ratios with intervals, decisions, warm-up, drift.
//!
//! Every formula names its source. The crate must never know what the numbers are: no database, no
//! trial, no file, no clock, no randomness.
//!
//! Input without an answer gives `None`, or an [`Error`] that the caller can correct; no function
//! panics.

pub mod backlog;
pub mod canary;
pub mod detectable;
pub mod drift;
pub mod family;
pub mod heterogeneity;
pub mod humps;
pub mod idle;
pub mod images;
pub mod limit;
pub mod moderated;
pub mod none_seen;
pub mod order;
pub mod paired;
pub mod quantile;
pub mod rounds;
pub mod sequential;
pub mod serial;
pub mod steady;
pub mod unpaired;
pub mod warmup;

pub use paired::{CONFIDENCE, Decision, Estimate, MARGIN};

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    #[error("no values to compare")]
    Empty,
    #[error("value {value} of pair {pair} (from 0) is not a finite number above zero")]
    NotPositive { pair: usize, value: f64 },
    #[error("{value} is not a finite number")]
    NotFinite { value: f64 },
    #[error("a confidence of {confidence} does not lie between 0 and 1")]
    Confidence { confidence: f64 },
}

fn are_finite(values: &[f64]) -> bool {
    values.iter().all(|value| value.is_finite())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
