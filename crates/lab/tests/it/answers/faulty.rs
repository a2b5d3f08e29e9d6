//! An engine's database with a fault, or with a choice of its own.

use std::cell::Cell;

use bakeoff_engines::statement::ReadOrder;
use bakeoff_engines::{
    Access, Action, Database, Error, Loader, Result, Rows, Schema, Session, Statement, Value,
};

fn broken(words: &str) -> Error {
    Error::from_engine(words.to_owned())
}

/// What is other than in the engine behind it. What is wrong begins with the tenth call of its kind, so
/// that something was right before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// A text of an ordered read is longer by a character.
    OtherValue,
    /// The last row of an ordered read is missing.
    FewerRows,
    /// An ordered read is an error.
    Error,
    /// The same, in other words.
    OtherWords,
    /// Everything is an error.
    Dies,
    /// The rows of an ordered read come in reverse.
    OtherOrder,
    /// An update says that it changed a row, and changes none.
    LosesUpdate,
    /// No fault: the rows of a read without an order come in reverse.
    OtherOrderWhereFree,
    /// No fault: for each new row two keys are given out.
    SkipsKeys,
    /// No fault: the first commit of every other transaction is a conflict.
    Conflicts,
}

/// A database that breaks its contract in one way, or uses a freedom that the contract gives.
pub struct Faulty {
    inner: Box<dyn Database>,
    actions: Vec<Action>,
    /// The number of columns of each table, and whether it numbers its rows.
    tables: Vec<(usize, bool)>,
    fault: Fault,
}

impl Faulty {
    pub fn new(
        inner: Box<dyn Database>,
        schema: &Schema,
        statements: &[Statement],
        fault: Fault,
    ) -> Self {
        let tables = schema.tables.iter().map(|it| (it.columns.len(), it.generated));
        let actions = statements.iter().map(|it| it.action.clone());
        Self { inner, actions: actions.collect(), tables: tables.collect(), fault }
    }
}

impl Database for Faulty {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let inner = self.inner.session()?;
        Ok(Box::new(FaultySession { inner, database: self, calls: Cell::new(0), commits: 0 }))
    }

    fn load(&self, table: usize) -> Result<Box<dyn Loader + '_>> {
        self.inner.load(table)
    }

    fn warm(&self) -> Result<()> {
        self.inner.warm()
    }

    fn drain(&self) -> Result<()> {
        self.inner.drain()
    }

    fn check(&self) -> Result<Vec<String>> {
        self.inner.check()
    }
}

struct FaultySession<'d> {
    inner: Box<dyn Session + 'd>,
    database: &'d Faulty,
    calls: Cell<u64>,
    commits: u64,
}

/// The rows as they are handed on.
fn changed(rows: &mut Rows, change: impl FnOnce(&mut Vec<Vec<String>>)) {
    // Integers and texts are told apart by a mark before them.
    let owned = |cell: Value<'_>| match cell {
        Value::Null => "n".to_owned(),
        Value::Int(number) => format!("i{number}"),
        Value::Real(number) => format!("r{}", number.get()),
        Value::Text(text) => format!("t{text}"),
        Value::Bytes(_) => panic!("no table here has bytes"),
    };
    let mut all: Vec<Vec<String>> =
        (0..rows.len()).map(|row| rows.row(row).map(owned).collect()).collect();
    change(&mut all);
    rows.reset(rows.width());
    for cell in all.iter().flatten() {
        rows.push(match cell.split_at(1) {
            ("i", number) => Value::Int(number.parse().expect("a number")),
            ("r", number) => Value::from(number.parse::<f64>().expect("a number")),
            ("t", text) => Value::Text(text),
            _ => Value::Null,
        });
    }
}

impl Session for FaultySession<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        self.inner.begin(access)
    }

    fn run(&mut self, statement: usize, values: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let (action, fault) = (&self.database.actions[statement], self.database.fault);
        match action {
            _ if fault == Fault::Dies && self.shows() => Err(broken("it is gone")),
            Action::Insert { table } if fault == Fault::SkipsKeys => {
                if let (_, true) = self.database.tables[*table] {
                    self.skip_a_key(statement, values, rows, *table)?;
                }
                self.inner.run(statement, values, rows)
            }
            Action::Update { .. } if fault == Fault::LosesUpdate && self.shows() => {
                rows.reset(0);
                Ok(1)
            }
            Action::Read(read) if read.order == ReadOrder::Any => {
                let count = self.inner.run(statement, values, rows)?;
                if fault == Fault::OtherOrderWhereFree {
                    changed(rows, |rows| rows.reverse());
                }
                Ok(count)
            }
            Action::Read(_) => {
                self.inner.run(statement, values, rows)?;
                self.spoil(fault, rows)?;
                Ok(rows.len() as u64)
            }
            _ => self.inner.run(statement, values, rows),
        }
    }

    fn commit(&mut self) -> Result<()> {
        self.commits += 1;
        if self.database.fault == Fault::Conflicts && self.commits % 2 == 1 {
            self.inner.rollback()?;
            return Err(Error::Conflict("once more".into()));
        }
        self.inner.commit()
    }

    fn rollback(&mut self) -> Result<()> {
        self.inner.rollback()
    }
}

impl FaultySession<'_> {
    /// Whether the fault shows, of calls of its kind.
    fn shows(&self) -> bool {
        self.calls.set(self.calls.get() + 1);
        self.calls.get() > 10
    }

    /// Adds the row and takes it away again: its key is not given out a second time.
    fn skip_a_key(
        &mut self,
        statement: usize,
        values: &[Value<'_>],
        rows: &mut Rows,
        table: usize,
    ) -> Result<()> {
        let is_delete =
            |action: &Action| matches!(action, Action::Delete { table: of } if *of == table);
        let Some(delete) = self.database.actions.iter().position(is_delete) else { return Ok(()) };
        self.inner.run(statement, values, rows)?;
        let key = rows.get_int(0, 0).expect("a key");
        self.inner.run(delete, &[key.into()], rows).map(drop)
    }

    /// What is other of an ordered read.
    fn spoil(&self, fault: Fault, rows: &mut Rows) -> Result<()> {
        let longer = |rows: &mut Vec<Vec<String>>| {
            let mut cells = rows.last_mut().expect("a row").iter_mut();
            cells.find(|it| it.starts_with('t')).expect("a text").push('!');
        };
        match fault {
            Fault::Error if self.shows() => return Err(broken("this engine is broken")),
            Fault::OtherWords if self.shows() => return Err(broken("ERROR 1105: unknown error")),
            Fault::FewerRows if self.shows() => changed(rows, |rows| drop(rows.pop())),
            Fault::OtherOrder if self.shows() => changed(rows, |rows| rows.reverse()),
            Fault::OtherValue if self.shows() => changed(rows, longer),
            _ => {}
        }
        Ok(())
    }
}
