//! A number of power cuts, as a user gives it.

use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// At random moments.
    Times(u32),
    /// One cut at every moment of a short recorded history.
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

pub const EVERY: &str = "every";
