//! What is wrong with the rows of a source.

use std::fmt;

/// More messages would not be read.
const MOST: usize = 20;

/// A place in a dump: line and column, from 1. The rows of a database have none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowPlace {
    pub line: u64,
    /// In characters.
    pub column: u32,
}

const COLUMN_BITS: u32 = 24;

impl RowPlace {
    /// As one number, in the order of places.
    pub fn pack(self) -> i64 {
        let column = self.column.min((1 << COLUMN_BITS) - 1);
        (self.line << COLUMN_BITS | u64::from(column)).cast_signed()
    }

    pub fn unpack(packed: i64) -> Self {
        let packed = packed.cast_unsigned();
        let column = (packed & ((1 << COLUMN_BITS) - 1)) as u32;
        Self { line: packed >> COLUMN_BITS, column }
    }
}

/// Faults of a source, each at its place; the first of them in words.
#[derive(Debug)]
pub struct RowFaults {
    /// As messages name it.
    source: String,
    lines: Vec<String>,
    more: u64,
}

impl RowFaults {
    pub fn new(source: &str) -> Self {
        Self { source: source.into(), lines: Vec::new(), more: 0 }
    }

    pub fn add(&mut self, place: RowPlace, what: &str) {
        match self.lines.len() < MOST {
            true => self.lines.push(match place.line {
                0 => format!("{}: {what}", self.source),
                line => format!("{}:{line}:{}: {what}", self.source, place.column),
            }),
            false => self.more += 1,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// How many more would still be told.
    pub fn count_room(&self) -> usize {
        MOST + 1 - self.lines.len().min(MOST)
    }
}

impl fmt::Display for RowFaults {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.lines.join("\n"))?;
        match self.more {
            0 => Ok(()),
            _ => write!(formatter, "\nand more; mend these first"),
        }
    }
}
