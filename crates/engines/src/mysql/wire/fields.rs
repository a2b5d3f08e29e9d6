//! What packets are made of: numbers, texts behind their length, parameters, and cells of rows.

use mysql::Value as Cell;
use mysql::consts::ColumnType;
use mysql::{Column, Error as Failure};

use super::{Result, garbled};
use crate::{Rows, Value};

/// The type of a column, as the protocol numbers it, and whether its numbers have no sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FieldType {
    number: u8,
    unsigned: bool,
}

impl FieldType {
    /// Of a column that the library has read.
    pub fn from_column(column: &Column) -> Self {
        let unsigned = column.flags().bits() & UNSIGNED != 0;
        Self { number: column.column_type() as u8, unsigned }
    }
}

/// The bit of a column's flags that says that its numbers have no sign.
const UNSIGNED: u16 = 0x0020;

/// The types of parameters.
const NULL: u8 = ColumnType::MYSQL_TYPE_NULL as u8;
const INT: u8 = ColumnType::MYSQL_TYPE_LONGLONG as u8;
const TEXT: u8 = ColumnType::MYSQL_TYPE_VAR_STRING as u8;

/// The types of integers, and their bytes.
const INTEGERS: [(ColumnType, usize); 6] = [
    (ColumnType::MYSQL_TYPE_LONGLONG, 8),
    (ColumnType::MYSQL_TYPE_LONG, 4),
    (ColumnType::MYSQL_TYPE_INT24, 4),
    (ColumnType::MYSQL_TYPE_SHORT, 2),
    (ColumnType::MYSQL_TYPE_YEAR, 2),
    (ColumnType::MYSQL_TYPE_TINY, 1),
];
/// The types of texts, which have their length before them.
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

/// Appends the parameters of a statement: which are null, that their types follow, the types, the values.
pub(super) fn put(out: &mut Vec<u8>, parameters: &[Value<'_>]) {
    let nulls = out.len();
    out.resize(nulls + parameters.len().div_ceil(8), 0);
    out.push(1);
    for (at, parameter) in parameters.iter().enumerate() {
        let kind = match parameter {
            Value::Null => NULL,
            Value::Int(_) => INT,
            Value::Text(_) => TEXT,
        };
        out[nulls + at / 8] |= u8::from(kind == NULL) << (at % 8);
        out.extend_from_slice(&[kind, 0]);
    }
    for parameter in parameters {
        match parameter {
            Value::Null => {}
            Value::Int(int) => out.extend_from_slice(&int.to_le_bytes()),
            Value::Text(text) => {
                put_length(out, text.len());
                out.extend_from_slice(text.as_bytes());
            }
        }
    }
}

/// Appends a length: one byte, or a byte that says how many follow.
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

/// What is left of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (bytes, rest) =
            self.0.split_at_checked(count).ok_or_else(|| garbled("a packet is too short"))?;
        self.0 = rest;
        Ok(bytes)
    }

    /// A number of so many bytes, at most eight.
    fn number(&mut self, count: usize) -> Result<u64> {
        let mut number = [0; 8];
        number[..count].copy_from_slice(self.bytes(count)?);
        Ok(u64::from_le_bytes(number))
    }

    pub fn short(&mut self) -> Result<u16> {
        Ok(self.number(2)? as u16)
    }

    /// A number of its own length.
    pub fn length(&mut self) -> Result<u64> {
        match self.number(1)? {
            0xfc => self.number(2),
            0xfd => self.number(3),
            0xfe => self.number(8),
            0xfb | 0xff => Err(garbled("no length where one should be")),
            short => Ok(short),
        }
    }

    /// Bytes behind their length.
    fn text(&mut self) -> Result<&'a [u8]> {
        let length = self.length()?;
        self.bytes(usize::try_from(length).map_err(|_| garbled("a length"))?)
    }

    /// The definition of a column: six names; then, behind a length, a character set, the greatest length, the
    /// type and flags.
    pub fn column(mut self) -> Result<FieldType> {
        for _ in 0..6 {
            self.text()?;
        }
        self.length()?;
        self.bytes(2 + 4)?;
        let number = self.bytes(1)?[0];
        Ok(FieldType { number, unsigned: self.short()? & UNSIGNED != 0 })
    }

    /// The first `width` cells of a row: a byte, which are null (from the third bit on), the cells.
    pub fn row(mut self, columns: &[FieldType], width: usize, rows: &mut Rows) -> Result<()> {
        self.bytes(1)?;
        let nulls = self.bytes((columns.len() + 2).div_ceil(8))?;
        let is_null = |at: usize| nulls[(at + 2) / 8] >> ((at + 2) % 8) & 1 == 1;
        for at in 0..width {
            let kind = columns.get(at).ok_or_else(|| garbled("a column is missing"))?;
            rows.push(if is_null(at) { Value::Null } else { self.cell(*kind)? });
        }
        Ok(())
    }

    fn cell(&mut self, kind: FieldType) -> Result<Value<'a>> {
        let integer = INTEGERS.iter().find(|(it, _)| *it as u8 == kind.number);
        if let Some((_, size)) = integer {
            return self.integer(*size, kind.unsigned).map(Value::Int);
        }
        if !TEXTS.iter().any(|it| *it as u8 == kind.number) {
            // Of no statement of ours.
            return Err(Failure::FromValueError(Cell::NULL));
        }
        let bytes = self.text()?;
        let invalid = |_| Failure::FromValueError(Cell::Bytes(bytes.into()));
        std::str::from_utf8(bytes).map(Value::Text).map_err(invalid)
    }

    fn integer(&mut self, size: usize, unsigned: bool) -> Result<i64> {
        let number = self.number(size)?;
        if unsigned {
            return i64::try_from(number).map_err(|_| Failure::FromValueError(Cell::UInt(number)));
        }
        let free = 64 - 8 * size as u32;
        Ok((number << free).cast_signed() >> free)
    }
}
