//! Loads a workload's rows into a database, and says whose fault it is when that fails: the engine's, or
//! theirs whose rows they are.

use std::time::{Duration, Instant};

use bakeoff_engines::schema::Table;
use bakeoff_engines::{Database, Error, Rows, Value};
use bakeoff_workloads::{PreparedWorkload, RowsError};

use super::written::size;
use crate::TrialError;

/// How often a load tells how far it is.
const TELL: Duration = Duration::from_millis(200);

/// How far a load is.
struct FillProgress<'a> {
    rows: u64,
    bytes: u64,
    told: Instant,
    tell: &'a mut dyn FnMut(u64, u64),
}

impl FillProgress<'_> {
    fn add(&mut self, row: &[Value<'_>]) {
        self.rows += 1;
        self.bytes += row.iter().map(size).sum::<u64>();
        if self.rows.is_multiple_of(1024) {
            self.alive();
        }
    }

    /// Tells how far it is, unless it has just done so.
    fn alive(&mut self) {
        if self.told.elapsed() > TELL {
            self.told = Instant::now();
            (self.tell)(self.rows, self.bytes);
        }
    }
}

/// Loads every table, drains, and ages what was loaded: what that leaves is not drained. Each row is handed
/// on when it comes.
///
/// # Errors
/// The user's for rows that can't be had, don't fit, or are none at all, with the table and the row,
/// counted from 1; the engine's for all else.
pub(super) fn fill(
    prepared: &dyn PreparedWorkload,
    database: &dyn Database,
    tell: &mut dyn FnMut(u64, u64),
) -> Result<(), TrialError> {
    let mut progress = FillProgress { rows: 0, bytes: 0, told: Instant::now(), tell };
    for (number, table) in prepared.schema().tables.iter().enumerate() {
        fill_table(prepared, database, (number, table), &mut progress)?;
    }
    if progress.rows == 0 {
        return Err(TrialError::User("its workload gives no row of any table".into()));
    }
    (progress.tell)(progress.rows, progress.bytes);
    database.drain().map_err(engine)?;
    let aged = prepared.age(database, &mut || progress.alive());
    aged.map_err(|error| engine(Error::engine(format!("its rows can't be aged: {error}"))))
}

fn fill_table(
    prepared: &dyn PreparedWorkload,
    database: &dyn Database,
    (number, table): (usize, &Table),
    progress: &mut FillProgress<'_>,
) -> Result<(), TrialError> {
    let mut loader = database.load(number).map_err(engine)?;
    let (mut taken, mut order) = (0, RowChecker::from_table(table));
    let given = prepared.rows(number, &mut |row| {
        order.check(row)?;
        loader.row(row)?;
        taken += 1;
        progress.add(row);
        Ok(())
    });
    let name = &table.name;
    match given {
        Ok(()) => {}
        Err(RowsError::Source(error)) => {
            return Err(TrialError::User(format!("table {name}, after row {taken}: {error}")));
        }
        Err(RowsError::Refused(Error::Usage(why) | Error::Duplicate(why))) => {
            return Err(TrialError::User(format!("table {name}, row {}: {why}", taken + 1)));
        }
        Err(RowsError::Refused(error)) => return Err(engine(error)),
    }
    loader.finish().map_err(|error| match error {
        Error::Duplicate(why) => TrialError::User(format!("table {name}: {why}")),
        error => engine(error),
    })
}

fn engine(error: Error) -> TrialError {
    TrialError::Engine(error.to_string())
}

/// Holds each row against its table, and its key against the one before: engines differ in what they
/// say, and MariaDB would leave a row out whose key is there, and say nothing.
struct RowChecker<'t> {
    table: &'t Table,
    last: Rows,
}

impl<'t> RowChecker<'t> {
    fn from_table(table: &'t Table) -> Self {
        Self { table, last: Rows::new() }
    }

    fn check(&mut self, row: &[Value<'_>]) -> bakeoff_engines::Result<()> {
        let table = self.table;
        table.fits(row)?;
        if !self.last.is_empty() && key(table, row).le(self.last.row(0)) {
            let name = |column: &usize| &*table.columns[*column].name;
            let names: Vec<&str> = table.key.iter().map(name).collect();
            return Err(Error::Usage(format!(
                "rows come in ascending order of {}, and this one does not come after the one before \
                 it",
                names.join(", ")
            )));
        }
        self.last.reset(table.key.len());
        key(table, row).for_each(|value| self.last.push(value));
        Ok(())
    }
}

/// The key of a row that fits.
fn key<'r>(table: &'r Table, row: &'r [Value<'r>]) -> impl Iterator<Item = Value<'r>> {
    table.key.iter().map(|column| row[*column])
}

#[cfg(test)]
mod tests {
    use bakeoff_engines::schema::Type;
    use bakeoff_engines::{Durability, ENGINES, OpenTerms, Schema, Statement};
    use bakeoff_testkit::{needs, open_to_all};
    use bakeoff_workloads::{SourceError, Take, WorkloadClient};

    use super::*;

    /// Rows, and how they end.
    struct MadeUp {
        schema: Schema,
        rows: Vec<Vec<Value<'static>>>,
        end: Option<SourceError>,
    }

    /// A table without rows, and one with these.
    fn made_up(rows: Vec<Vec<Value<'static>>>, end: Option<SourceError>) -> MadeUp {
        let none = Table::new("none").key_column("id", Type::Int);
        let notes = Table::new("notes")
            .key_column("id", Type::Int)
            .column("title", Type::Text { most: 3 })
            .unique(&["title"]);
        MadeUp { schema: Schema { tables: vec![none, notes] }, rows, end }
    }

    impl PreparedWorkload for MadeUp {
        fn schema(&self) -> &Schema {
            &self.schema
        }

        fn statements(&self) -> &[Statement] {
            &[]
        }

        fn rows(&self, table: usize, row: &mut Take<'_>) -> Result<(), RowsError> {
            if table == 0 {
                return Ok(());
            }
            self.rows.iter().try_for_each(|values| row(values))?;
            self.end.clone().map_or(Ok(()), |error| Err(error.into()))
        }

        fn client(&self, _: usize, _: usize, _: u64) -> Box<dyn WorkloadClient + '_> {
            unreachable!("it is loaded only")
        }
    }

    /// The rows that were told of in its load, or why it failed.
    fn load(database: &dyn Database, workload: &MadeUp) -> Result<u64, TrialError> {
        let mut told = 0;
        fill(workload, database, &mut |rows, _| told = rows)?;
        Ok(told)
    }

    /// Does something with an empty database of each engine, whose name it is told.
    fn on_each_engine(act: impl Fn(&str, &dyn Database)) {
        for engine in ENGINES.iter().filter(|engine| needs(engine.available()).is_some()) {
            let folder = tempfile::tempdir().expect("a folder");
            open_to_all(folder.path());
            let (terms, schema) =
                (OpenTerms::new(Durability::Strict), made_up(vec![], None).schema);
            let database = engine.open(folder.path(), &terms, &schema, &[]).expect("a database");
            act(engine.about().name, &*database);
        }
    }

    fn row(id: i64, title: &'static str) -> Vec<Value<'static>> {
        vec![id.into(), title.into()]
    }

    fn users<T>(why: &str) -> Result<T, TrialError> {
        Err(TrialError::User(why.into()))
    }

    #[test]
    fn a_source_that_fails_half_way_says_where_and_one_without_rows_that_it_has_none() {
        on_each_engine(|name, database| {
            let end = SourceError::new("no number: x").in_file("/it.csv".as_ref()).at_line(3);
            let two = vec![row(1, "a"), row(2, "b")];
            let said = load(database, &made_up(two, Some(end.clone())));
            let wanted = "table notes, after row 2: /it.csv, line 3: no number: x";
            assert_eq!(said, users(wanted), "{name}");
            let said = load(database, &made_up(vec![], Some(end)));
            assert_eq!(said, users(&wanted.replace("row 2", "row 0")), "{name}");
            let said = load(database, &made_up(vec![], None));
            assert_eq!(said, users("its workload gives no row of any table"), "{name}");
            let one = made_up(vec![row(1, "a")], None);
            assert_eq!(load(database, &one), Ok(1), "{name}, after those that failed");
        });
    }

    #[test]
    fn a_row_that_does_not_fit_is_told_by_its_number() {
        let misfits: [(Vec<Value<'_>>, &str); 6] = [
            (row(2, "four"), "column title holds at most 3 characters, not 4"),
            (vec!["2".into(), "b".into()], "column id holds integers, no text"),
            (vec![2.into(), 2.into()], "column title holds text, no integer as 2"),
            (vec![2.into(), Value::Null], "column title can't hold null"),
            (vec![2.into()], "1 values for a row of 2 columns"),
            (vec![2.into(), "b".into(), "c".into()], "3 values for a row of 2 columns"),
        ];
        on_each_engine(|name, database| {
            for (misfit, why) in &misfits {
                let rows = vec![row(1, "日本語"), misfit.clone(), row(3, "c")];
                let said = load(database, &made_up(rows, None));
                assert_eq!(said, users(&format!("table notes, row 2: {why}")), "{name}");
            }
        });
    }

    #[test]
    fn rows_that_are_out_of_order_or_alike_are_the_users() {
        on_each_engine(|name, database| {
            let of = |second: i64, title| made_up(vec![row(2, "a"), row(second, title)], None);
            for second in [1, 2] {
                match load(database, &of(second, "b")) {
                    Err(TrialError::User(why)) => {
                        let told = why.starts_with("table notes, row 2: rows ");
                        assert!(told && why.contains("in ascending order of "), "{why} by {name}");
                    }
                    other => panic!("{other:?} by {name}"),
                }
            }
            // The engine that does nothing has no index.
            match load(database, &of(3, "a")) {
                Ok(2) if name == "null" => {}
                Err(TrialError::User(why)) if why.starts_with("table notes: ") => {}
                other => panic!("{other:?} by {name}"),
            }
        });
    }
}
