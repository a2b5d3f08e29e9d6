//! Sessions: a connection each, with every statement prepared on it.
//!
//! What runs a statement is [`Wire`], on the connection's own socket; with TLS it is the library, which takes
//! parameters and hands out rows as values of its own.

use mysql::prelude::Queryable;
use mysql::{Conn, Error as Failure, Params};

use super::storage::StorageEngine;
use super::wire::{Changed, MariaDbWire};
use super::{MariaDbDatabase, SQL, error};
use crate::schema::Table;
use crate::statement::{Action, Yield};
use crate::{Access, Error, Result, Rows, Schema, Session, Value};

/// What a session must know of a statement beside its text.
pub(super) enum MariaDbPlan {
    Read { width: usize },
    Insert { key: usize },
    Upsert,
    Change,
}

pub(super) fn plan(schema: &Schema, action: &Action) -> MariaDbPlan {
    match action {
        Action::Read(read) => MariaDbPlan::Read {
            width: match &read.yields {
                Yield::Columns(columns) => columns.len(),
                Yield::Sum(_) | Yield::Count(_) | Yield::Distinct(_) | Yield::Sorted(_) => 1,
            },
        },
        Action::Insert { table } => MariaDbPlan::Insert { key: schema.tables[*table].key[0] },
        Action::Upsert { .. } => MariaDbPlan::Upsert,
        Action::Update { .. } | Action::Delete { .. } => MariaDbPlan::Change,
    }
}

/// How transactions begin and end.
pub(super) struct TransactionControl {
    read: String,
    write: String,
    commit: &'static str,
    rollback: &'static str,
    /// Whether a rollback undoes what was written.
    undoes: bool,
}

impl TransactionControl {
    /// Aria has no transactions, but tables that are locked for the whole of one: nobody else
    /// sees or changes anything meanwhile, and after a crash the server undoes what was not
    /// unlocked. Only a rollback can't be had.
    pub(super) fn new(storage: StorageEngine, schema: &Schema) -> Self {
        if storage != StorageEngine::Aria {
            return Self {
                read: "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY".into(),
                write: "START TRANSACTION".into(),
                commit: "COMMIT",
                rollback: "ROLLBACK",
                undoes: true,
            };
        }
        let lock = |how: &str| {
            let one = |table: &Table| format!("{} {how}", SQL.quote(&table.name));
            let all: Vec<_> = schema.tables.iter().map(one).collect();
            format!("LOCK TABLES {}", all.join(", "))
        };
        Self {
            read: lock("READ"),
            write: lock("WRITE"),
            commit: "UNLOCK TABLES",
            rollback: "UNLOCK TABLES",
            undoes: false,
        }
    }
}

/// A connection and what is prepared on it.
struct MariaDbConnection {
    connection: Conn,
    statements: Vec<mysql::Statement>,
    /// Without TLS.
    wire: Option<MariaDbWire>,
}

impl MariaDbConnection {
    fn new(database: &MariaDbDatabase) -> Result<Self> {
        let mut connection = database.connect()?;
        let prepared = database.texts.iter().map(|text| connection.prep(text));
        let statements = prepared.collect::<std::result::Result<Vec<_>, _>>();
        let statements = statements.map_err(|failure| {
            if error::is_lost(&failure) { lost(&failure, false) } else { error::plain(failure) }
        })?;
        let plain = database.opts.get_ssl_opts().is_none();
        let wire = plain.then(|| MariaDbWire::over(&connection, &statements));
        let wire = wire.transpose().map_err(Error::engine)?;
        Ok(Self { connection, statements, wire })
    }

    /// Runs a command that returns no rows.
    fn control(&mut self, text: &str) -> std::result::Result<(), Failure> {
        match &mut self.wire {
            Some(wire) => wire.query(text),
            None => self.connection.query_drop(text),
        }
    }

    /// Runs a statement and puts `width` columns of each row into `rows`.
    fn run(
        &mut self,
        number: usize,
        parameters: &[Value<'_>],
        width: usize,
        rows: &mut Rows,
    ) -> std::result::Result<Changed, Failure> {
        if let Some(wire) = &mut self.wire {
            return wire.execute(number, parameters, width, rows);
        }
        let parameters = match parameters {
            [] => Params::Empty,
            some => Params::Positional(some.iter().map(|value| to_server(*value)).collect()),
        };
        let found = self.connection.exec_iter(&self.statements[number], parameters)?;
        let answer = Changed { rows: found.affected_rows(), new_key: found.last_insert_id() };
        for row in found {
            let row = row?;
            for column in 0..width {
                rows.push(from_server(row.as_ref(column))?);
            }
        }
        Ok(answer)
    }
}

/// What the loss of a connection means.
fn lost(failure: &Failure, may_persist: bool) -> Error {
    let what = format!("the connection was lost: {failure}");
    if may_persist { Error::InDoubt(what) } else { Error::Conflict(what) }
}

fn to_server(value: Value<'_>) -> mysql::Value {
    match value {
        Value::Null => mysql::Value::NULL,
        Value::Int(int) => mysql::Value::Int(int),
        Value::Text(text) => mysql::Value::Bytes(text.as_bytes().into()),
    }
}

fn from_server(cell: Option<&mysql::Value>) -> std::result::Result<Value<'_>, Failure> {
    match cell {
        Some(mysql::Value::NULL) => Ok(Value::Null),
        Some(mysql::Value::Int(int)) => Ok(Value::Int(*int)),
        Some(mysql::Value::Bytes(bytes)) => {
            let invalid = || Failure::FromValueError(mysql::Value::Bytes(bytes.clone()));
            std::str::from_utf8(bytes).map(Value::Text).map_err(|_| invalid())
        }
        other => Err(Failure::FromValueError(other.cloned().unwrap_or(mysql::Value::NULL))),
    }
}

/// Where a session stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MariaDbSessionState {
    Idle,
    Reading,
    Writing,
    /// In a transaction that had an error.
    Failed,
}

pub(super) struct MariaDbSession<'a> {
    database: &'a MariaDbDatabase,
    /// `None` from the loss of a connection until the next one is needed.
    prepared: Option<MariaDbConnection>,
    state: MariaDbSessionState,
    /// Whether the transaction has changed a row.
    wrote: bool,
}

impl<'a> MariaDbSession<'a> {
    pub(super) fn new(database: &'a MariaDbDatabase) -> Result<Self> {
        let prepared = Some(MariaDbConnection::new(database)?);
        Ok(Self { database, prepared, state: MariaDbSessionState::Idle, wrote: false })
    }

    fn prepared(&mut self) -> Result<&mut MariaDbConnection> {
        match &mut self.prepared {
            Some(prepared) => Ok(prepared),
            empty => Ok(empty.insert(MariaDbConnection::new(self.database)?)),
        }
    }

    /// What a failure means; `may_persist` says whether what was asked for may last although the
    /// answer is lost.
    fn fault(&mut self, failure: Failure, may_persist: bool) -> Error {
        if error::is_lost(&failure) {
            self.prepared = None;
            return lost(&failure, may_persist);
        }
        match may_persist && error::is_interrupted(&failure) {
            true => Error::InDoubt(failure.to_string()),
            false => error::plain(failure),
        }
    }

    fn control(&mut self, text: &str) -> std::result::Result<(), Failure> {
        match &mut self.prepared {
            Some(prepared) => prepared.control(text),
            None => Ok(()),
        }
    }

    /// Lets a statement in; says whether it may last although its answer is lost.
    fn admit(&self, plan: &MariaDbPlan) -> Result<bool> {
        let writes = !matches!(plan, MariaDbPlan::Read { .. });
        match self.state {
            MariaDbSessionState::Failed => Err(Error::Usage("a statement after an error".into())),
            MariaDbSessionState::Reading if writes => {
                Err(Error::Usage("a write in a reading transaction".into()))
            }
            MariaDbSessionState::Idle => Ok(writes),
            MariaDbSessionState::Reading | MariaDbSessionState::Writing => {
                Ok(!self.database.control.undoes && (writes || self.wrote))
            }
        }
    }

    fn try_run(&mut self, number: usize, parameters: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let database = self.database;
        let Some(plan) = database.plans.get(number) else {
            return Err(Error::Usage(format!("there is no statement {number}")));
        };
        let may_persist = self.admit(plan)?;
        database.stored[number].fits(parameters)?;
        let width = match plan {
            MariaDbPlan::Read { width } => *width,
            MariaDbPlan::Insert { .. } | MariaDbPlan::Upsert | MariaDbPlan::Change => 0,
        };
        let prepared = self.prepared()?;
        let (given, wanted) =
            (parameters.len(), usize::from(prepared.statements[number].num_params()));
        if given != wanted {
            return Err(Error::Usage(format!("{given} parameters for a statement of {wanted}")));
        }
        rows.reset(width);
        let Changed { rows: changed, new_key } = match prepared.run(number, parameters, width, rows)
        {
            Ok(answer) => answer,
            Err(failure) => return Err(self.fault(failure, may_persist)),
        };
        self.wrote |= changed > 0;
        match plan {
            MariaDbPlan::Read { .. } => Ok(rows.len() as u64),
            MariaDbPlan::Change => Ok(changed),
            // The server counts a replaced row twice.
            MariaDbPlan::Upsert => Ok(1),
            MariaDbPlan::Insert { key } => {
                rows.reset(1);
                rows.push(match (parameters[*key], new_key) {
                    (Value::Null, Some(number)) => Value::Int(number.cast_signed()),
                    (given, _) => given,
                });
                Ok(changed)
            }
        }
    }

    /// Ends the transaction without its work, or says that it can't.
    fn undo(&mut self) -> Result<()> {
        if self.state == MariaDbSessionState::Idle {
            return Ok(());
        }
        self.state = MariaDbSessionState::Idle;
        let may_persist = !self.database.control.undoes && std::mem::take(&mut self.wrote);
        match self.control(self.database.control.rollback) {
            // The server ends the transaction of a connection that is lost.
            Err(failure) if !error::is_lost(&failure) => return Err(self.fault(failure, false)),
            Err(failure) => drop(self.fault(failure, false)),
            Ok(()) => {}
        }
        match may_persist {
            true => Err(Error::engine(
                "Aria can't roll back: what the transaction has changed stays changed",
            )),
            false => Ok(()),
        }
    }
}

impl Session for MariaDbSession<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        if self.state != MariaDbSessionState::Idle {
            self.state = MariaDbSessionState::Failed;
            return Err(Error::Usage("begin inside a transaction".into()));
        }
        self.prepared()?;
        let (text, state) = match access {
            Access::Read => (&self.database.control.read, MariaDbSessionState::Reading),
            Access::Write => (&self.database.control.write, MariaDbSessionState::Writing),
        };
        self.control(text).map_err(|failure| self.fault(failure, false))?;
        self.state = state;
        self.wrote = false;
        Ok(())
    }

    fn run(&mut self, statement: usize, parameters: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let answer = self.try_run(statement, parameters, rows);
        if answer.is_err() && self.state != MariaDbSessionState::Idle {
            self.state = MariaDbSessionState::Failed;
        }
        answer
    }

    fn commit(&mut self) -> Result<()> {
        match self.state {
            MariaDbSessionState::Idle => {
                return Err(Error::Usage("commit outside a transaction".into()));
            }
            MariaDbSessionState::Failed => {
                self.undo()?;
                return Err(Error::Usage("commit after an error".into()));
            }
            MariaDbSessionState::Reading | MariaDbSessionState::Writing => {}
        }
        let Err(failure) = self.control(self.database.control.commit) else {
            self.state = MariaDbSessionState::Idle;
            return Ok(());
        };
        let fault = self.fault(failure, self.wrote);
        // Why the commit failed says more than what undoing it may add.
        let _ = self.undo();
        Err(fault)
    }

    fn rollback(&mut self) -> Result<()> {
        self.undo()
    }
}
