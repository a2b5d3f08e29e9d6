//! One client's connection: transactions, and statements in them.

use super::plan::{Plan, Work};
use super::read::{self, read};
use super::write::{self, Target};
use super::{Database, Store, Writer};
use crate::schema::Table;
use crate::{Access, Error, Result, Rows, Value};

/// A session over a store.
pub struct Session<'d, S: Store> {
    database: &'d Database<S>,
    state: State<'d, S>,
    buffers: Buffers,
}

enum State<'d, S: Store + 'd> {
    Idle,
    Reading(S::Read<'d>),
    Writing(S::Write<'d>),
    /// A statement went wrong; its transaction is undone already.
    Failed,
}

#[derive(Default)]
struct Buffers {
    read: read::Buffers,
    write: write::Buffers,
}

impl<'d, S: Store> Session<'d, S> {
    /// A session outside a transaction.
    pub fn new(database: &'d Database<S>) -> Self {
        Self { database, state: State::Idle, buffers: Buffers::default() }
    }

    fn run_alone(&mut self, plan: &Plan, parameters: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let Self { database, buffers, .. } = self;
        if let Work::Read(work) = &plan.work {
            let store = &database.store;
            let reader = if work.finds_one() { store.find()? } else { store.read()? };
            let layout = &database.layouts[plan.table];
            return read(&reader, layout, work, parameters, &mut buffers.read, rows);
        }
        let mut writer = database.store.write()?;
        let count = run(database, &mut writer, plan, parameters, buffers, rows)?;
        writer.commit()?;
        Ok(count)
    }
}

impl<S: Store> crate::Session for Session<'_, S> {
    fn begin(&mut self, access: Access) -> Result<()> {
        if !matches!(self.state, State::Idle) {
            return Err(Error::Usage("begin inside a transaction".into()));
        }
        self.state = match access {
            Access::Read => State::Reading(self.database.store.read()?),
            Access::Write => State::Writing(self.database.store.write()?),
        };
        Ok(())
    }

    fn run(&mut self, statement: usize, parameters: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let database = self.database;
        let plan = fitting_plan(database, statement, parameters);
        let outcome = match (&mut self.state, plan) {
            (State::Failed, _) => Err(Error::Usage("the transaction has to be rolled back".into())),
            (State::Idle, plan) => return self.run_alone(plan?, parameters, rows),
            (_, Err(error)) => Err(error),
            (State::Writing(writer), Ok(plan)) => {
                run(database, writer, plan, parameters, &mut self.buffers, rows)
            }
            (State::Reading(reader), Ok(plan)) => match &plan.work {
                Work::Read(work) if !work.for_update => {
                    let layout = &database.layouts[plan.table];
                    read(reader, layout, work, parameters, &mut self.buffers.read, rows)
                }
                _ => Err(Error::Usage("the transaction only reads".into())),
            },
        };
        if outcome.is_err() {
            self.state = State::Failed;
        }
        outcome
    }

    fn commit(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle => Err(Error::Usage("commit outside a transaction".into())),
            State::Failed => Err(Error::Usage("commit after an error".into())),
            State::Reading(_) => Ok(()),
            State::Writing(writer) => writer.commit(),
        }
    }

    fn rollback(&mut self) -> Result<()> {
        self.state = State::Idle;
        Ok(())
    }
}

fn fitting_plan<'d, S>(
    database: &'d Database<S>,
    statement: usize,
    parameters: &[Value<'_>],
) -> Result<&'d Plan> {
    match database.plans.get(statement) {
        Some(plan) if plan.parameters == parameters.len() => Ok(plan),
        Some(plan) => Err(Error::Usage(format!(
            "statement {statement} takes {} parameters, not {}",
            plan.parameters,
            parameters.len()
        ))),
        None => Err(Error::Usage(format!("there is no statement {statement}"))),
    }
}

/// Runs any statement in a writing transaction.
fn run<S: Store>(
    database: &Database<S>,
    writer: &mut impl Writer,
    plan: &Plan,
    parameters: &[Value<'_>],
    buffers: &mut Buffers,
    rows: &mut Rows,
) -> Result<u64> {
    let layout = &database.layouts[plan.table];
    rows.reset(0);
    let target = &mut Target { writer, layout, buffers: &mut buffers.write };
    let changed = match &plan.work {
        Work::Read(work) => {
            return read(target.writer, layout, work, parameters, &mut buffers.read, rows);
        }
        Work::Insert => {
            insert(database, plan.table, target, parameters, rows)?;
            true
        }
        Work::Upsert => {
            database.note_key(plan.table, parameters);
            target.upsert(&|column| Ok(parameters[column]))?;
            true
        }
        Work::Update(work) => target.update(work, parameters)?,
        Work::Delete => {
            let deleted = target.delete(parameters)?;
            if deleted {
                database.keep_largest(plan.table, target.writer)?;
            }
            deleted
        }
    };
    Ok(u64::from(changed))
}

/// Adds a row, numbered if its table numbers rows, and answers with its key's first column.
fn insert<S: Store>(
    database: &Database<S>,
    table: usize,
    target: &mut Target<'_, impl Writer>,
    parameters: &[Value<'_>],
    rows: &mut Rows,
) -> Result<()> {
    let Table { key, generated, .. } = &target.layout.table;
    let first = key[0];
    let fresh = *generated && parameters[first] == Value::Null;
    let answer = if fresh { Value::Int(database.next_key(table)?) } else { parameters[first] };
    database.note_key(table, parameters);
    target
        .insert(&|column| Ok(if column == first { answer } else { parameters[column] }), fresh)?;
    rows.reset(1);
    rows.push(answer);
    Ok(())
}
