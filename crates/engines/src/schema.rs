//! Tables, columns and indexes, as a workload declares them.

use std::borrow::Cow;

use crate::{Error, RealValue, Result, Value, calendar, decimal};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A signed 64-bit integer.
    Int,
    /// Text of at most `most` characters; up to [`Type::MOST_INDEXED`] it may be part of a key or
    /// an index. Without U+0000: PostgreSQL can't store it.
    Text {
        /// At least one.
        most: u32,
    },
    /// Text of at most [`Type::MEDIUM_BYTES`], without U+0000; never part of a key or an index.
    MediumText,
    /// Bytes of any kind; up to [`Type::MOST_INDEXED`] they may be part of an index.
    Bytes {
        /// At least one, at most [`Type::MEDIUM_BYTES`].
        most: u32,
    },
    /// A finite double; never part of a key or an index. A number without a fraction travels as an
    /// integer.
    Real,
    /// A number of at most `digits` digits, `scale` of them after the point; never part of a key or
    /// an index. It travels as an integer or a double, and is rounded to its scale when it is
    /// stored. SQLite and key-value engines store a double, which has 15 digits.
    Decimal {
        /// At least one, at most [`Type::MOST_DIGITS`].
        digits: u8,
        /// At most `digits`.
        scale: u8,
    },
    /// 0 or 1, as integers.
    Bool,
    /// A day of the years 1 to 9999, as the text `YYYY-MM-DD`.
    Date,
    /// A day and a time without a zone, to the microsecond, as the text
    /// `YYYY-MM-DD HH:MM:SS.ffffff`.
    Timestamp,
}

impl Type {
    /// 255 characters: what applications make a name or a title.
    pub const STRING: Self = Self::Text { most: 255 };

    /// Bytes of any length that engines take.
    pub const MEDIUM_BLOB: Self = Self::Bytes { most: Self::MEDIUM_BYTES as u32 };

    /// Characters of the longest text in a key or an index, and bytes of the longest bytes.
    pub const MOST_INDEXED: u32 = 255;

    /// Bytes of the longest [`Type::MediumText`] and [`Type::Bytes`].
    pub const MEDIUM_BYTES: usize = (1 << 24) - 1;

    /// Bytes of the longest [`Type::Bytes`] that MariaDB keeps within the row.
    pub const MOST_INLINE_BYTES: u32 = MOST_ROW_BYTES as u32;

    /// Digits of the longest [`Type::Decimal`].
    pub const MOST_DIGITS: u8 = 38;

    /// Whether it is too long for a key or an index.
    pub fn is_long(self) -> bool {
        match self {
            Self::Text { most } | Self::Bytes { most } => most > Self::MOST_INDEXED,
            Self::MediumText => true,
            _ => false,
        }
    }

    /// Whether it travels as an integer.
    pub fn is_integer(self) -> bool {
        matches!(self, Self::Int | Self::Bool)
    }

    /// Whether it holds bytes that need not be text.
    pub fn is_bytes(self) -> bool {
        matches!(self, Self::Bytes { .. })
    }

    /// Whether it holds fractions.
    pub fn is_fractional(self) -> bool {
        matches!(self, Self::Real | Self::Decimal { .. })
    }

    /// The value as a column of this type holds it: a decimal is rounded to its scale.
    pub fn round_value(self, value: Value<'_>) -> Value<'_> {
        match self {
            Self::Decimal { scale, .. } => decimal::round_to_scale(value, scale),
            Self::Real => value.normalise_number(),
            _ => value,
        }
    }
}

/// Bytes of a row's texts and bytes together, at four a character, without those that are stored apart: InnoDB,
/// MyRocks and Aria have room for 65,535, and need a few of them for lengths and numbers.
const MOST_ROW_BYTES: u64 = 64_000;

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Unique in its table.
    pub name: String,
    /// The type.
    pub kind: Type,
    /// Whether it may be null.
    pub nullable: bool,
}

impl Column {
    /// Checks that it can hold a value.
    pub fn fits(&self, value: Value<'_>) -> Result<()> {
        let Some(why) = self.explain_misfit(value) else { return Ok(()) };
        Err(Error::Usage(format!("column {} {why}", self.name)))
    }

    fn explain_misfit(&self, value: Value<'_>) -> Option<String> {
        match (self.kind, value) {
            (_, Value::Null) => (!self.nullable).then(|| "can't hold null".into()),
            (Type::Int, Value::Int(_)) => None,
            (Type::Int, Value::Text(_)) => Some("holds integers, no text".into()),
            (Type::Int, other) => Some(format!("holds integers, not {}", in_words(other))),
            (Type::Bool, Value::Int(0 | 1)) => None,
            (Type::Bool, other) => Some(format!("holds 0 or 1, not {}", in_words(other))),
            (Type::Real | Type::Decimal { .. }, Value::Text(_)) => {
                Some("holds numbers, no text".into())
            }
            (Type::Real | Type::Decimal { .. }, Value::Bytes(_)) => {
                Some("holds numbers, no bytes".into())
            }
            (Type::Real, Value::Int(int)) => explain_inexact(int),
            (Type::Real, Value::Real(real)) => explain_infinite(real),
            (Type::Decimal { digits, scale }, number) => {
                explain_overflow(self.kind.round_value(number), digits, scale)
            }
            (Type::Text { .. } | Type::MediumText, Value::Int(int)) => {
                Some(format!("holds text, no integer as {int}"))
            }
            (Type::Text { .. } | Type::MediumText, Value::Real(real)) => {
                Some(format!("holds text, no number as {}", real.get()))
            }
            (Type::Text { .. } | Type::MediumText, Value::Bytes(_)) => {
                Some("holds text, no bytes".into())
            }
            (Type::Text { most }, Value::Text(text)) => explain_length(text, most),
            (Type::MediumText, Value::Text(text)) => {
                let (bytes, most) = (text.len(), Type::MEDIUM_BYTES);
                (bytes > most).then(|| format!("holds at most {most} bytes of text, not {bytes}"))
            }
            (Type::Bytes { most }, Value::Bytes(bytes)) => {
                let length = bytes.len();
                (length > most as usize)
                    .then(|| format!("holds at most {most} bytes, not {length}"))
            }
            (Type::Bytes { .. }, other) => Some(format!("holds bytes, not {}", in_words(other))),
            (Type::Date, Value::Text(text)) if calendar::parse_date(text).is_some() => None,
            (Type::Date, other) => {
                Some(format!("holds days as 2024-02-29, not {}", in_words(other)))
            }
            (Type::Timestamp, Value::Text(text)) if calendar::parse_timestamp(text).is_some() => {
                None
            }
            (Type::Timestamp, other) => {
                let what = in_words(other);
                Some(format!("holds times as 2024-02-29 23:59:59.000000, not {what}"))
            }
        }
    }
}

fn in_words(value: Value<'_>) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Int(int) => int.to_string(),
        Value::Real(real) => real.get().to_string(),
        Value::Text(text) => format!("`{}`", text.chars().take(40).collect::<String>()),
        Value::Bytes(bytes) => format!("{} bytes", bytes.len()),
    }
}

/// A character has at least one byte, and most texts are far shorter.
fn explain_length(text: &str, most: u32) -> Option<String> {
    let long = text.len() > most as usize;
    let characters = if long { text.chars().count() } else { 0 };
    let why = || format!("holds at most {most} characters, not {characters}");
    (characters > most as usize).then(why)
}

fn explain_inexact(int: i64) -> Option<String> {
    let inexact = int as f64 as i128 != i128::from(int);
    inexact.then(|| format!("holds doubles, and none is {int}"))
}

fn explain_infinite(real: RealValue) -> Option<String> {
    (!real.get().is_finite()).then(|| format!("holds finite numbers, not {}", real.get()))
}

fn explain_overflow(number: Value<'_>, digits: u8, scale: u8) -> Option<String> {
    let before = u32::from(digits.saturating_sub(scale));
    let fits = match number {
        Value::Int(int) => u128::from(int.unsigned_abs()) < 10_u128.pow(before),
        Value::Real(real) => real.get().abs() < 10_f64.powi(before.cast_signed()),
        Value::Null | Value::Text(_) | Value::Bytes(_) => false,
    };
    let what = || format!("holds {before} digits before the point, not {}", in_words(number));
    (!fits).then(what)
}

/// A secondary index: rows by some columns, then by the table's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Unique in the schema.
    pub name: String,
    /// Column numbers in the table.
    pub columns: Vec<usize>,
    /// Whether no two rows may agree in all columns; rows with a null in one of them may.
    pub unique: bool,
}

/// A table: its columns, its primary key and its secondary indexes.
///
/// ```
/// use bakeoff_engines::schema::{Table, Type};
/// let issues = Table::new("issues")
///     .generated_key("id")
///     .column("project_id", Type::Int)
///     .nullable("assigned_to_id", Type::Int)
///     .index(&["assigned_to_id"]);
/// assert_eq!(issues.column_number("assigned_to_id"), 2);
/// assert_eq!(issues.indexes[0].name, "issues_assigned_to_id");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Unique in the schema.
    pub name: String,
    /// In order; statements name them by number.
    pub columns: Vec<Column>,
    /// The columns of the primary key, in order; none is nullable.
    pub key: Vec<usize>,
    /// Whether the engine numbers new rows: the key is one integer column, an insert gives null for
    /// it, and numbers grow. A number is never given out twice, even after its row is deleted and
    /// the database reopened.
    pub generated: bool,
    /// The secondary indexes.
    pub indexes: Vec<Index>,
}

impl Table {
    /// A table without columns.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            columns: Vec::new(),
            key: Vec::new(),
            generated: false,
            indexes: Vec::new(),
        }
    }

    /// Adds an integer column that is the whole key and that the engine numbers.
    pub fn generated_key(mut self, name: &str) -> Self {
        self.generated = true;
        self.key_column(name, Type::Int)
    }

    /// Adds a column that is the next part of the key.
    pub fn key_column(mut self, name: &str, kind: Type) -> Self {
        self.key.push(self.columns.len());
        self.column(name, kind)
    }

    /// Adds a column that is never null.
    pub fn column(mut self, name: &str, kind: Type) -> Self {
        self.columns.push(Column { name: name.into(), kind, nullable: false });
        self
    }

    /// Adds a column that may be null.
    pub fn nullable(mut self, name: &str, kind: Type) -> Self {
        self.columns.push(Column { name: name.into(), kind, nullable: true });
        self
    }

    /// Adds an index, named after its table and columns.
    pub fn index(self, columns: &[&str]) -> Self {
        self.add_index(columns, false)
    }

    /// Adds a unique index.
    pub fn unique(self, columns: &[&str]) -> Self {
        self.add_index(columns, true)
    }

    fn add_index(mut self, columns: &[&str], unique: bool) -> Self {
        let name = format!("{}_{}", self.name, columns.join("_"));
        let columns = columns.iter().map(|column| self.column_number(column)).collect();
        self.indexes.push(Index { name, columns, unique });
        self
    }

    /// Checks a whole row, its key too.
    pub fn fits(&self, row: &[Value<'_>]) -> Result<()> {
        let (given, wanted) = (row.len(), self.columns.len());
        if given != wanted {
            return Err(Error::Usage(format!("{given} values for a row of {wanted} columns")));
        }
        self.columns.iter().zip(row).try_for_each(|(column, value)| column.fits(*value))
    }

    /// A whole row as its columns hold it, for an engine that doesn't round decimals by itself.
    pub(crate) fn round_row<'r, 'v>(&self, row: &'r [Value<'v>]) -> Cow<'r, [Value<'v>]> {
        if !self.columns.iter().any(|column| column.kind.is_fractional()) {
            return row.into();
        }
        let round = |(column, value): (&Column, &Value<'v>)| column.kind.round_value(*value);
        self.columns.iter().zip(row).map(round).collect()
    }

    fn text_bytes(&self) -> u64 {
        let bytes = |column: &Column| match column.kind {
            Type::Text { most } => 4 * u64::from(most),
            Type::Bytes { most } if most <= Type::MOST_INLINE_BYTES => most.into(),
            _ => 0,
        };
        self.columns.iter().map(bytes).sum()
    }

    /// The number of a column, from 0.
    pub fn column_number(&self, name: &str) -> usize {
        let found = self.columns.iter().position(|column| column.name == name);
        found.unwrap_or_else(|| panic!("table {} has no column {name}", self.name))
    }

    /// The number of the index over exactly these columns, from 0.
    pub fn index_number(&self, columns: &[&str]) -> usize {
        let wanted: Vec<usize> = columns.iter().map(|column| self.column_number(column)).collect();
        let found = self.indexes.iter().position(|index| index.columns == wanted);
        found.unwrap_or_else(|| panic!("table {} has no index on {columns:?}", self.name))
    }
}

/// All tables of a workload; statements name them by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// The tables.
    pub tables: Vec<Table>,
}

impl Schema {
    /// The number of a table, from 0.
    pub fn table_number(&self, name: &str) -> usize {
        let found = self.tables.iter().position(|table| table.name == name);
        found.unwrap_or_else(|| panic!("the schema has no table {name}"))
    }

    /// The table of that name.
    pub fn table(&self, name: &str) -> &Table {
        &self.tables[self.table_number(name)]
    }

    /// Checks what every engine may take for granted.
    pub fn validate(&self) -> Result<()> {
        for table in &self.tables {
            let fault = |what: &str| Err(Error::Usage(format!("table {}: {what}", table.name)));
            let kind = |column: &usize| table.columns[*column].kind;
            if table.key.is_empty() {
                return fault("has no key");
            }
            if table.key.iter().any(|column| table.columns[*column].nullable) {
                return fault("has a nullable key");
            }
            let indexed = table.indexes.iter().flat_map(|index| &index.columns);
            if table.key.iter().chain(indexed).any(|column| kind(column).is_long()) {
                return fault("has a text or bytes longer than 255 in a key or an index");
            }
            let indexed = table.indexes.iter().flat_map(|index| &index.columns);
            if table.key.iter().chain(indexed).any(|column| kind(column).is_fractional()) {
                return fault("has a number with a fraction in a key or an index");
            }
            if table.columns.iter().any(|column| !is_decimal_valid(column.kind)) {
                return fault(
                    "has a decimal of no digits, of more than 38, or of more after the point than in all",
                );
            }
            if table.columns.iter().any(|column| column.kind == Type::Text { most: 0 }) {
                return fault("has a text of at most 0 characters");
            }
            if table.columns.iter().any(|column| !is_bytes_valid(column.kind)) {
                return fault("has bytes of at most 0, or of more than 16,777,215");
            }
            if table.text_bytes() > MOST_ROW_BYTES {
                return fault(
                    "has texts that may be longer than 16,000 characters together: make the longest \
                     of them a MediumText",
                );
            }
            if table.generated && (table.key.len() != 1 || kind(&table.key[0]) != Type::Int) {
                return fault("can't number its rows: the key is not one integer");
            }
        }
        Ok(())
    }
}

fn is_bytes_valid(kind: Type) -> bool {
    let Type::Bytes { most } = kind else { return true };
    (1..=Type::MEDIUM_BYTES).contains(&(most as usize))
}

fn is_decimal_valid(kind: Type) -> bool {
    match kind {
        Type::Decimal { digits, scale } => {
            (1..=Type::MOST_DIGITS).contains(&digits) && scale <= digits
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(answer: Result<()>) -> String {
        match answer {
            Err(Error::Usage(words)) => words,
            other => panic!("{other:?}"),
        }
    }

    fn with(kind: Type) -> Table {
        Table::new("notes").key_column("id", Type::Int).column("text", kind)
    }

    fn validated(table: Table) -> Result<()> {
        Schema { tables: vec![table] }.validate()
    }

    #[test]
    fn characters_are_counted_and_not_bytes() {
        let column = &with(Type::Text { most: 3 }).columns[1];
        for fits in ["", "abc", "日本語", "\u{10ffff}\u{10ffff}\u{10ffff}"] {
            column.fits(fits.into()).unwrap();
        }
        for (long, count) in [("abcd", 4), ("日本語é", 4), ("aaaaaaaaaaaaa", 13)] {
            let said = words(column.fits(long.into()));
            assert_eq!(said, format!("column text holds at most 3 characters, not {count}"));
        }
    }

    #[test]
    fn a_medium_text_has_bytes() {
        let column = &with(Type::MediumText).columns[1];
        let mut text = "é".repeat(Type::MEDIUM_BYTES / 2);
        column.fits((&*text).into()).unwrap();
        text.push('é');
        let said = words(column.fits((&*text).into()));
        assert_eq!(said, "column text holds at most 16777215 bytes of text, not 16777216");
    }

    #[test]
    fn a_row_that_does_not_fit_is_told_by_its_column() {
        let table = with(Type::STRING);
        table.fits(&[1.into(), "".into()]).unwrap();
        let said = |row: &[Value<'_>]| words(table.fits(row));
        assert_eq!(said(&[1.into()]), "1 values for a row of 2 columns");
        assert_eq!(said(&["1".into(), "".into()]), "column id holds integers, no text");
        assert_eq!(said(&[1.into(), 2.into()]), "column text holds text, no integer as 2");
        assert_eq!(said(&[1.into(), Value::Null]), "column text can't hold null");
    }

    #[test]
    fn a_text_is_indexed_up_to_255_characters() {
        for (kind, may) in [
            (Type::Text { most: 255 }, true),
            (Type::Text { most: 256 }, false),
            (Type::MediumText, false),
        ] {
            assert_eq!(validated(with(kind).index(&["text"])).is_ok(), may, "{kind:?}");
            let keyed = Table::new("notes").key_column("text", kind);
            assert_eq!(validated(keyed).is_ok(), may, "{kind:?}");
            validated(with(kind)).unwrap();
        }
    }

    #[test]
    fn texts_that_no_row_has_room_for_are_refused() {
        validated(with(Type::Text { most: 16_000 })).unwrap();
        let two = with(Type::Text { most: 15_745 }).column("title", Type::STRING);
        validated(two.clone().column("words", Type::MediumText)).unwrap();
        let said = words(validated(two.column("more", Type::Text { most: 1 })));
        assert!(said.starts_with("table notes: has texts that may be longer"), "{said}");
        assert!(validated(with(Type::Text { most: 0 })).is_err());
    }

    #[test]
    fn a_column_takes_what_its_type_has() {
        let decimal = Type::Decimal { digits: 10, scale: 2 };
        let real = |real: f64| Value::from(real);
        let exact = 1 << 53;
        for (kind, fits, misfits) in [
            (Type::Int, vec![i64::MAX.into()], vec![real(1.5), "1".into()]),
            (
                Type::Real,
                vec![real(1e308), real(-0.0), real(0.1), Value::Int(exact), Value::Int(i64::MIN)],
                vec![Value::Int(exact + 1), Value::Int(i64::MAX), real(f64::NAN), "1".into()],
            ),
            (
                decimal,
                vec![real(99_999_999.99), real(-0.001), Value::Int(-99_999_999)],
                vec![Value::Int(100_000_000), real(99_999_999.995), real(f64::NAN), "1".into()],
            ),
            (Type::Bool, vec![0.into(), 1.into()], vec![2.into(), "true".into(), real(0.5)]),
            (Type::Date, vec!["0001-01-01".into()], vec!["2023-02-29".into(), 1.into()]),
            (
                Type::Timestamp,
                vec!["9999-12-31 23:59:59.999999".into()],
                vec!["2024-01-01 00:00:00".into(), "2024-01-01".into(), 1.into()],
            ),
        ] {
            let column = &with(kind).columns[1];
            fits.into_iter().for_each(|value| column.fits(value).expect("it fits"));
            for value in misfits.into_iter().chain([Value::Null]) {
                assert!(column.fits(value).is_err(), "{kind:?} {value:?}");
            }
        }
    }

    #[test]
    fn keys_and_indexes_have_no_fractions() {
        for kind in [Type::Bool, Type::Date, Type::Timestamp] {
            validated(with(kind).index(&["text"])).expect("an index");
        }
        for kind in [Type::Real, Type::Decimal { digits: 10, scale: 2 }] {
            validated(with(kind)).expect("a column");
            let said = words(validated(with(kind).index(&["text"])));
            assert_eq!(said, "table notes: has a number with a fraction in a key or an index");
        }
        for (digits, scale) in [(0, 0), (39, 2), (2, 3)] {
            let said = words(validated(with(Type::Decimal { digits, scale })));
            assert!(said.starts_with("table notes: has a decimal"), "{said}");
        }
    }
}
