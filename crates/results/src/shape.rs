//! Whether a database has the tables of the form that is written, and nothing else: a view can be without
//! end, and what a generated column, an index or a trigger works out is its maker's affair.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use rusqlite::{Connection, OptionalExtension};

/// The tables of the form that is written.
pub(crate) const TABLES: &str = include_str!("tables.sql");

/// A column: its name and type, and what it is other than plain, which is 0.
type ColumnShape = (String, String, i64);

/// The columns of each table.
type TableShapes = BTreeMap<String, BTreeSet<ColumnShape>>;

/// How a database differs from what is written, in words.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unlike {
    /// It has what bakeoff never writes.
    Has(String),
    /// It lacks this, and has nothing else: an earlier bakeoff wrote less.
    Lacks(String),
}

/// How the database differs from what is written; `None` where it does not.
///
/// # Errors
/// Where it can't be read.
pub(crate) fn unlike(connection: &Connection) -> rusqlite::Result<Option<Unlike>> {
    let expected = expected()?;
    // Nothing of the schema is used before each thing in it is known to be a table.
    let alien: Option<(String, String)> = connection
        .query_row(
            "SELECT type, name FROM sqlite_schema
             WHERE NOT ((type = 'table' AND rootpage > 1 AND sql LIKE 'CREATE TABLE %')
                 OR (type = 'index' AND sql IS NULL AND name LIKE 'sqlite\\_autoindex\\_%' ESCAPE '\\'))",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    if let Some((kind, name)) = alien {
        return Ok(Some(Unlike::Has(format!("it has the {kind} {name}"))));
    }
    let found = columns(connection)?;
    for (table, columns) in &found {
        match expected.get(table) {
            None => return Ok(Some(Unlike::Has(format!("it has the table {table}")))),
            Some(known) if !columns.is_subset(known) => {
                let others = format!("the columns of the table {table} are others");
                return Ok(Some(Unlike::Has(others)));
            }
            Some(_) => {}
        }
    }
    let lacks = expected.iter().find_map(|(table, columns)| match found.get(table) {
        None => Some(format!("the table {table}")),
        Some(found) => {
            let (column, ..) = columns.difference(found).next()?;
            Some(format!("the column {column} of the table {table}"))
        }
    });
    Ok(lacks.map(Unlike::Lacks))
}

/// The tables that are written with their columns, as SQLite itself reads them: once, however many folders are
/// opened.
fn expected() -> rusqlite::Result<&'static TableShapes> {
    static EXPECTED: OnceLock<TableShapes> = OnceLock::new();
    if let Some(known) = EXPECTED.get() {
        return Ok(known);
    }
    let model = Connection::open_in_memory()?;
    model.execute_batch(TABLES)?;
    let known = columns(&model)?;
    Ok(EXPECTED.get_or_init(|| known))
}

fn columns(connection: &Connection) -> rusqlite::Result<TableShapes> {
    let mut tables = TableShapes::new();
    let mut statement = connection.prepare(
        "SELECT it.name, of.name, of.type, of.hidden
         FROM sqlite_schema AS it JOIN pragma_table_xinfo(it.name) AS of WHERE it.type = 'table'",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let column = (row.get(1)?, row.get(2)?, row.get(3)?);
        tables.entry(row.get(0)?).or_default().insert(column);
    }
    Ok(tables)
}
