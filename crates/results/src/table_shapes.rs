//! Checks that a database has exactly the written tables: a view may be endless, and generated
//! columns, indexes and triggers run their maker's code.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use rusqlite::{Connection, OptionalExtension};

pub(crate) const TABLES: &str = include_str!("tables.sql");

/// Name, type and kind; 0 is a plain column.
type ColumnShape = (String, String, i64);

type TableShapes = BTreeMap<String, BTreeSet<ColumnShape>>;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unlike {
    /// Something that bakeoff never writes.
    Has(String),
    /// An earlier bakeoff wrote less.
    Lacks(String),
}

pub(crate) fn find_unlike(connection: &Connection) -> rusqlite::Result<Option<Unlike>> {
    let expected = load_expected()?;
    // Before anything of the schema is used, all of it must be known to be tables.
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
    let found = read_columns(connection)?;
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

/// As SQLite itself reads them, once.
fn load_expected() -> rusqlite::Result<&'static TableShapes> {
    static EXPECTED: OnceLock<TableShapes> = OnceLock::new();
    if let Some(known) = EXPECTED.get() {
        return Ok(known);
    }
    let model = Connection::open_in_memory()?;
    model.execute_batch(TABLES)?;
    let known = read_columns(&model)?;
    Ok(EXPECTED.get_or_init(|| known))
}

fn read_columns(connection: &Connection) -> rusqlite::Result<TableShapes> {
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
