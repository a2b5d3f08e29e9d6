//! The engine that does nothing, for measuring the harness; it also shows the whole contract.
//!
//! All is faked. A read finds as many rows as it may (its limit, or one), with integers of 1 and
//! empty texts; an insert answers with the next number; an update or a delete changes one row. A
//! statement in SQL answers no row; if it writes, it changes one.
//! Nothing is stored, nothing conflicts.

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::statement::{Action, Yield};
use crate::{
    Access, Database, Debt, Durability, Engine, EngineDescription, EngineHome, Error, Loader,
    OpenTerms, Promise, Result, Rows, Schema, Session, Statement, Value, schema,
};

/// The engine `null`.
pub struct NullEngine;

impl Engine for NullEngine {
    fn about(&self) -> EngineDescription {
        let source = "answers as if it kept the promise; use it to measure the harness only";
        let promise = |durability| Promise::new(durability, "nothing is stored", source);
        EngineDescription {
            name: "null",
            summary: "does nothing: what the harness itself costs",
            promises: Durability::ALL.map(promise),
            home: EngineHome::Process,
            stores: false,
            rolls_back: true,
            packages: &[],
        }
    }

    fn version(&self) -> String {
        env!("CARGO_PKG_VERSION").into()
    }

    fn open(
        &self,
        _: &Path,
        _: &OpenTerms,
        schema: &Schema,
        statements: &[Statement],
    ) -> Result<Box<dyn Database>> {
        schema.validate()?;
        let plans = statements.iter().map(|statement| plan(schema, &statement.action)).collect();
        let tables = schema.tables.clone();
        Ok(Box::new(NullDatabase { plans, tables, next: AtomicI64::new(1 << 40) }))
    }
}

enum NullAnswer {
    Rows { rows: u64, columns: Vec<Value<'static>> },
    Key,
    Changed,
}

fn plan(schema: &Schema, action: &Action) -> NullAnswer {
    let made_up = |table: usize, column: usize| match schema.tables[table].columns[column].kind {
        schema::Type::Text { .. } | schema::Type::MediumText => Value::Text(""),
        schema::Type::Bytes { .. } => Value::Bytes(b""),
        schema::Type::Date => Value::Text("2000-01-01"),
        schema::Type::Timestamp => Value::Text("2000-01-01 00:00:00.000000"),
        _ => Value::Int(1),
    };
    match action {
        Action::Read(read) => {
            let made_up = |column: &usize| made_up(read.table, *column);
            NullAnswer::Rows {
                rows: u64::from(read.limit.unwrap_or(1)),
                columns: match &read.yields {
                    Yield::Columns(columns) => columns.iter().map(made_up).collect(),
                    Yield::Sum(column) | Yield::Distinct(column) | Yield::Sorted(column) => {
                        vec![made_up(column)]
                    }
                    Yield::Count(_) => vec![Value::Int(1)],
                },
            }
        }
        Action::Insert { .. } => NullAnswer::Key,
        Action::Upsert { .. } | Action::Update { .. } | Action::Delete { .. } => {
            NullAnswer::Changed
        }
        Action::Sql(text) if text.writes => NullAnswer::Changed,
        Action::Sql(_) => NullAnswer::Rows { rows: 0, columns: Vec::new() },
    }
}

struct NullDatabase {
    plans: Vec<NullAnswer>,
    tables: Vec<schema::Table>,
    next: AtomicI64,
}

impl Database for NullDatabase {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(NullSession { database: self, open: false }))
    }

    fn load(&self, table: usize) -> Result<Box<dyn Loader + '_>> {
        Ok(Box::new(DiscardLoader { table: &self.tables[table] }))
    }

    fn drain(&self) -> Result<()> {
        Ok(())
    }

    fn warm(&self) -> Result<()> {
        Ok(())
    }

    fn check(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn debt(&self) -> Result<Option<Debt>> {
        Ok(Some(Debt::default()))
    }
}

struct DiscardLoader<'a> {
    table: &'a schema::Table,
}

impl Loader for DiscardLoader<'_> {
    fn row(&mut self, row: &[Value<'_>]) -> Result<()> {
        self.table.fits(row)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

struct NullSession<'a> {
    database: &'a NullDatabase,
    open: bool,
}

impl Session for NullSession<'_> {
    fn begin(&mut self, _: Access) -> Result<()> {
        if std::mem::replace(&mut self.open, true) {
            return Err(Error::Usage("begin inside a transaction".into()));
        }
        Ok(())
    }

    fn run(&mut self, statement: usize, _: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        match &self.database.plans[statement] {
            NullAnswer::Rows { rows: count, columns } => {
                rows.reset(columns.len());
                for _ in 0..*count {
                    columns.iter().for_each(|value| rows.push(*value));
                }
                Ok(*count)
            }
            NullAnswer::Key => {
                rows.reset(1);
                rows.push(Value::Int(self.database.next.fetch_add(1, Ordering::Relaxed)));
                Ok(1)
            }
            NullAnswer::Changed => {
                rows.reset(0);
                Ok(1)
            }
        }
    }

    fn commit(&mut self) -> Result<()> {
        if !std::mem::replace(&mut self.open, false) {
            return Err(Error::Usage("commit outside a transaction".into()));
        }
        Ok(())
    }

    fn rollback(&mut self) -> Result<()> {
        self.open = false;
        Ok(())
    }
}
