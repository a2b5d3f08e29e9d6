//! What somebody else measured, beside what was measured here: by shape alone. Each side is divided by
//! its own base cell, so that neither's hardware has a part in it.

mod shape;

use bakeoff_results::Levels;
use bakeoff_results::published::{PublishedValue, Quantity};
use serde::{Deserialize, Serialize};

use crate::comparison::RatioIs;

pub use shape::{Goes, RatioShape, UntoldReason, shape};

/// Published figures beside the run's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedView {
    /// One for each published figure of a cell of the plan that is not a base cell, in their order.
    pub statements: Vec<PublishedStatement>,
    /// How many more figures there are, of levels that the plan does not have.
    pub elsewhere: u32,
}

/// What was published of a cell against its base cell, and what was measured here of the same two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedStatement {
    /// The operation; `None` for what is of none, as space is.
    pub operation: Option<String>,
    /// What the ratios are of.
    pub of: Quantity,
    /// The cell's levels: those that were published, and those of the other factors that vary here.
    pub levels: Levels,
    /// Those levels of the base cell that are others.
    pub base: Levels,
    /// What was published, divided by what was published of the base cell; `None` where either is
    /// missing.
    pub theirs: Option<PublishedValue>,
    /// The same of what was measured here; `None` where there is none.
    pub ours: Option<Ours>,
    /// What follows.
    pub shape: RatioShape,
}

/// A ratio that was measured here.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ours {
    /// The cell's figure over the base cell's.
    pub ratio: f64,
    /// Whether that is exact or a bound.
    pub ratio_is: RatioIs,
    /// The 95 % interval's lower end; `None` where there is none.
    pub low: Option<f64>,
    /// Its upper end; `None` where there is none.
    pub high: Option<f64>,
    /// How many pairs of trials it is of.
    pub pairs: u32,
}
