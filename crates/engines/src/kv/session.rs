//! One client's connection: transactions, and statements in them.

use super::plan::{PlannedAction, StatementPlan};
use super::read::{self, run_read};
use super::write::{self, WriteTarget};
use super::{KeyValueDatabase, KeyValueStore, WriteTransaction};
use crate::schema::Table;
use crate::{Access, Error, Result, Rows, Value};

pub struct KeyValueSession<'d, S: KeyValueStore> {
    database: &'d KeyValueDatabase<S>,
    state: KeyValueSessionState<'d, S>,
    buffers: SessionBuffers,
}

enum KeyValueSessionState<'d, S: KeyValueStore + 'd> {
    Idle,
    Reading(S::Read<'d>),
    Writing(S::Write<'d>),
    /// After an error; the transaction is undone already.
    Failed,
}

#[derive(Default)]
struct SessionBuffers {
    read: read::ReadBuffers,
    write: write::WriteBuffers,
}

impl<'d, S: KeyValueStore> KeyValueSession<'d, S> {
    pub fn new(database: &'d KeyValueDatabase<S>) -> Self {
        Self { database, state: KeyValueSessionState::Idle, buffers: SessionBuffers::default() }
    }

    fn run_alone(
        &mut self,
        plan: &StatementPlan,
        parameters: &[Value<'_>],
        rows: &mut Rows,
    ) -> Result<u64> {
        let Self { database, buffers, .. } = self;
        if let PlannedAction::Read(work) = &plan.work {
            let store = &database.store;
            let reader = if work.finds_one() { store.read_one()? } else { store.read()? };
            let layout = &database.layouts[plan.table];
            return run_read(&reader, layout, work, parameters, &mut buffers.read, rows);
        }
        let mut writer = database.store.write()?;
        let count = run(database, &mut writer, plan, parameters, buffers, rows)?;
        writer.commit()?;
        Ok(count)
    }
}

impl<S: KeyValueStore> crate::Session for KeyValueSession<'_, S> {
    fn begin(&mut self, access: Access) -> Result<()> {
        if !matches!(self.state, KeyValueSessionState::Idle) {
            return Err(Error::Usage("begin inside a transaction".into()));
        }
        self.state = match access {
            Access::Read => KeyValueSessionState::Reading(self.database.store.read()?),
            Access::Write => KeyValueSessionState::Writing(self.database.store.write()?),
        };
        Ok(())
    }

    fn run(&mut self, statement: usize, parameters: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let database = self.database;
        let plan = fitting_plan(database, statement, parameters);
        let outcome = match (&mut self.state, plan) {
            (KeyValueSessionState::Failed, _) => {
                Err(Error::Usage("the transaction has to be rolled back".into()))
            }
            (KeyValueSessionState::Idle, plan) => return self.run_alone(plan?, parameters, rows),
            (_, Err(error)) => Err(error),
            (KeyValueSessionState::Writing(writer), Ok(plan)) => {
                run(database, writer, plan, parameters, &mut self.buffers, rows)
            }
            (KeyValueSessionState::Reading(reader), Ok(plan)) => match &plan.work {
                PlannedAction::Read(work) if !work.for_update => {
                    let layout = &database.layouts[plan.table];
                    run_read(reader, layout, work, parameters, &mut self.buffers.read, rows)
                }
                _ => Err(Error::Usage("the transaction only reads".into())),
            },
        };
        if outcome.is_err() {
            self.state = KeyValueSessionState::Failed;
        }
        outcome
    }

    fn commit(&mut self) -> Result<()> {
        match std::mem::replace(&mut self.state, KeyValueSessionState::Idle) {
            KeyValueSessionState::Idle => Err(Error::Usage("commit outside a transaction".into())),
            KeyValueSessionState::Failed => Err(Error::Usage("commit after an error".into())),
            KeyValueSessionState::Reading(_) => Ok(()),
            KeyValueSessionState::Writing(writer) => writer.commit(),
        }
    }

    fn rollback(&mut self) -> Result<()> {
        self.state = KeyValueSessionState::Idle;
        Ok(())
    }
}

fn fitting_plan<'d, S>(
    database: &'d KeyValueDatabase<S>,
    statement: usize,
    parameters: &[Value<'_>],
) -> Result<&'d StatementPlan> {
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

fn run<S: KeyValueStore>(
    database: &KeyValueDatabase<S>,
    writer: &mut impl WriteTransaction,
    plan: &StatementPlan,
    parameters: &[Value<'_>],
    buffers: &mut SessionBuffers,
    rows: &mut Rows,
) -> Result<u64> {
    let layout = &database.layouts[plan.table];
    rows.reset(0);
    let target = &mut WriteTarget { writer, layout, buffers: &mut buffers.write };
    let changed = match &plan.work {
        PlannedAction::Read(work) => {
            return run_read(target.writer, layout, work, parameters, &mut buffers.read, rows);
        }
        PlannedAction::Insert => {
            insert_row(database, plan.table, target, parameters, rows)?;
            true
        }
        PlannedAction::Upsert => {
            database.note_key(plan.table, parameters);
            target.upsert(&|column| Ok(parameters[column]))?;
            true
        }
        PlannedAction::Update(work) => target.update(work, parameters)?,
        PlannedAction::Delete => {
            let deleted = target.delete(parameters)?;
            if deleted {
                database.keep_largest(plan.table, target.writer)?;
            }
            deleted
        }
    };
    Ok(u64::from(changed))
}

fn insert_row<S: KeyValueStore>(
    database: &KeyValueDatabase<S>,
    table: usize,
    target: &mut WriteTarget<'_, impl WriteTransaction>,
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
