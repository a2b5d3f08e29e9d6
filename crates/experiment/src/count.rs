//! A number of power cuts, as a user gives it.

use std::fmt;
use std::str::FromStr;

/// How many cuts are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// So many, at moments that are drawn.
    Times(u32),
    /// One at every moment of a short recorded history.
    Every,
}

impl FromStr for Count {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            EVERY => Ok(Self::Every),
            number => number.parse().map(Self::Times),
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Times(count) => count.fmt(f),
            Self::Every => EVERY.fmt(f),
        }
    }
}

/// How [`Count::Every`] is written.
pub const EVERY: &str = "every";
