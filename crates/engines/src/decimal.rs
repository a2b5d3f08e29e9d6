//! Decimal numbers: they travel as doubles, and are rounded as SQL rounds them, by their digits.

use std::fmt::{self, Display, Formatter};
use std::io::Write as _;

use crate::Value;

/// The number that a column with `scale` digits after the point holds: the half goes away from zero.
pub(crate) fn round_to_scale(value: Value<'_>, scale: u8) -> Value<'_> {
    let Value::Real(real) = value.normalise_number() else { return value.normalise_number() };
    let text = real.get().to_string();
    let (scale, digits) = (usize::from(scale), text.split_once('.'));
    match digits {
        Some((whole, fraction)) if fraction.len() > scale && fraction.is_ascii() => {
            round_digits(whole, fraction, scale).parse::<f64>().map_or(value, Value::from)
        }
        _ => value,
    }
}

fn round_digits(whole: &str, fraction: &str, scale: usize) -> String {
    let (sign, whole) = match whole.strip_prefix('-') {
        Some(whole) => ("-", whole),
        None => ("", whole),
    };
    let mut digits: Vec<u8> = [whole, &fraction[..scale]].concat().into_bytes();
    let mut carry = fraction.as_bytes()[scale] >= b'5';
    for digit in digits.iter_mut().rev() {
        if !carry {
            break;
        }
        carry = *digit == b'9';
        *digit = if carry { b'0' } else { *digit + 1 };
    }
    let digits: String = digits.into_iter().map(char::from).collect();
    let first = if carry { "1" } else { "" };
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    format!("{sign}{first}{whole}.{fraction}")
}

/// The number that a text of decimal digits stands for.
pub(crate) fn parse_decimal(text: &str) -> Option<Value<'static>> {
    let whole = match text.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|digit| digit == b'0') => whole,
        _ => text,
    };
    match whole.parse::<i64>() {
        Ok(int) => Some(Value::Int(int)),
        Err(_) => text.parse::<f64>().ok().map(Value::from),
    }
}

/// A double's text: short, and read by every engine as this double.
pub(crate) struct RealText(pub f64);

impl Display for RealText {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(real) = self;
        match real.abs() {
            short if short == 0.0 || (1e-5..1e17).contains(&short) => write!(f, "{real}"),
            _ => write!(f, "{real:e}"),
        }
    }
}

/// The double with the same short text.
pub(crate) fn widen_float(real: f32) -> f64 {
    // A sign, nine digits, a point, an exponent of a sign and two digits.
    let mut text = [0; 16];
    let mut rest = &mut text[..];
    let written = write!(rest, "{real:e}").is_ok();
    let length = 16 - rest.len();
    let text = std::str::from_utf8(&text[..length]).ok().filter(|_| written);
    text.and_then(|text| text.parse().ok()).unwrap_or(f64::from(real))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_rounded_by_their_digits() {
        for (real, scale, rounded) in [
            (1.005, 2, 1.01),
            (1.004999, 2, 1.0),
            (-1.005, 2, -1.01),
            (17.991000000000003, 2, 17.99),
            (0.1, 2, 0.1),
            (999.995, 2, 1000.0),
            (9.5, 0, 10.0),
            (-0.001, 2, 0.0),
            (1e-7, 2, 0.0),
            (1e19, 2, 1e19),
            (99_999_999.99, 2, 99_999_999.99),
        ] {
            assert_eq!(round_to_scale(Value::from(real), scale), Value::from(rounded), "{real}");
        }
        assert_eq!(round_to_scale(Value::Int(i64::MAX), 2), Value::Int(i64::MAX));
    }

    #[test]
    fn a_decimal_is_read_as_an_integer_or_the_nearest_double() {
        for (text, value) in [
            ("2.00", Value::Int(2)),
            ("-0.00", Value::Int(0)),
            ("1.50", Value::from(1.5)),
            ("9223372036854775807.0", Value::Int(i64::MAX)),
            ("9223372036854775808", Value::from(9_223_372_036_854_775_808.0)),
            ("0.1", Value::from(0.1)),
        ] {
            assert_eq!(parse_decimal(text), Some(value), "{text}");
        }
        assert_eq!(parse_decimal("1,5"), None);
    }

    #[test]
    fn a_double_is_written_shortly() {
        for (real, text) in [(0.1, "0.1"), (1e308, "1e308"), (0.0, "0"), (-2.5e-9, "-2.5e-9")] {
            assert_eq!(RealText(real).to_string(), text);
        }
    }
}
