//! Values of variables and expressions.

use std::fmt;

use bakeoff_engines::Value;

/// A value of a variable or an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Datum<'a> {
    /// No value.
    Null,
    /// A truth value; a statement gets 0 or 1.
    Bool(bool),
    /// A signed integer of 64 bits.
    Int(i64),
    /// A double.
    Real(f64),
    /// UTF-8 text.
    Text(&'a str),
    /// Bytes of a column. Expressions only give them on.
    Bytes(&'a [u8]),
}

impl fmt::Display for Datum<'_> {
    /// As pgbench prints it; null as `NULL`, bytes as `X'00ff'`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("NULL"),
            Self::Bool(true) => formatter.write_str("true"),
            Self::Bool(false) => formatter.write_str("false"),
            Self::Int(int) => int.fmt(formatter),
            Self::Real(real) => real.fmt(formatter),
            Self::Text(text) => formatter.write_str(text),
            Self::Bytes(bytes) => {
                formatter.write_str("X'")?;
                bytes.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))?;
                formatter.write_str("'")
            }
        }
    }
}

impl<'a> From<Value<'a>> for Datum<'a> {
    fn from(value: Value<'a>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Int(int) => Self::Int(int),
            Value::Real(real) => Self::Real(real.get()),
            Value::Text(text) => Self::Text(text),
            Value::Bytes(bytes) => Self::Bytes(bytes),
        }
    }
}

impl<'a> From<Datum<'a>> for Value<'a> {
    fn from(value: Datum<'a>) -> Self {
        match value {
            Datum::Null => Self::Null,
            Datum::Bool(truth) => Self::Int(truth.into()),
            Datum::Int(int) => Self::Int(int),
            Datum::Real(real) => Self::from(real),
            Datum::Text(text) => Self::Text(text),
            Datum::Bytes(bytes) => Self::Bytes(bytes),
        }
    }
}
