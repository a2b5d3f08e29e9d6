//! How cells become bytes: keys whose bytes sort as their cells do, and compact rows.
//!
//! A key is its cells one after another. A cell that may be null starts with a byte: 0 for null
//! and nothing more, 1 for a value. An integer is eight bytes, big endian, its sign bit flipped.
//! Text is its bytes with every 0 written as `0 1`, then `0 0`: so a text sorts before all that
//! it is a prefix of, and what follows it can't be taken for a part of it.
//!
//! A row holds the columns that are not in the key: a bit for each nullable column (1: null),
//! then the values that are there. An integer is a zigzag varint, text a length and its bytes.

use crate::schema::{Column, Type};
use crate::{Error, Result, Value};

/// The error for bytes that no row or key of ours can have.
pub fn damaged(what: &str) -> Error {
    Error::engine(format!("damaged data: {what}"))
}

/// Adds a cell to a key, which is to be stored or to be looked for. A value that is too long for its
/// column may be looked for, and is not found.
///
/// # Errors
/// [`Error::Usage`] for a value of another type than the column's.
pub fn push_key(column: &Column, value: Value<'_>, key: &mut Vec<u8>) -> Result<()> {
    check_kind(column, value)?;
    if column.nullable {
        key.push(u8::from(value != Value::Null));
    }
    match value {
        Value::Null => {}
        Value::Int(int) => key.extend_from_slice(&(int ^ i64::MIN).to_be_bytes()),
        Value::Text(text) => {
            let mut parts = text.as_bytes().split(|byte| *byte == 0);
            key.extend_from_slice(parts.next().unwrap_or_default());
            for part in parts {
                key.extend_from_slice(&[0, 1]);
                key.extend_from_slice(part);
            }
            key.extend_from_slice(&[0, 0]);
        }
    }
    Ok(())
}

fn check_kind(column: &Column, value: Value<'_>) -> Result<()> {
    let fits = match value {
        Value::Null => column.nullable,
        Value::Int(_) => column.kind == Type::Int,
        Value::Text(_) => column.kind != Type::Int,
    };
    if fits {
        return Ok(());
    }
    Err(Error::Usage(format!("column {} can't hold {value:?}", column.name)))
}

/// Turns a key into the first one after all that begin with it; empty when there is none.
pub fn successor(key: &mut Vec<u8>) {
    while key.last() == Some(&u8::MAX) {
        key.pop();
    }
    if let Some(last) = key.last_mut() {
        *last += 1;
    }
}

/// Writes a row: the stored columns of a table, in order.
///
/// # Errors
/// [`Error::Usage`] for a value that its column can't hold; whatever `value` returns.
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
        match value {
            Value::Null => row[bit / 8] |= 1 << (bit % 8),
            Value::Int(int) => push_varint(((int << 1) ^ (int >> 63)) as u64, row),
            Value::Text(text) => {
                push_varint(text.len() as u64, row);
                row.extend_from_slice(text.as_bytes());
            }
        }
        bit += usize::from(column.nullable);
    }
    Ok(())
}

/// How many bytes the cells of these columns take at the beginning of a key.
///
/// # Errors
/// Damaged data.
pub fn key_length(columns: &[Column], numbers: &[usize], key: &[u8]) -> Result<usize> {
    let short = || damaged("a key is cut short");
    let mut at = 0;
    for column in numbers.iter().map(|number| &columns[*number]) {
        if column.nullable {
            at += 1;
            if *key.get(at - 1).ok_or_else(short)? == 0 {
                continue;
            }
        }
        at += match column.kind {
            Type::Int => 8,
            Type::Text { .. } | Type::MediumText => {
                let rest = key.get(at..).unwrap_or_default();
                let end = rest.windows(2).position(|pair| pair == [0, 0]);
                2 + end.ok_or_else(|| damaged("a text in a key has no end"))?
            }
        };
    }
    if at > key.len() { Err(short()) } else { Ok(at) }
}

fn null_bytes(columns: &[Column], stored: &[usize]) -> usize {
    stored.iter().filter(|number| columns[**number].nullable).count().div_ceil(8)
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
        let byte = *bytes.get(*at).ok_or_else(|| damaged("a number is cut short"))?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(damaged("a number is too long"))
}

#[derive(Clone, Copy, Debug)]
enum DecodedCell {
    /// Null, or not decoded.
    Null,
    Int(i64),
    /// A text in the row's bytes.
    Row {
        start: usize,
        end: usize,
    },
    /// A text out of a key, unescaped, in [`Cells::text`].
    Key {
        start: usize,
        end: usize,
    },
}

/// The decoded cells of one row, by column number; used again for row after row.
#[derive(Debug, Default)]
pub struct DecodedCells {
    slots: Vec<DecodedCell>,
    text: Vec<u8>,
}

impl DecodedCells {
    /// Forgets all cells; every column of so many is null until it is decoded.
    pub fn reset(&mut self, columns: usize) {
        self.slots.clear();
        self.slots.resize(columns, DecodedCell::Null);
        self.text.clear();
    }

    /// Decodes cells out of a key; returns how many bytes they take.
    ///
    /// # Errors
    /// Damaged data.
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
                let tag = *key.get(at).ok_or_else(|| damaged("a key is cut short"))?;
                at += 1;
                if tag == 0 {
                    self.slots[number] = DecodedCell::Null;
                    continue;
                }
            }
            self.slots[number] = match column.kind {
                Type::Int => {
                    let bytes = key.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
                    at += 8;
                    let bytes = bytes.ok_or_else(|| damaged("a key is cut short"))?;
                    DecodedCell::Int(i64::from_be_bytes(bytes) ^ i64::MIN)
                }
                Type::Text { .. } | Type::MediumText => self.unescape(key, &mut at)?,
            };
        }
        Ok(at)
    }

    fn unescape(&mut self, key: &[u8], at: &mut usize) -> Result<DecodedCell> {
        let start = self.text.len();
        loop {
            let rest = key.get(*at..).unwrap_or_default();
            let zero = rest.iter().position(|byte| *byte == 0);
            let zero = zero.ok_or_else(|| damaged("a text in a key has no end"))?;
            self.text.extend_from_slice(&rest[..zero]);
            *at += zero + 2;
            match rest.get(zero + 1) {
                Some(0) => return Ok(DecodedCell::Key { start, end: self.text.len() }),
                Some(1) => self.text.push(0),
                _ => return Err(damaged("a text in a key has no end")),
            }
        }
    }

    /// Decodes the stored columns of a row, in order; `stored` may stop short of the last ones,
    /// but `all` names every stored column. Returns how many bytes were read.
    ///
    /// # Errors
    /// Damaged data.
    pub fn decode_row(
        &mut self,
        columns: &[Column],
        all: &[usize],
        stored: &[usize],
        row: &[u8],
    ) -> Result<usize> {
        let mut at = null_bytes(columns, all);
        let nulls = row.get(..at).ok_or_else(|| damaged("a row is cut short"))?;
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
            let varint = take_varint(row, &mut at)?;
            self.slots[number] = if column.kind == Type::Int {
                DecodedCell::Int((varint >> 1) as i64 ^ -((varint & 1) as i64))
            } else {
                let start = at;
                let end = usize::try_from(varint).ok().and_then(|length| start.checked_add(length));
                at = end
                    .filter(|end| *end <= row.len())
                    .ok_or_else(|| damaged("a row is cut short"))?;
                DecodedCell::Row { start, end: at }
            };
        }
        Ok(at)
    }

    /// The cell of a column; `row` is the row that was decoded.
    ///
    /// # Errors
    /// Damaged data: a text that is not UTF-8.
    pub fn get<'a>(&'a self, column: usize, row: &'a [u8]) -> Result<Value<'a>> {
        let bytes = match self.slots[column] {
            DecodedCell::Null => return Ok(Value::Null),
            DecodedCell::Int(int) => return Ok(Value::Int(int)),
            DecodedCell::Row { start, end } => &row[start..end],
            DecodedCell::Key { start, end } => &self.text[start..end],
        };
        let text = std::str::from_utf8(bytes).map_err(|_| damaged("a text is not UTF-8"))?;
        Ok(Value::Text(text))
    }
}
