//! Compares published figures with ours, by shape alone. Each side is divided by its own base cell,
//! so that hardware has no part in it.

mod shape;

use bakeoff_results::Levels;
use bakeoff_results::published::{PublishedValue, Quantity};
use serde::{Deserialize, Serialize};

use crate::comparison::RatioBound;

pub use shape::{Goes, RatioShape, UntoldReason, compare_shape};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedView {
    /// One for each published figure of a cell of the plan that is not a base cell.
    pub statements: Vec<PublishedStatement>,
    pub elsewhere: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedStatement {
    pub operation: Option<String>,
    pub of: Quantity,
    pub levels: Levels,
    /// Only the levels of the base cell that differ.
    pub base: Levels,
    /// Divided by the published figure of the base cell.
    pub theirs: Option<PublishedValue>,
    pub ours: Option<Ours>,
    pub shape: RatioShape,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ours {
    pub ratio: f64,
    pub ratio_is: RatioBound,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub pairs: u32,
}
