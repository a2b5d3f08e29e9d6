use toml::Value;

use super::SpecProblem;
use crate::size::{size_of, size_text};

/// Reads a value of its default's type: words of a level are read, whole numbers may become
/// fractions, sizes may have a letter.
pub(super) fn read_value(key: &str, value: &Value, default: &Value) -> Result<Value, SpecProblem> {
    let read = match (default, value) {
        (Value::Integer(_), Value::Integer(number)) => Some((*number).into()),
        (Value::Integer(_), Value::String(text)) => {
            size_of(text).and_then(|bytes| i64::try_from(bytes).ok()).map(Value::Integer)
        }
        (Value::Float(_), Value::Float(number)) => Some((*number).into()),
        (Value::Float(_), Value::Integer(number)) => Some((*number as f64).into()),
        (Value::Float(_), Value::String(text)) => text.parse::<f64>().ok().map(Value::Float),
        (Value::Integer(_) | Value::Float(_), _) => None,
        (_, Value::String(text)) => Some(text.clone().into()),
        _ => None,
    };
    let written = || value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let wanted = describe_syntax(default);
    read.ok_or_else(|| SpecProblem::Value { key: key.to_owned(), value: written(), wanted })
}

pub(super) fn describe_syntax(value: &Value) -> &'static str {
    match value {
        Value::Integer(_) => "a whole number; bytes may be written like 64M",
        Value::Float(_) => "a number",
        _ => "a word",
    }
}

pub(super) fn format_value(value: &Value) -> String {
    match value {
        Value::Integer(number) => size_text(*number),
        Value::Float(number) => number.to_string(),
        other => other.as_str().unwrap_or_default().to_owned(),
    }
}
