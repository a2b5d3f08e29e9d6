//! Tables, columns and indexes, as a workload declares them.

use crate::{Error, Result, Value};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A signed 64-bit integer.
    Int,
    /// Text of at most so many characters; up to [`Type::MOST_INDEXED`] of them, it may be part of a
    /// key or an index. U+0000 is none of them: PostgreSQL can't store it.
    Text {
        /// How many characters; at least one.
        most: u32,
    },
    /// Text of at most [`Type::MEDIUM_BYTES`], again without U+0000; never part of a key or an index.
    MediumText,
}

impl Type {
    /// Text of at most 255 characters: what applications make a name or a title.
    pub const STRING: Self = Self::Text { most: 255 };

    /// Characters of the longest text that may be part of a key or an index.
    pub const MOST_INDEXED: u32 = 255;

    /// Bytes of the longest [`Type::MediumText`].
    pub const MEDIUM_BYTES: usize = (1 << 24) - 1;

    /// Whether its texts may be longer than what is part of a key or an index.
    pub fn is_long(self) -> bool {
        match self {
            Self::Int => false,
            Self::Text { most } => most > Self::MOST_INDEXED,
            Self::MediumText => true,
        }
    }
}

/// Bytes that the texts of a row may have together, at four a character, its [`Type::MediumText`]s
/// left out: InnoDB, MyRocks and Aria have room for 65,535, and need a few of them for lengths and
/// numbers.
const MOST_ROW_BYTES: u64 = 64_000;

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, unique in its table.
    pub name: String,
    /// What it holds.
    pub kind: Type,
    /// Whether it may hold nothing.
    pub nullable: bool,
}

impl Column {
    /// Checks that it can hold a value.
    ///
    /// # Errors
    /// [`Error::Usage`] with the column and what it holds.
    pub fn fits(&self, value: Value<'_>) -> Result<()> {
        let Some(why) = self.misfit(value) else { return Ok(()) };
        Err(Error::Usage(format!("column {} {why}", self.name)))
    }

    fn misfit(&self, value: Value<'_>) -> Option<String> {
        match (self.kind, value) {
            (_, Value::Null) => (!self.nullable).then(|| "can't hold null".into()),
            (Type::Int, Value::Int(_)) => None,
            (Type::Int, Value::Text(_)) => Some("holds integers, no text".into()),
            (Type::Text { .. } | Type::MediumText, Value::Int(int)) => {
                Some(format!("holds text, no integer as {int}"))
            }
            (Type::Text { most }, Value::Text(text)) => {
                // A character has at least a byte, and most texts are far shorter.
                let long = text.len() > most as usize;
                let characters = if long { text.chars().count() } else { 0 };
                let why = || format!("holds at most {most} characters, not {characters}");
                (characters > most as usize).then(why)
            }
            (Type::MediumText, Value::Text(text)) => {
                let (bytes, most) = (text.len(), Type::MEDIUM_BYTES);
                (bytes > most).then(|| format!("holds at most {most} bytes of text, not {bytes}"))
            }
        }
    }
}

/// A secondary index: rows in the order of some columns, and by the table's key among equals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// Its name, unique in the schema.
    pub name: String,
    /// The columns, by their number in the table.
    pub columns: Vec<usize>,
    /// Whether two rows may not agree in all columns; rows with a null in one of them may.
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
    /// Its name, unique in the schema.
    pub name: String,
    /// Its columns, in order; statements name them by their number.
    pub columns: Vec<Column>,
    /// The columns of the primary key, in order; none of them nullable.
    pub key: Vec<usize>,
    /// Whether the engine numbers new rows itself: the key is one integer column, an insert
    /// gives null for it, and numbers grow: one that was given out is never given out again, even
    /// after its row is deleted and the database reopened.
    pub generated: bool,
    /// The secondary indexes.
    pub indexes: Vec<Index>,
}

impl Table {
    /// A table without columns yet.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.into(),
            columns: Vec::new(),
            key: Vec::new(),
            generated: false,
            indexes: Vec::new(),
        }
    }

    /// Adds an integer column that is the whole primary key and that the engine numbers.
    pub fn generated_key(mut self, name: &str) -> Self {
        self.generated = true;
        self.key_column(name, Type::Int)
    }

    /// Adds a column that is the next part of the primary key.
    pub fn key_column(mut self, name: &str, kind: Type) -> Self {
        self.key.push(self.columns.len());
        self.column(name, kind)
    }

    /// Adds a column that always holds something.
    pub fn column(mut self, name: &str, kind: Type) -> Self {
        self.columns.push(Column { name: name.into(), kind, nullable: false });
        self
    }

    /// Adds a column that may hold nothing.
    pub fn nullable(mut self, name: &str, kind: Type) -> Self {
        self.columns.push(Column { name: name.into(), kind, nullable: true });
        self
    }

    /// Adds an index, named after its table and columns.
    ///
    /// # Panics
    /// When a column is unknown.
    pub fn index(self, columns: &[&str]) -> Self {
        self.add_index(columns, false)
    }

    /// Adds an index whose columns no two rows share.
    ///
    /// # Panics
    /// When a column is unknown.
    pub fn unique(self, columns: &[&str]) -> Self {
        self.add_index(columns, true)
    }

    fn add_index(mut self, columns: &[&str], unique: bool) -> Self {
        let name = format!("{}_{}", self.name, columns.join("_"));
        let columns = columns.iter().map(|column| self.column_number(column)).collect();
        self.indexes.push(Index { name, columns, unique });
        self
    }

    /// Checks that a whole row fits, its key too.
    ///
    /// # Errors
    /// [`Error::Usage`] for a value that its column can't hold, or another number of values.
    pub fn fits(&self, row: &[Value<'_>]) -> Result<()> {
        let (given, wanted) = (row.len(), self.columns.len());
        if given != wanted {
            return Err(Error::Usage(format!("{given} values for a row of {wanted} columns")));
        }
        self.columns.iter().zip(row).try_for_each(|(column, value)| column.fits(*value))
    }

    /// Bytes that its texts may have in a row, at four a character, but for the longest kind.
    fn text_bytes(&self) -> u64 {
        let bytes = |column: &Column| match column.kind {
            Type::Text { most } => 4 * u64::from(most),
            Type::Int | Type::MediumText => 0,
        };
        self.columns.iter().map(bytes).sum()
    }

    /// The number of a column, from 0.
    ///
    /// # Panics
    /// When there is no column of that name: schemas are written, not read from users.
    pub fn column_number(&self, name: &str) -> usize {
        let found = self.columns.iter().position(|column| column.name == name);
        found.unwrap_or_else(|| panic!("table {} has no column {name}", self.name))
    }

    /// The number of the index over exactly these columns, from 0.
    ///
    /// # Panics
    /// When there is none.
    pub fn index_number(&self, columns: &[&str]) -> usize {
        let wanted: Vec<usize> = columns.iter().map(|column| self.column_number(column)).collect();
        let found = self.indexes.iter().position(|index| index.columns == wanted);
        found.unwrap_or_else(|| panic!("table {} has no index on {columns:?}", self.name))
    }
}

/// All tables of a workload; statements name them by their number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// The tables.
    pub tables: Vec<Table>,
}

impl Schema {
    /// The number of a table, from 0.
    ///
    /// # Panics
    /// When there is no table of that name.
    pub fn table_number(&self, name: &str) -> usize {
        let found = self.tables.iter().position(|table| table.name == name);
        found.unwrap_or_else(|| panic!("the schema has no table {name}"))
    }

    /// The table of that name.
    ///
    /// # Panics
    /// When there is none.
    pub fn table(&self, name: &str) -> &Table {
        &self.tables[self.table_number(name)]
    }

    /// Checks what every engine may take for granted.
    ///
    /// # Errors
    /// [`Error::Usage`] for a table without a key, a nullable key, a text longer than
    /// [`Type::MOST_INDEXED`] in a key or an index, a text of no characters, texts that are too long
    /// together for a row, or a generated key that is not one integer.
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
                return fault("has a text of more than 255 characters in a key or an index");
            }
            if table.columns.iter().any(|column| column.kind == Type::Text { most: 0 }) {
                return fault("has a text of at most 0 characters");
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
}
