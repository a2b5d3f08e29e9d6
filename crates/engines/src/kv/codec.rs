//! Encodes cells as bytes: keys whose bytes sort as their cells do, and compact rows.
//!
//! A key is its cells one after another. A cell that may be null starts with a byte: 0 for null and
//! nothing more, 1 for a value. An integer is eight bytes, big endian, its sign bit flipped. Text
//! is its bytes with every 0 written as `0 1`, then `0 0`: so a text sorts before all texts that it
//! is a prefix of, and the next cell can't be taken for a part of it. A number that may have a
//! fraction, which no index has, is the nearest double, its bits turned so that they sort, and then
//! what it is: 0 and the eight bytes of an integer, or 1.
//!
//! A row holds the columns that are not in the key: a bit for each nullable column (1: null), then
//! the values that are there. An integer is a zigzag varint, text a length and its bytes. A number
//! that may have a fraction is 0 and an integer, or 1 and the eight bytes of a double.

use crate::schema::{Column, Type};
use crate::{Error, RealValue, Result, Value};

pub fn damaged_error(what: &str) -> Error {
    Error::from_engine(format!("damaged data: {what}"))
}

/// Adds a cell to a key. A value that is too long for its column may be looked for; it is not
/// found.
pub fn push_key(column: &Column, value: Value<'_>, key: &mut Vec<u8>) -> Result<()> {
    check_kind(column, value)?;
    if column.nullable {
        key.push(u8::from(value != Value::Null));
    }
    match value {
        Value::Null => {}
        Value::Int(int) => {
            if column.kind.is_fractional() {
                key.extend_from_slice(&sorting_bits(int as f64));
                key.push(INTEGER);
            }
            key.extend_from_slice(&(int ^ i64::MIN).to_be_bytes());
        }
        Value::Real(real) => {
            key.extend_from_slice(&sorting_bits(real.get()));
            key.push(DOUBLE);
        }
        Value::Text(text) => push_escaped(text.as_bytes(), key),
        Value::Bytes(bytes) => push_escaped(bytes, key),
    }
    Ok(())
}

/// With an end that sorts before every byte.
fn push_escaped(bytes: &[u8], key: &mut Vec<u8>) {
    let mut parts = bytes.split(|byte| *byte == 0);
    key.extend_from_slice(parts.next().unwrap_or_default());
    for part in parts {
        key.extend_from_slice(&[0, 1]);
        key.extend_from_slice(part);
    }
    key.extend_from_slice(&[0, 0]);
}

/// What follows of a number that may have a fraction.
const INTEGER: u8 = 0;
const DOUBLE: u8 = 1;

/// A negative number's bits are all turned, those of others only in their sign.
fn sorting_bits(real: f64) -> [u8; 8] {
    let bits = real.to_bits().cast_signed();
    (bits ^ (bits >> 63 | i64::MIN)).to_be_bytes()
}

fn from_sorting_bits(bytes: [u8; 8]) -> f64 {
    let bits = i64::from_be_bytes(bytes);
    f64::from_bits((bits ^ (!bits >> 63 | i64::MIN)).cast_unsigned())
}

fn check_kind(column: &Column, value: Value<'_>) -> Result<()> {
    let kind = column.kind;
    let fits = match value {
        Value::Null => column.nullable,
        Value::Int(_) => kind.is_integer() || kind.is_fractional(),
        Value::Real(_) => kind.is_fractional(),
        Value::Text(_) => !kind.is_integer() && !kind.is_fractional() && !kind.is_bytes(),
        Value::Bytes(_) => kind.is_bytes(),
    };
    if fits {
        return Ok(());
    }
    Err(Error::Usage(format!("column {} can't hold {value:?}", column.name)))
}

/// The first key after all keys with this prefix; empty if there is none.
pub fn to_successor(key: &mut Vec<u8>) {
    while key.last() == Some(&u8::MAX) {
        key.pop();
    }
    if let Some(last) = key.last_mut() {
        *last += 1;
    }
}

pub fn encode_row<'v>(
    columns: &[Column],
    stored: &[usize],
    value: &dyn Fn(usize) -> Result<Value<'v>>,
    row: &mut Vec<u8>,
) -> Result<()> {
    row.clear();
    row.resize(null_bytes(columns, stored), 0);
    let mut bit = 0;
    for &number in stored {
        let (column, value) = (&columns[number], value(number)?);
        column.fits(value)?;
        match column.kind.round_value(value) {
            Value::Null => row[bit / 8] |= 1 << (bit % 8),
            Value::Int(int) => {
                if column.kind.is_fractional() {
                    row.push(INTEGER);
                }
                push_varint(((int << 1) ^ (int >> 63)) as u64, row);
            }
            Value::Real(real) => {
                row.push(DOUBLE);
                row.extend_from_slice(&real.get().to_le_bytes());
            }
            Value::Text(text) => push_sized(text.as_bytes(), row),
            Value::Bytes(bytes) => push_sized(bytes, row),
        }
        bit += usize::from(column.nullable);
    }
    Ok(())
}

pub fn key_length(columns: &[Column], numbers: &[usize], key: &[u8]) -> Result<usize> {
    let short = || damaged_error("a key is cut short");
    let mut at = 0;
    for column in numbers.iter().map(|number| &columns[*number]) {
        if column.nullable {
            at += 1;
            if *key.get(at - 1).ok_or_else(short)? == 0 {
                continue;
            }
        }
        at += match column.kind {
            Type::Int | Type::Bool => 8,
            Type::Real | Type::Decimal { .. } => match key.get(at + 8) {
                Some(&INTEGER) => 8 + 1 + 8,
                _ => 8 + 1,
            },
            Type::Text { .. }
            | Type::MediumText
            | Type::Bytes { .. }
            | Type::Date
            | Type::Timestamp => {
                let rest = key.get(at..).unwrap_or_default();
                let end = rest.windows(2).position(|pair| pair == [0, 0]);
                2 + end.ok_or_else(|| damaged_error("a text in a key has no end"))?
            }
        };
    }
    if at > key.len() { Err(short()) } else { Ok(at) }
}

fn null_bytes(columns: &[Column], stored: &[usize]) -> usize {
    stored.iter().filter(|number| columns[**number].nullable).count().div_ceil(8)
}

fn take_eight(bytes: &[u8], at: &mut usize) -> Result<[u8; 8]> {
    let eight = bytes.get(*at..*at + 8).and_then(|bytes| bytes.try_into().ok());
    *at += 8;
    eight.ok_or_else(|| damaged_error("a number is cut short"))
}

fn take_flag(bytes: &[u8], at: &mut usize) -> Result<bool> {
    let flag = bytes.get(*at).copied();
    *at += 1;
    match flag {
        Some(INTEGER) => Ok(false),
        Some(DOUBLE) => Ok(true),
        _ => Err(damaged_error("a number is neither an integer nor a double")),
    }
}

fn push_sized(bytes: &[u8], row: &mut Vec<u8>) {
    push_varint(bytes.len() as u64, row);
    row.extend_from_slice(bytes);
}

fn push_varint(mut value: u64, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take_varint(bytes: &[u8], at: &mut usize) -> Result<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at).ok_or_else(|| damaged_error("a number is cut short"))?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(damaged_error("a number is too long"))
}

#[derive(Clone, Copy, Debug)]
enum DecodedCell {
    Null,
    Int(i64),
    Real(RealValue),
    Row { start: usize, end: usize, is_bytes: bool },
    Key { start: usize, end: usize, is_bytes: bool },
}

fn decode_integer(key: &[u8], at: &mut usize) -> Result<DecodedCell> {
    Ok(DecodedCell::Int(i64::from_be_bytes(take_eight(key, at)?) ^ i64::MIN))
}

#[derive(Debug, Default)]
pub struct DecodedCells {
    slots: Vec<DecodedCell>,
    text: Vec<u8>,
}

impl DecodedCells {
    pub fn reset(&mut self, columns: usize) {
        self.slots.clear();
        self.slots.resize(columns, DecodedCell::Null);
        self.text.clear();
    }

    pub fn decode_key(
        &mut self,
        columns: &[Column],
        numbers: &[usize],
        key: &[u8],
    ) -> Result<usize> {
        let mut at = 0;
        for &number in numbers {
            let column = &columns[number];
            if column.nullable {
                let tag = *key.get(at).ok_or_else(|| damaged_error("a key is cut short"))?;
                at += 1;
                if tag == 0 {
                    self.slots[number] = DecodedCell::Null;
                    continue;
                }
            }
            self.slots[number] = match column.kind {
                Type::Int | Type::Bool => decode_integer(key, &mut at)?,
                Type::Real | Type::Decimal { .. } => {
                    let real = from_sorting_bits(take_eight(key, &mut at)?);
                    match take_flag(key, &mut at)? {
                        true => DecodedCell::Real(real.into()),
                        false => decode_integer(key, &mut at)?,
                    }
                }
                Type::Text { .. }
                | Type::MediumText
                | Type::Bytes { .. }
                | Type::Date
                | Type::Timestamp => self.unescape_text(key, &mut at, column.kind.is_bytes())?,
            };
        }
        Ok(at)
    }

    fn unescape_text(&mut self, key: &[u8], at: &mut usize, is_bytes: bool) -> Result<DecodedCell> {
        let start = self.text.len();
        loop {
            let rest = key.get(*at..).unwrap_or_default();
            let zero = rest.iter().position(|byte| *byte == 0);
            let zero = zero.ok_or_else(|| damaged_error("a text in a key has no end"))?;
            self.text.extend_from_slice(&rest[..zero]);
            *at += zero + 2;
            match rest.get(zero + 1) {
                Some(0) => {
                    return Ok(DecodedCell::Key { start, end: self.text.len(), is_bytes });
                }
                Some(1) => self.text.push(0),
                _ => return Err(damaged_error("a text in a key has no end")),
            }
        }
    }

    /// Decodes the stored columns of a row in order; `stored` may leave out the last ones, `all`
    /// has every stored column. Returns the bytes read.
    pub fn decode_row(
        &mut self,
        columns: &[Column],
        all: &[usize],
        stored: &[usize],
        row: &[u8],
    ) -> Result<usize> {
        let mut at = null_bytes(columns, all);
        let nulls = row.get(..at).ok_or_else(|| damaged_error("a row is cut short"))?;
        let mut bit = 0;
        for &number in stored {
            let column = &columns[number];
            if column.nullable {
                let null = nulls[bit / 8] & (1 << (bit % 8)) != 0;
                bit += 1;
                if null {
                    self.slots[number] = DecodedCell::Null;
                    continue;
                }
            }
            if column.kind.is_fractional() && take_flag(row, &mut at)? {
                let real = f64::from_le_bytes(take_eight(row, &mut at)?);
                self.slots[number] = DecodedCell::Real(real.into());
                continue;
            }
            let varint = take_varint(row, &mut at)?;
            self.slots[number] = if column.kind.is_integer() || column.kind.is_fractional() {
                DecodedCell::Int((varint >> 1) as i64 ^ -((varint & 1) as i64))
            } else {
                let start = at;
                let end = usize::try_from(varint).ok().and_then(|length| start.checked_add(length));
                at = end
                    .filter(|end| *end <= row.len())
                    .ok_or_else(|| damaged_error("a row is cut short"))?;
                DecodedCell::Row { start, end: at, is_bytes: column.kind.is_bytes() }
            };
        }
        Ok(at)
    }

    pub fn get<'a>(&'a self, column: usize, row: &'a [u8]) -> Result<Value<'a>> {
        let (bytes, is_bytes) = match self.slots[column] {
            DecodedCell::Null => return Ok(Value::Null),
            DecodedCell::Int(int) => return Ok(Value::Int(int)),
            DecodedCell::Real(real) => return Ok(Value::Real(real)),
            DecodedCell::Row { start, end, is_bytes } => (&row[start..end], is_bytes),
            DecodedCell::Key { start, end, is_bytes } => (&self.text[start..end], is_bytes),
        };
        if is_bytes {
            return Ok(Value::Bytes(bytes));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| damaged_error("a text is not UTF-8"))?;
        Ok(Value::Text(text))
    }
}
