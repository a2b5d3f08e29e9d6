//! A source's values as columns hold them: the type is the schema's, never the data's.

use std::borrow::Cow;

use bakeoff_engines::Value;
use bakeoff_engines::schema::{Column, Type};

use crate::expression::calendar::{parse_date, parse_timestamp, write_date, write_timestamp};

const DAY: i64 = 86_400_000_000;

/// How a source writes bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BytesForm {
    /// As they are.
    Raw,
    /// `\x00ff`: PostgreSQL.
    Hex,
}

/// A value as its column holds it.
#[derive(Clone, Debug, PartialEq)]
pub enum CopiedValue<'f> {
    Null,
    Int(i64),
    Real(f64),
    Text(Cow<'f, str>),
    Bytes(Cow<'f, [u8]>),
}

impl CopiedValue<'_> {
    pub fn as_value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Int(int) => Value::Int(*int),
            Self::Real(real) => Value::from(*real),
            Self::Text(text) => Value::Text(text),
            Self::Bytes(bytes) => Value::Bytes(bytes),
        }
    }
}

/// Reads a field; `None` is null. The error says why the column can't hold it.
pub fn read_field<'f>(
    column: &Column,
    field: Option<&'f [u8]>,
    form: BytesForm,
) -> Result<CopiedValue<'f>, String> {
    let value = match field {
        None => CopiedValue::Null,
        Some(bytes) => read_value(column.kind, bytes, form)?,
    };
    column.fits(value.as_value()).map(|()| value).map_err(|error| match error {
        bakeoff_engines::Error::Usage(what) => what,
        other => other.to_string(),
    })
}

fn read_value(kind: Type, bytes: &[u8], form: BytesForm) -> Result<CopiedValue<'_>, String> {
    let shown = || shorten(bytes);
    if let Type::Bytes { .. } = kind {
        return match bytes.strip_prefix(b"\\x").filter(|_| form == BytesForm::Hex) {
            Some(digits) => decode_hex(digits)
                .map(|bytes| CopiedValue::Bytes(bytes.into()))
                .ok_or_else(|| format!("`{}` is no bytes as \\x00ff", shown())),
            None => Ok(CopiedValue::Bytes(bytes.into())),
        };
    }
    // MySQL's BIT(1).
    if let (Type::Bool, [bit @ (0 | 1)]) = (kind, bytes) {
        return Ok(CopiedValue::Int(i64::from(*bit)));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|_| format!("`{}` is no text of UTF-8: convert the source to UTF-8", shown()))?;
    let wrong = |what: &str| format!("`{}` is no {what}", shown());
    match kind {
        Type::Int => text.parse().map(CopiedValue::Int).map_err(|_| wrong("integer of 64 bits")),
        Type::Bool => match text {
            "t" | "true" | "TRUE" | "1" => Ok(CopiedValue::Int(1)),
            "f" | "false" | "FALSE" | "0" => Ok(CopiedValue::Int(0)),
            _ => Err(wrong("boolean")),
        },
        Type::Decimal { scale, .. } if count_digits(text, scale) > EXACT_DIGITS => Err(format!(
            "`{}` has more digits than every engine keeps, {EXACT_DIGITS} at most",
            shown()
        )),
        Type::Real | Type::Decimal { .. } => read_number(text).ok_or_else(|| wrong("number")),
        Type::Date => {
            let micros = read_time(text).ok_or_else(|| wrong("date as 2020-02-29"))?;
            let mut written = String::new();
            write_date(micros.div_euclid(DAY), &mut written);
            Ok(CopiedValue::Text(written.into()))
        }
        Type::Timestamp => {
            let micros = read_time(text).ok_or_else(|| wrong("time as 2020-02-29 23:59:59"))?;
            let mut written = String::new();
            write_timestamp(micros, &mut written);
            Ok(CopiedValue::Text(written.into()))
        }
        Type::Text { .. } | Type::MediumText | Type::Bytes { .. } => {
            Ok(CopiedValue::Text(text.into()))
        }
    }
}

/// A double keeps so many decimal digits of any number.
const EXACT_DIGITS: usize = 15;

/// Up to the column's last digit, without zeros before the first other one.
fn count_digits(text: &str, scale: u8) -> usize {
    let number = text.split(['e', 'E']).next().unwrap_or_default();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let kept = &fraction.as_bytes()[..fraction.len().min(scale.into())];
    let fraction = String::from_utf8_lossy(kept);
    let digits = format!("{whole}{}", fraction.trim_end_matches('0'));
    digits.trim_start_matches(['-', '+', '0']).bytes().filter(u8::is_ascii_digit).count()
}

/// A number without a fraction is an integer, as in engines' answers.
fn read_number(text: &str) -> Option<CopiedValue<'static>> {
    if let Ok(int) = text.parse() {
        return Some(CopiedValue::Int(int));
    }
    let real: f64 = text.parse().ok().filter(|real: &f64| real.is_finite())?;
    Some(match Value::from(real).normalise_number() {
        Value::Int(int) => CopiedValue::Int(int),
        _ => CopiedValue::Real(real),
    })
}

/// Microseconds since 1970 in UTC, of `2020-02-29`, `2020-02-29 23:59:59.5` or the same with `+02`
/// or `+05:30` behind it.
fn read_time(text: &str) -> Option<i64> {
    if let Ok(day) = parse_date(text) {
        return Some(day * DAY);
    }
    let zone = text.rfind(['+', '-', 'Z']).filter(|at| *at > 10).unwrap_or(text.len());
    let micros = parse_timestamp(&text[..zone]).ok()?;
    let offset = match text[zone..].split_at_checked(1) {
        None | Some(("Z", "")) => 0,
        Some((sign, offset)) => {
            let (hours, minutes) = offset.split_once(':').unwrap_or((offset, "0"));
            if hours.len() > 2 || minutes.len() > 2 {
                return None;
            }
            let seconds = hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60;
            if sign == "-" { -seconds } else { seconds }
        }
    };
    micros.checked_sub(offset * 1_000_000)
}

pub fn decode_hex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = digits.as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?));
    bytes.collect::<Option<Vec<u8>>>().filter(|_| rest.is_empty())
}

/// For messages.
fn shorten(bytes: &[u8]) -> String {
    const MOST: usize = 40;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * MOST)]);
    match text.chars().count() > MOST {
        true => text.chars().take(MOST).chain(['…']).collect(),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: Type, text: &str, form: BytesForm) -> Result<CopiedValue<'_>, String> {
        let column = Column { name: "it".into(), kind, nullable: false };
        read_field(&column, Some(text.as_bytes()), form)
    }

    #[test]
    fn the_column_s_type_decides_what_a_value_is() {
        use CopiedValue::{Bytes, Int, Real, Text};
        let (code, decimal) = (Type::Text { most: 5 }, Type::Decimal { digits: 6, scale: 2 });
        let (raw, hex) = (BytesForm::Raw, BytesForm::Hex);
        for (kind, text, form, expected) in [
            (code, "00120", hex, Ok(Text("00120".into()))),
            (code, "29051_", raw, Err("at most 5")),
            (Type::Int, "00120", hex, Ok(Int(120))),
            (Type::Int, "12,5", hex, Err("`12,5` is no integer of 64 bits")),
            (Type::Int, "18446744073709551615", raw, Err("is no integer of 64 bits")),
            (Type::Bool, "t", hex, Ok(Int(1))),
            (Type::Bool, "\0", raw, Ok(Int(0))),
            (Type::Bool, "2", raw, Err("`2` is no boolean")),
            (decimal, "1.50", raw, Ok(Real(1.5))),
            (decimal, "7.00", raw, Ok(Int(7))),
            (decimal, "12345.5", raw, Err("it holds")),
            (Type::Real, "NaN", hex, Err("`NaN` is no number")),
            (Type::Date, "2020-02-29", raw, Ok(Text("2020-02-29".into()))),
            (Type::Date, "0000-00-00", raw, Err("is no date")),
            (
                Type::Timestamp,
                "2020-03-01 01:30:00+02",
                hex,
                Ok(Text("2020-02-29 23:30:00.000000".into())),
            ),
            (
                Type::Timestamp,
                "2020-03-01 01:30:00.25-05:30",
                hex,
                Ok(Text("2020-03-01 07:00:00.250000".into())),
            ),
            (Type::Timestamp, "infinity", hex, Err("`infinity` is no time")),
            (Type::MEDIUM_BLOB, "\\x00fF", hex, Ok(Bytes(vec![0, 255].into()))),
            (Type::MEDIUM_BLOB, "\\x00f", hex, Err("is no bytes")),
            (Type::MEDIUM_BLOB, "\\x00f", raw, Ok(Bytes(b"\\x00f".as_slice().into()))),
        ] {
            match (read(kind, text, form), expected) {
                (Ok(found), Ok(wanted)) => assert_eq!(found, wanted, "{text}"),
                (Err(found), Err(wanted)) => assert!(found.contains(wanted), "{text}: {found}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
        let column = Column { name: "it".into(), kind: Type::Int, nullable: false };
        let told = read_field(&column, None, raw).unwrap_err();
        assert!(told.contains("can't hold null"), "{told}");
    }

    /// The digits that a column keeps count, and not those of a double behind them.
    #[test]
    fn a_decimal_is_as_long_as_what_its_column_keeps() {
        for (text, scale, digits) in [
            ("12345.249999999999999", 2, 7),
            ("12345678901234567.89", 2, 19),
            ("-0.00120", 6, 2),
            ("1000", 0, 4),
        ] {
            assert_eq!(count_digits(text, scale), digits, "{text}");
        }
        let kind = Type::Decimal { digits: 20, scale: 2 };
        assert!(read(kind, "12345678901234567.89", BytesForm::Raw).is_err());
        assert!(read(kind, "12345.249999999999999", BytesForm::Raw).is_ok());
    }
}
