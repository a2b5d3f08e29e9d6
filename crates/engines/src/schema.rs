//! Tables, columns and indexes, as a workload declares them.

use crate::{Error, Result};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A signed 64-bit integer.
    Int,
    /// Text of at most 255 characters; may be part of a key or an index. U+0000 is none of them:
    /// PostgreSQL can't store it.
    Text,
    /// Text of any length, again without U+0000; never part of a key or an index.
    LongText,
}

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
    /// [`Error::Usage`] for a table without a key, a nullable key, a long text in a key or an
    /// index, or a generated key that is not one integer.
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
            if table.key.iter().chain(indexed).any(|column| kind(column) == Type::LongText) {
                return fault("has a long text in a key or an index");
            }
            if table.generated && (table.key.len() != 1 || kind(&table.key[0]) != Type::Int) {
                return fault("can't number its rows: the key is not one integer");
            }
        }
        Ok(())
    }
}
