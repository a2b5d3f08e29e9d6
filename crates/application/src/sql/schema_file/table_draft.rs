//! A table while its file is read: columns by name, as they may be declared further below.

use bakeoff_engines::schema::{Column, Table};

use super::{ColumnSource, TableSource};
use crate::SourcePlace;

/// A table and what refers to columns by name.
pub(super) struct TableDraft {
    pub table: Table,
    pub source: TableSource,
    pub key: Option<KeyDraft>,
    pub indexes: Vec<IndexDraft>,
    pub references: Vec<ReferenceDraft>,
    /// The column that the engine numbers.
    pub numbered: Option<usize>,
}

/// `PRIMARY KEY`.
pub(super) struct KeyDraft {
    pub place: SourcePlace,
    pub columns: Vec<String>,
}

/// An index or UNIQUE.
pub(super) struct IndexDraft {
    pub place: SourcePlace,
    pub name: Option<String>,
    pub columns: Vec<String>,
    pub unique: bool,
}

/// `REFERENCES`.
pub(super) struct ReferenceDraft {
    pub place: SourcePlace,
    pub columns: Vec<String>,
    pub parent: String,
    pub parent_columns: Option<Vec<String>>,
}

impl TableDraft {
    pub fn new(name: &str, place: SourcePlace) -> Self {
        Self {
            table: Table::new(name),
            source: TableSource {
                place,
                columns: Vec::new(),
                checks: Vec::new(),
                is_partial: false,
            },
            key: None,
            indexes: Vec::new(),
            references: Vec::new(),
            numbered: None,
        }
    }

    pub fn add_column(&mut self, column: Column, source: ColumnSource) {
        self.table.columns.push(column);
        self.source.columns.push(source);
    }

    pub fn add_index(
        &mut self,
        place: SourcePlace,
        name: Option<String>,
        columns: Vec<String>,
        unique: bool,
    ) {
        self.indexes.push(IndexDraft { place, name, columns, unique });
    }
}
