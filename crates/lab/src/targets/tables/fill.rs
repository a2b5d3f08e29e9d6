//! Loads rows, and tells the engine's faults from faults of the rows.

use std::time::{Duration, Instant};

use bakeoff_engines::schema::Table;
use bakeoff_engines::{Database, Error, Rows, Value};
use bakeoff_workloads::{PreparedWorkload, RowsError};

use super::statement_totals::value_bytes;
use crate::TrialError;

const TELL: Duration = Duration::from_millis(200);

struct FillProgress<'a> {
    rows: u64,
    bytes: u64,
    told: Instant,
    tell: &'a mut dyn FnMut(u64, u64),
}

impl FillProgress<'_> {
    fn add(&mut self, row: &[Value<'_>]) {
        self.rows += 1;
        self.bytes += row.iter().map(value_bytes).sum::<u64>();
        if self.rows.is_multiple_of(1024) {
            self.tell_progress();
        }
    }

    fn tell_progress(&mut self) {
        if self.told.elapsed() > TELL {
            self.told = Instant::now();
            (self.tell)(self.rows, self.bytes);
        }
    }
}

/// Loads all tables, drains, then ages the rows; the aging is not drained. Faults of rows are the
/// user's, with table and row, counted from 1; all other faults are the engine's.
pub fn fill_database(
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
    database.drain()?;
    let aged = prepared.age_rows(database, &mut || progress.tell_progress());
    aged.map_err(|error| Error::from_engine(format!("its rows can't be aged: {error}")).into())
}

fn fill_table(
    prepared: &dyn PreparedWorkload,
    database: &dyn Database,
    (number, table): (usize, &Table),
    progress: &mut FillProgress<'_>,
) -> Result<(), TrialError> {
    let mut loader = database.load(number)?;
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
        Err(RowsError::Refused(error)) => return Err(error.into()),
    }
    loader.finish().map_err(|error| match error {
        Error::Duplicate(why) => TrialError::User(format!("table {name}: {why}")),
        error => error.into(),
    })
}

/// Checks each row against its table, and its key against the one before: engines differ in their
/// messages, and MariaDB would silently skip a row with a known key.
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
        if !self.last.is_empty() && row_key(table, row).le(self.last.row(0)) {
            let name = |column: &usize| &*table.columns[*column].name;
            let names: Vec<&str> = table.key.iter().map(name).collect();
            return Err(Error::Usage(format!(
                "rows come in ascending order of {}, and this one does not come after the one before \
                 it",
                names.join(", ")
            )));
        }
        self.last.reset(table.key.len());
        row_key(table, row).for_each(|value| self.last.push(value));
        Ok(())
    }
}

fn row_key<'r>(table: &'r Table, row: &'r [Value<'r>]) -> impl Iterator<Item = Value<'r>> {
    table.key.iter().map(|column| row[*column])
}

#[cfg(test)]
mod tests {
    use bakeoff_engines::schema::Type;
    use bakeoff_engines::{Durability, ENGINES, OpenTerms, Schema, Statement};
    use bakeoff_testkit::{needs, open_to_all};
    use bakeoff_workloads::{SourceError, Take, WorkloadClient};

    use super::*;

    type Row = Vec<Value<'static>>;
    type Given = (Vec<Row>, Option<SourceError>);

    /// A table without rows, and one with these, and how they end.
    struct MadeUp {
        schema: Schema,
        rows: Vec<Row>,
        end: Option<SourceError>,
    }

    fn made_up(rows: Vec<Row>, end: Option<SourceError>) -> MadeUp {
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

        fn make_client(&self, _: usize, _: usize, _: u64) -> Box<dyn WorkloadClient + '_> {
            unreachable!("it is loaded only")
        }
    }

    fn row(id: i64, title: &'static str) -> Row {
        vec![id.into(), title.into()]
    }

    /// What is loaded, and how many rows are told of, or why it is the user's.
    #[test]
    fn rows_that_can_not_be_had_or_do_not_fit_are_told_by_their_number() {
        let end = || Some(SourceError::new("no number: x").in_file("/it.csv".as_ref()).at_line(3));
        let two = || vec![row(1, "a"), row(2, "b")];
        let misfit = |misfit: Row| (vec![row(1, "日本語"), misfit, row(3, "c")], None);
        let order = "table notes, row 2: rows ";
        let cases: [(Given, Result<u64, &str>); 13] = [
            ((two(), end()), Err("table notes, after row 2: /it.csv, line 3: no number: x")),
            ((vec![], end()), Err("table notes, after row 0: /it.csv, line 3: no number: x")),
            ((vec![], None), Err("its workload gives no row of any table")),
            (misfit(row(2, "four")), Err("column title holds at most 3 characters, not 4")),
            (misfit(vec!["2".into(), "b".into()]), Err("column id holds integers, no text")),
            (misfit(vec![2.into(), 2.into()]), Err("column title holds text, no integer as 2")),
            (misfit(vec![2.into(), Value::Null]), Err("column title can't hold null")),
            (misfit(vec![2.into()]), Err("1 values for a row of 2 columns")),
            (
                misfit(vec![2.into(), "b".into(), "c".into()]),
                Err("table notes, row 2: 3 values for a row of 2 columns"),
            ),
            ((vec![row(2, "a"), row(1, "b")], None), Err(order)),
            ((vec![row(2, "a"), row(2, "b")], None), Err(order)),
            // The engine that does nothing has no index.
            ((vec![row(2, "a"), row(3, "a")], None), Err("table notes: ")),
            // After those that failed.
            ((vec![row(1, "a")], None), Ok(1)),
        ];
        let cases = cases.map(|((rows, end), expected)| (made_up(rows, end), expected));
        for engine in ENGINES.iter().filter(|engine| needs(engine.available()).is_some()) {
            let (folder, name) = (tempfile::tempdir().unwrap(), engine.about().name);
            open_to_all(folder.path());
            let terms = OpenTerms::new(Durability::Strict);
            let database = engine.open(folder.path(), &terms, &cases[0].0.schema, &[]).unwrap();
            for (workload, expected) in &cases {
                let mut told = 0;
                let filled =
                    fill_database(workload, &*database, &mut |rows, _| told = rows).map(|_| told);
                match (filled, expected) {
                    (Ok(rows), Ok(wanted)) => assert_eq!(rows, *wanted, "{name}"),
                    (Ok(2), Err("table notes: ")) if name == "null" => {}
                    (Err(TrialError::User(why)), Err(words)) => {
                        let is_told = why.starts_with(words)
                            || why.strip_prefix("table notes, row 2: ") == Some(words);
                        assert!(is_told, "{name}: {why}");
                        assert_eq!(why.contains("in ascending order of "), *words == order);
                    }
                    (other, _) => panic!("{name}: {other:?}, not {expected:?}"),
                }
            }
        }
    }
}
