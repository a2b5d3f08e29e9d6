//! A value while an expression is evaluated, and pgbench's rules of what may become what.

use super::EvaluationError;
use super::made_bytes::OpaqueBytes;

/// A value; its text is a part of the scratch text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operand {
    Null,
    Bool(bool),
    Int(i64),
    Real(f64),
    Text(TextSpan),
    Bytes(OpaqueBytes),
    /// Days since 1970-01-01.
    Date(i64),
    /// Microseconds since 1970-01-01.
    Timestamp(i64),
}

/// Bytes of the scratch text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextSpan {
    pub start: usize,
    pub end: usize,
}

impl TextSpan {
    /// Whether it is the whole of a text.
    pub fn is_whole(self, text: &str) -> bool {
        self.start == 0 && self.end == text.len()
    }
}

impl Operand {
    pub fn name_kind(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Int(_) => "int",
            Self::Real(_) => "double",
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
            Self::Date(_) => "date",
            Self::Timestamp(_) => "timestamp",
        }
    }

    /// A text that looks like a number becomes one, as pgbench's variables do.
    #[inline]
    pub fn read_number(self, scratch: &str) -> Self {
        match self {
            Self::Text(span) => self.parse_number(&scratch[span.start..span.end]),
            other => other,
        }
    }

    fn parse_number(self, text: &str) -> Self {
        let text = text.trim();
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        if !digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
            return self;
        }
        if let Ok(int) = text.parse() {
            return Self::Int(int);
        }
        text.parse().map_or(self, Self::Real)
    }

    pub fn to_int(self) -> Result<i64, EvaluationError> {
        match self {
            Self::Int(int) => Ok(int),
            Self::Real(real) => round_to_int(real),
            other => Err(other.refuse_as("int")),
        }
    }

    pub fn to_real(self) -> Result<f64, EvaluationError> {
        match self {
            Self::Int(int) => Ok(int as f64),
            Self::Real(real) => Ok(real),
            other => Err(other.refuse_as("double")),
        }
    }

    pub fn to_bool(self) -> Result<bool, EvaluationError> {
        match self {
            Self::Bool(bool) => Ok(bool),
            other => Err(other.refuse_as("boolean")),
        }
    }

    /// Whether a branch of CASE is taken.
    pub fn is_true(self) -> bool {
        match self {
            Self::Bool(bool) => bool,
            Self::Int(int) => int != 0,
            Self::Real(real) => real != 0.0,
            Self::Null | Self::Text(_) | Self::Bytes(_) | Self::Date(_) | Self::Timestamp(_) => {
                false
            }
        }
    }

    pub fn refuse_as(self, wanted: &str) -> EvaluationError {
        EvaluationError::new(format!("cannot coerce {} to {wanted}", self.name_kind()))
    }
}

/// Halves to the even one, as C's `rint`.
fn round_to_int(real: f64) -> Result<i64, EvaluationError> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    let whole = real.round_ties_even();
    match (-LIMIT..LIMIT).contains(&whole) {
        true => Ok(whole as i64),
        false => Err(EvaluationError::new(format!("double to int overflow for {real}"))),
    }
}
