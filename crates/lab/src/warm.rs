//! Fills the caches of an engine that was just opened, before its clients start.
//!
//! What an engine keeps in memory itself is empty after a start, while another engine finds the
//! same rows in the system's page cache; an application's engine has been running for days. So
//! that no trial measures how its engine got warm, each reads all its tables and indexes once, as
//! far as they fit. The disk takes no time meanwhile.

use std::path::Path as FilePath;

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::{Bound, Filter, Path, Read, Scope, Yield};
use bakeoff_engines::{Action, Database, Engine, Result, Rows, Schema, Statement, Terms, Value};
use bakeoff_workloads::Prepared;

use crate::trial;

/// A statement that reads all there is of a path, and the value that it takes if it takes one.
type Scan = (Statement, Option<Value<'static>>);

/// What no column holds: times and numbers of rows are far from it.
const NEVER: Value<'static> = Value::Int(i64::MIN);

/// The scans of every table and index that has an integer in its key. They answer with the sum of
/// such a column, so that no row is held; keys are small enough to be summed.
fn scans(schema: &Schema) -> Vec<Scan> {
    let mut scans = Vec::new();
    for (number, table) in schema.tables.iter().enumerate() {
        let integers = |columns: &[usize]| columns.iter().copied().find(|c| is_int(table, *c));
        let Some(column) = integers(&table.key) else { continue };
        let sum = |path| Read { yields: Yield::Sum(column), ..Read::range(number, path, 0, &[]) };
        // With a condition on a column that no index has, the rows themselves are read.
        let body = (0..table.columns.len()).find(|column| is_body(table, *column));
        let filters = body.map(|column| Filter { column, any_of: 1 }).into_iter().collect();
        scans.push((Read { filters, ..sum(Path::Key) }, body.map(|_| NEVER)));
        for (at, index) in table.indexes.iter().enumerate() {
            // A bound that takes in everything, so that SQL's planners use the index.
            let lowest = match table.columns[index.columns[0]].kind {
                Type::Int => Value::Int(i64::MIN),
                Type::Text | Type::LongText => Value::Text(""),
            };
            let scope = Scope::Range { equal: 0, from: Some(Bound::Inclusive), to: None };
            scans.push((Read { scope, ..sum(Path::Index(at)) }, Some(lowest)));
        }
    }
    let named = |read| Statement { name: "all of a path".into(), action: Action::Read(read) };
    scans.into_iter().map(|(read, value)| (named(read), value)).collect()
}

/// Whether a column is an integer in no index.
fn is_body(table: &Table, column: usize) -> bool {
    let mut indexed = table.indexes.iter().flat_map(|index| &index.columns).chain(&table.key);
    is_int(table, column) && !indexed.any(|other| *other == column)
}

fn is_int(table: &Table, column: usize) -> bool {
    table.columns[column].kind == Type::Int
}

/// Opens the engine in `directory` and reads everything once.
///
/// # Errors
/// It can't be opened, or its tables can't be read.
pub fn open(
    engine: &dyn Engine,
    prepared: &dyn Prepared,
    directory: &FilePath,
    terms: &Terms,
) -> std::result::Result<Box<dyn Database>, String> {
    let scans = scans(prepared.schema());
    let more = scans.iter().map(|(statement, _)| statement.clone());
    let database = trial::open_with(engine, prepared, more, directory, terms)?;
    run(&*database, prepared.statements().len(), &scans)
        .map_err(|error| format!("its tables can't be read: {error}"))?;
    Ok(database)
}

/// Runs the scans, which the database knows by the numbers from `first` on.
fn run(database: &dyn Database, first: usize, scans: &[Scan]) -> Result<()> {
    let (mut session, mut rows) = (database.session()?, Rows::new());
    for (at, (_, value)) in scans.iter().enumerate() {
        session.run(first + at, value.as_slice(), &mut rows)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_engines::Durability;

    #[test]
    fn every_path_is_read_and_the_sums_are_right() {
        let people = Table::new("people")
            .generated_key("id")
            .column("name", Type::Text)
            .column("age", Type::Int)
            .nullable("town", Type::Int)
            .index(&["name"])
            .index(&["town", "name"]);
        let schema = Schema { tables: vec![people] };
        let scans = scans(&schema);
        let statements: Vec<_> = scans.iter().map(|(statement, _)| statement.clone()).collect();
        for name in ["sqlite", "lmdb", "fjall"] {
            let place = tempfile::tempdir().unwrap();
            let engine = bakeoff_engines::find(name).unwrap();
            let terms = Terms::new(Durability::None);
            let database = engine.open(place.path(), &terms, &schema, &statements).unwrap();
            let mut loader = database.load(0).unwrap();
            for id in 1..=3_i64 {
                let town = if id == 3 { Value::Null } else { Value::Int(-id) };
                loader.row(&[id.into(), "x".into(), i64::MAX.into(), town]).unwrap();
            }
            loader.finish().unwrap();
            run(&*database, 0, &scans).unwrap();
            let (mut session, mut rows) = (database.session().unwrap(), Rows::new());
            let mut sums = Vec::new();
            for (number, (_, value)) in scans.iter().enumerate() {
                session.run(number, value.as_slice(), &mut rows).unwrap();
                sums.push(rows.int(0, 0).unwrap());
            }
            // Nobody is of no age; all ids by name; the ids of those whose town is known.
            assert_eq!(sums, [0, 6, 3], "{name}");
        }
    }
}
