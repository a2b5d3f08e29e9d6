//! Values that an application's variables have before any operation: levels of factors, and numbers
//! of rows.

use crate::Datum;

/// A value that stays.
#[derive(Clone, Debug, PartialEq)]
pub enum GivenValue {
    Int(i64),
    Real(f64),
    Text(String),
}

impl GivenValue {
    /// A level as it is written: a number, if it reads as one.
    pub fn from_level(level: &str) -> Self {
        match (level.parse(), level.parse()) {
            (Ok(int), _) => Self::Int(int),
            (_, Ok(real)) => Self::Real(real),
            _ => Self::Text(level.to_owned()),
        }
    }

    pub fn as_datum(&self) -> Datum<'_> {
        match self {
            Self::Int(int) => Datum::Int(*int),
            Self::Real(real) => Datum::Real(*real),
            Self::Text(text) => Datum::Text(text),
        }
    }
}
