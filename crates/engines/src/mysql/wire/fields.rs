//! Fields of packets: numbers, texts behind their length, parameters, cells.

use mysql::Value as Cell;
use mysql::consts::ColumnType;
use mysql::{Column, Error as Failure};

use super::{Result, garbled_answer};
use crate::calendar::TimeText;
use crate::{Rows, Value, decimal};

/// A column's type, as the protocol numbers it, and whether its numbers are unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mysql) struct FieldType {
    number: u8,
    unsigned: bool,
}

impl FieldType {
    pub fn from_column(column: &Column) -> Self {
        let unsigned = column.flags().bits() & UNSIGNED != 0;
        Self { number: column.column_type() as u8, unsigned }
    }
}

const UNSIGNED: u16 = 0x0020;

const NULL: u8 = ColumnType::MYSQL_TYPE_NULL as u8;
const INT: u8 = ColumnType::MYSQL_TYPE_LONGLONG as u8;
const TEXT: u8 = ColumnType::MYSQL_TYPE_VAR_STRING as u8;
const BLOB: u8 = ColumnType::MYSQL_TYPE_BLOB as u8;
const REAL: u8 = ColumnType::MYSQL_TYPE_DOUBLE as u8;
const FLOAT: u8 = ColumnType::MYSQL_TYPE_FLOAT as u8;
const DATE: u8 = ColumnType::MYSQL_TYPE_DATE as u8;
const DATETIME: u8 = ColumnType::MYSQL_TYPE_DATETIME as u8;
const TIMESTAMP: u8 = ColumnType::MYSQL_TYPE_TIMESTAMP as u8;

const INTEGERS: [(ColumnType, usize); 6] = [
    (ColumnType::MYSQL_TYPE_LONGLONG, 8),
    (ColumnType::MYSQL_TYPE_LONG, 4),
    (ColumnType::MYSQL_TYPE_INT24, 4),
    (ColumnType::MYSQL_TYPE_SHORT, 2),
    (ColumnType::MYSQL_TYPE_YEAR, 2),
    (ColumnType::MYSQL_TYPE_TINY, 1),
];
const TEXTS: [ColumnType; 9] = [
    ColumnType::MYSQL_TYPE_VAR_STRING,
    ColumnType::MYSQL_TYPE_STRING,
    ColumnType::MYSQL_TYPE_VARCHAR,
    ColumnType::MYSQL_TYPE_BLOB,
    ColumnType::MYSQL_TYPE_TINY_BLOB,
    ColumnType::MYSQL_TYPE_MEDIUM_BLOB,
    ColumnType::MYSQL_TYPE_LONG_BLOB,
    ColumnType::MYSQL_TYPE_NEWDECIMAL,
    ColumnType::MYSQL_TYPE_DECIMAL,
];

const DECIMALS: [ColumnType; 2] =
    [ColumnType::MYSQL_TYPE_NEWDECIMAL, ColumnType::MYSQL_TYPE_DECIMAL];

fn is_one_of(types: &[ColumnType], number: u8) -> bool {
    types.iter().any(|it| *it as u8 == number)
}

/// Whether cells of such a column can be read.
pub(in crate::mysql) fn is_readable(kind: ColumnType) -> bool {
    let number = kind as u8;
    matches!(number, NULL | REAL | FLOAT | DATE | DATETIME | TIMESTAMP)
        || is_one_of(&TEXTS, number)
        || INTEGERS.iter().any(|(it, _)| *it == kind)
}

/// A text or bytes, or the number that stands in a column of decimals.
pub(in crate::mysql) fn read_string(bytes: &[u8], number: u8) -> Option<Value<'_>> {
    match is_one_of(&DECIMALS, number) {
        true => decimal::parse_decimal(std::str::from_utf8(bytes).ok()?),
        false => Some(Value::from_text_or_bytes(bytes)),
    }
}

/// A cell that came as a text.
pub(in crate::mysql) fn push_text_cell(
    kind: FieldType,
    bytes: &[u8],
    rows: &mut Rows,
) -> Result<()> {
    let invalid = || Failure::FromValueError(Cell::Bytes(bytes.into()));
    if is_one_of(&TEXTS, kind.number) {
        rows.push(read_string(bytes, kind.number).ok_or_else(invalid)?);
        return Ok(());
    }
    let text = std::str::from_utf8(bytes).map_err(|_| invalid())?;
    match kind.number {
        REAL | FLOAT => rows.push(Value::from(text.parse::<f64>().map_err(|_| invalid())?)),
        DATE | DATETIME | TIMESTAMP => {
            rows.push(Value::Text(TimeText::from_text(text).ok_or_else(invalid)?.as_str()));
        }
        number if INTEGERS.iter().any(|(it, _)| *it as u8 == number) => {
            rows.push(Value::Int(text.parse().map_err(|_| invalid())?));
        }
        _ => return Err(invalid()),
    }
    Ok(())
}

/// In the place of a text: null.
const NO_TEXT: u8 = 0xfb;

/// Appends parameters: which are null, that their types follow, the types, the values.
pub(super) fn put_parameters(out: &mut Vec<u8>, parameters: &[Value<'_>]) {
    let nulls = out.len();
    out.resize(nulls + parameters.len().div_ceil(8), 0);
    out.push(1);
    for (at, parameter) in parameters.iter().enumerate() {
        let kind = match parameter {
            Value::Null => NULL,
            Value::Int(_) => INT,
            Value::Real(_) => REAL,
            Value::Text(_) => TEXT,
            Value::Bytes(_) => BLOB,
        };
        out[nulls + at / 8] |= u8::from(kind == NULL) << (at % 8);
        out.extend_from_slice(&[kind, 0]);
    }
    for parameter in parameters {
        match parameter {
            Value::Null => {}
            Value::Int(int) => out.extend_from_slice(&int.to_le_bytes()),
            Value::Real(real) => out.extend_from_slice(&real.get().to_le_bytes()),
            Value::Text(text) => put_sized(out, text.as_bytes()),
            Value::Bytes(bytes) => put_sized(out, bytes),
        }
    }
}

fn put_sized(out: &mut Vec<u8>, bytes: &[u8]) {
    put_length(out, bytes.len());
    out.extend_from_slice(bytes);
}

/// One byte, or a byte that says how many follow.
fn put_length(out: &mut Vec<u8>, length: usize) {
    let bytes = length.to_le_bytes();
    match length {
        0..=0xfa => out.push(bytes[0]),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    pub fn take_bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (bytes, rest) = self
            .0
            .split_at_checked(count)
            .ok_or_else(|| garbled_answer("a packet is too short"))?;
        self.0 = rest;
        Ok(bytes)
    }

    fn take_number(&mut self, count: usize) -> Result<u64> {
        let mut number = [0; 8];
        number[..count].copy_from_slice(self.take_bytes(count)?);
        Ok(u64::from_le_bytes(number))
    }

    pub fn short(&mut self) -> Result<u16> {
        Ok(self.take_number(2)? as u16)
    }

    pub fn length(&mut self) -> Result<u64> {
        match self.take_number(1)? {
            0xfc => self.take_number(2),
            0xfd => self.take_number(3),
            0xfe => self.take_number(8),
            0xfb | 0xff => Err(garbled_answer("no length where one should be")),
            short => Ok(short),
        }
    }

    fn take_text(&mut self) -> Result<&'a [u8]> {
        let length = self.length()?;
        self.take_bytes(usize::try_from(length).map_err(|_| garbled_answer("a length"))?)
    }

    /// A column definition: six names; then, behind a length, a character set, the greatest length,
    /// the type and flags.
    pub fn read_column(mut self) -> Result<FieldType> {
        for _ in 0..6 {
            self.take_text()?;
        }
        self.length()?;
        self.take_bytes(2 + 4)?;
        let number = self.take_bytes(1)?[0];
        Ok(FieldType { number, unsigned: self.short()? & UNSIGNED != 0 })
    }

    /// The first `width` cells of a row: a byte, which are null (from the third bit on), the cells.
    pub fn read_row(mut self, columns: &[FieldType], width: usize, rows: &mut Rows) -> Result<()> {
        self.take_bytes(1)?;
        let nulls = self.take_bytes((columns.len() + 2).div_ceil(8))?;
        let is_null = |at: usize| nulls[(at + 2) / 8] >> ((at + 2) % 8) & 1 == 1;
        for at in 0..width {
            let kind = columns.get(at).ok_or_else(|| garbled_answer("a column is missing"))?;
            match is_null(at) {
                true => rows.push(Value::Null),
                false => self.read_cell(*kind, rows)?,
            }
        }
        Ok(())
    }

    /// The first `width` cells of a row in an answer to a text: each is a text, or a byte for null.
    pub fn read_text_row(
        mut self,
        columns: &[FieldType],
        width: usize,
        rows: &mut Rows,
    ) -> Result<()> {
        for at in 0..width {
            let kind = columns.get(at).ok_or_else(|| garbled_answer("a column is missing"))?;
            match self.0.first() {
                Some(&NO_TEXT) => {
                    self.take_bytes(1)?;
                    rows.push(Value::Null);
                }
                _ => push_text_cell(*kind, self.take_text()?, rows)?,
            }
        }
        Ok(())
    }

    fn read_cell(&mut self, kind: FieldType, rows: &mut Rows) -> Result<()> {
        let integer = INTEGERS.iter().find(|(it, _)| *it as u8 == kind.number);
        if let Some((_, size)) = integer {
            rows.push(Value::Int(self.take_integer(*size, kind.unsigned)?));
            return Ok(());
        }
        match kind.number {
            REAL => rows.push(Value::from(f64::from_bits(self.take_number(8)?))),
            FLOAT => {
                let real = f32::from_bits(self.take_number(4)? as u32);
                rows.push(Value::from(decimal::widen_float(real)));
            }
            DATE | DATETIME | TIMESTAMP => {
                rows.push(Value::Text(self.take_time(kind.number != DATE)?.as_str()));
            }
            number if is_one_of(&TEXTS, number) => {
                let bytes = self.take_text()?;
                let invalid = || Failure::FromValueError(Cell::Bytes(bytes.into()));
                rows.push(read_string(bytes, number).ok_or_else(invalid)?);
            }
            _ => return Err(Failure::FromValueError(Cell::NULL)),
        }
        Ok(())
    }

    /// A length, and as much of year, month, day, hour, minute, second and microseconds.
    fn take_time(&mut self, with_time: bool) -> Result<TimeText> {
        let mut parts = Fields(self.take_text()?);
        let mut take = |count: usize| match parts.0.is_empty() {
            true => Ok(0),
            false => parts.take_number(count),
        };
        let date = (take(2)? as u16, take(1)? as u8, take(1)? as u8);
        let time = (take(1)? as u8, take(1)? as u8, take(1)? as u8, take(4)? as u32);
        Ok(TimeText::from_parts(date, with_time.then_some(time)))
    }

    fn take_integer(&mut self, size: usize, unsigned: bool) -> Result<i64> {
        let number = self.take_number(size)?;
        if unsigned {
            return i64::try_from(number).map_err(|_| Failure::FromValueError(Cell::UInt(number)));
        }
        let free = 64 - 8 * size as u32;
        Ok((number << free).cast_signed() >> free)
    }
}
