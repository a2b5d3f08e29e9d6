//! Whether a database has the tables of its form, and nothing else: a view can be without end, and
//! what a generated column, an index or a trigger works out is its maker's affair.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension};

use crate::{debts, form1, form2};

/// The form that a folder's tables have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Of an earlier bakeoff: see [`form1`].
    First,
    /// Of a later one: see [`form2`].
    Second,
    /// Of this one.
    Third,
}

/// The tables of the form that is written.
pub(crate) const TABLES: &str = include_str!("tables.sql");

/// A column: its name and type, and what it is other than plain, which is 0.
type Column = (String, String, i64);

/// Tables that the first bakeoffs that wrote a form did not have yet.
const LATER: [(Form, &str); 5] = [
    (Form::First, "cut"),
    (Form::Second, "disturbed"),
    (Form::Third, debts::NAMES[0]),
    (Form::Third, debts::NAMES[1]),
    (Form::Third, debts::NAMES[2]),
];

/// A column that the first bakeoffs that made power cuts did not have yet.
const LATER_COLUMN: (&str, &str) = ("cut", "file_system");

/// What the database has and bakeoff never writes, in words; `None` where there is nothing.
///
/// # Errors
/// Where it can't be read.
pub(crate) fn wrong(connection: &Connection, form: Form) -> rusqlite::Result<Option<String>> {
    let expected = expected(form)?;
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
        return Ok(Some(format!("it has the {kind} {name}")));
    }
    let found = columns(connection)?;
    for (table, columns) in &found {
        match expected.get(table) {
            None => return Ok(Some(format!("it has the table {table}"))),
            Some(known) if !is_same(table, columns, known) => {
                return Ok(Some(format!("the columns of the table {table} are others")));
            }
            Some(_) => {}
        }
    }
    let missing = expected
        .keys()
        .find(|table| !found.contains_key(*table) && !LATER.contains(&(form, table.as_str())));
    Ok(missing.map(|table| format!("it has no table {table}")))
}

fn is_same(table: &str, found: &BTreeSet<Column>, known: &BTreeSet<Column>) -> bool {
    let mut missing = known.difference(found);
    found.is_subset(known) && missing.all(|(column, ..)| (table, column.as_str()) == LATER_COLUMN)
}

/// The tables of a form with their columns, as SQLite itself reads them.
fn expected(form: Form) -> rusqlite::Result<BTreeMap<String, BTreeSet<Column>>> {
    let model = Connection::open_in_memory()?;
    model.execute_batch(TABLES)?;
    model.execute_batch(debts::TABLES)?;
    if form != Form::Third {
        model.execute_batch(debts::BACK)?;
        model.execute_batch(form2::BACK)?;
    }
    if form == Form::First {
        model.execute_batch(form1::BACK)?;
    }
    columns(&model)
}

fn columns(connection: &Connection) -> rusqlite::Result<BTreeMap<String, BTreeSet<Column>>> {
    let mut tables: BTreeMap<String, BTreeSet<Column>> = BTreeMap::new();
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
