//! What an application wants of a source: its tables, and their columns without a generator.

use std::path::Path;

use bakeoff_engines::reader::is_url;
use bakeoff_engines::schema::Table;

use super::CopiedRows;
use super::database::copy_from_database;
use super::dump::copy_from_dump;
use crate::configuration::Configuration;
use crate::rows::find_generators;
use crate::sql::SqlSchema;
use crate::{ApplicationFiles, Mistakes, files};

/// What to copy.
#[derive(Debug)]
pub struct CopyRequest {
    pub(super) name: String,
    pub(super) schema: SqlSchema,
    /// One a table of the schema.
    pub(super) tables: Vec<RequestedTable>,
}

/// A table that is to be copied.
#[derive(Debug)]
pub(super) struct RequestedTable {
    /// The numbers of the columns that have no generator.
    pub columns: Vec<usize>,
    /// Whether [rows] says how many rows it has, if the source lacks it.
    pub is_counted: bool,
}

impl CopyRequest {
    /// What an application's tables need. Its rows need no generators.
    ///
    /// # Errors
    ///
    /// The mistakes of `schema.sql` and `workload.toml`.
    pub fn from_files(files: &ApplicationFiles) -> Result<Self, Mistakes> {
        let mut mistakes = Mistakes::default();
        let text = |name: &str| files.texts.get(name).map_or("", String::as_str);
        let place = files.place_of(files::SCHEMA);
        let schema = SqlSchema::from_text(text(files::SCHEMA), &place, &mut mistakes);
        let place = files.place_of(files::CONFIGURATION);
        let configuration = Configuration::read(text(files::CONFIGURATION), &place, &mut mistakes);
        let written = find_generators(&schema, &configuration, &mut mistakes);
        if schema.schema.tables.is_empty() {
            let what = "has no table: rows are copied into the tables of schema.sql";
            mistakes.add(files.place_of(files::SCHEMA), what);
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let is_made = |table: usize, column: usize| {
            written.iter().any(|it| (it.table, it.column) == (table, column))
        };
        let request = |(number, table): (usize, &Table)| RequestedTable {
            columns: (0..table.columns.len()).filter(|column| !is_made(number, *column)).collect(),
            is_counted: configuration
                .rows
                .iter()
                .any(|(name, _)| *name == table.name.to_lowercase()),
        };
        let tables = schema.schema.tables.iter().enumerate().map(request).collect();
        Ok(Self { name: files.name.clone(), schema, tables })
    }

    /// Copies the rows of a source into a rows file of `folder`. What will be read is told first.
    ///
    /// # Errors
    ///
    /// All that is wrong with the source or its rows, in words without a password.
    pub fn copy_rows(
        &self,
        source: &str,
        folder: &Path,
        tell: &mut dyn FnMut(&str),
    ) -> Result<CopiedRows, String> {
        match is_url(source) {
            true => copy_from_database(self, source, folder, tell),
            false => copy_from_dump(self, Path::new(source), folder, tell),
        }
    }

    /// What is not copied, since a generator makes it: `; not customers.email`.
    pub(super) fn describe_made(&self) -> String {
        let tables = self.schema.schema.tables.iter().zip(&self.tables);
        let made = tables.flat_map(|(table, wanted)| {
            let columns = table.columns.iter().enumerate();
            let made = columns.filter(|(number, _)| !wanted.columns.contains(number));
            made.map(|(_, column)| format!("{}.{}", table.name, column.name)).collect::<Vec<_>>()
        });
        match made.collect::<Vec<String>>() {
            none if none.is_empty() => String::new(),
            some => format!("; not {}", some.join(", ")),
        }
    }

    /// All columns of a table, as the schema has them.
    pub(super) fn name_all_columns(&self, table: usize) -> Vec<String> {
        let columns = &self.schema.schema.tables[table].columns;
        columns.iter().map(|column| column.name.clone()).collect()
    }

    pub(super) fn name_columns(&self, table: usize, columns: &[usize]) -> Vec<&str> {
        let of = &self.schema.schema.tables[table].columns;
        columns.iter().map(|column| &*of[*column].name).collect()
    }

    /// What is said of tables that the source lacks and nobody has counted.
    pub(super) fn explain_lacking(&self, table: usize) -> String {
        let name = &self.schema.schema.tables[table].name;
        format!(
            "the source has no table {name}, which schema.sql has: write `{name} = 1000` under [rows] of \
             workload.toml to have its rows made up, or take it out of schema.sql"
        )
    }
}
