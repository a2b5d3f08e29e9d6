//! Sessions: a connection each, with every statement prepared on it.

use bytes::BytesMut;
use postgres::Row;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use super::wire::PostgresWire;
use super::{PostgresDatabase, error, is_lost, words};
use crate::statement::{Action, Yield};
use crate::{Access, Error, Result, Rows, Schema, Session, Value};

/// What a session prepares after the declared statements, in this order. The isolation level is
/// the server's setting, see [`super::settings`].
pub(super) const CONTROL: [&str; 4] = ["BEGIN READ ONLY", "BEGIN", "COMMIT", "ROLLBACK"];
const BEGIN_READ: usize = 0;
const BEGIN_WRITE: usize = 1;
const COMMIT: usize = 2;
const ROLLBACK: usize = 3;

type ConversionFailure = Box<dyn std::error::Error + Sync + Send>;

impl ToSql for Value<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, ConversionFailure> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(int) if *kind == Type::INT8 => int.to_sql(kind, out),
            Self::Text(text) if matches!(*kind, Type::TEXT | Type::VARCHAR) => {
                text.to_sql(kind, out)
            }
            Self::Int(_) | Self::Text(_) => Err(format!("{self:?} for a {kind}").into()),
        }
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::INT8 | Type::TEXT | Type::VARCHAR)
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value<'a> {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> std::result::Result<Self, ConversionFailure> {
        match *kind {
            Type::INT8 => i64::from_sql(kind, raw).map(Self::Int),
            _ => <&str>::from_sql(kind, raw).map(Self::Text),
        }
    }

    fn from_sql_null(_: &Type) -> std::result::Result<Self, ConversionFailure> {
        Ok(Self::Null)
    }

    fn accepts(kind: &Type) -> bool {
        <Self as ToSql>::accepts(kind)
    }
}

/// What a session must know of a statement beside its text.
#[derive(Clone, Copy)]
pub(super) struct PostgresPlan {
    writes: bool,
    /// The columns that the server answers with.
    width: usize,
    /// The parameter that is an insert's answer, where the server gives none.
    key: Option<usize>,
}

pub(super) fn plan(schema: &Schema, action: &Action) -> PostgresPlan {
    match action {
        Action::Read(read) => {
            let width = match &read.yields {
                Yield::Columns(columns) => columns.len(),
                Yield::Sum(_) | Yield::Count(_) | Yield::Distinct(_) | Yield::Sorted(_) => 1,
            };
            PostgresPlan { writes: false, width, key: None }
        }
        Action::Insert { table } => {
            let table = &schema.tables[*table];
            match table.generated {
                true => PostgresPlan { writes: true, width: 1, key: None },
                false => PostgresPlan { writes: true, width: 0, key: Some(table.key[0]) },
            }
        }
        Action::Upsert { .. } | Action::Update { .. } | Action::Delete { .. } => {
            PostgresPlan { writes: true, width: 0, key: None }
        }
    }
}

/// A connection and what is prepared on it.
struct PostgresConnection {
    wire: PostgresWire,
    /// The declared statements, then [`CONTROL`].
    statements: Vec<postgres::Statement>,
}

impl PostgresConnection {
    fn new(database: &PostgresDatabase) -> Result<Self> {
        let mut wire = database.connect_by(PostgresWire::connect)?;
        let texts = database.texts.iter().map(String::as_str).chain(CONTROL);
        let prepared = texts.map(|text| wire.wait(|client| client.prepare(text)));
        match prepared.collect() {
            Ok(statements) => Ok(Self { wire, statements }),
            Err(failure) if is_lost(&failure) => Err(lost(&failure, false)),
            Err(failure) => Err(error(failure)),
        }
    }

    /// Runs a statement, hands each row over, and returns the number of rows read or changed.
    fn run(
        &mut self,
        number: usize,
        parameters: &[Value<'_>],
        mut row: impl FnMut(&Row) -> std::result::Result<(), postgres::Error>,
    ) -> std::result::Result<u64, postgres::Error> {
        let statement = &self.statements[number];
        let parameters: Vec<&(dyn ToSql + Sync)> =
            parameters.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        if statement.columns().is_empty() {
            return self.wire.wait(|client| client.execute(statement, &parameters));
        }
        let found = self.wire.wait(|client| client.query(statement, &parameters))?;
        found.iter().try_for_each(&mut row)?;
        Ok(found.len() as u64)
    }
}

/// What the loss of a connection means; `commits` says whether what was asked for may have taken
/// effect.
fn lost(failure: &postgres::Error, commits: bool) -> Error {
    let what = format!("the connection was lost: {}", words(failure));
    if commits { Error::InDoubt(what) } else { Error::Conflict(what) }
}

/// Where a session stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PostgresSessionState {
    Idle,
    Reading,
    Writing,
    /// In a transaction that had an error.
    Failed,
}

pub(super) struct PostgresSession<'a> {
    database: &'a PostgresDatabase,
    /// `None` from the loss of a connection until the next one is needed.
    prepared: Option<PostgresConnection>,
    state: PostgresSessionState,
}

impl<'a> PostgresSession<'a> {
    pub(super) fn new(database: &'a PostgresDatabase) -> Result<Self> {
        let prepared = Some(PostgresConnection::new(database)?);
        Ok(Self { database, prepared, state: PostgresSessionState::Idle })
    }

    /// Runs a statement; `commits` says whether it would have taken effect by itself if the
    /// connection is lost before its answer is here.
    fn execute(
        &mut self,
        number: usize,
        parameters: &[Value<'_>],
        commits: bool,
        row: impl FnMut(&Row) -> std::result::Result<(), postgres::Error>,
    ) -> Result<u64> {
        let prepared = match &mut self.prepared {
            Some(prepared) => prepared,
            empty => empty.insert(PostgresConnection::new(self.database)?),
        };
        let (given, wanted) = (parameters.len(), prepared.statements[number].params().len());
        if given != wanted {
            return Err(Error::Usage(format!("{given} parameters for a statement of {wanted}")));
        }
        let failure = match prepared.run(number, parameters, row) {
            Ok(count) => return Ok(count),
            Err(failure) => failure,
        };
        if !is_lost(&failure) && !prepared.wire.is_closed() {
            return Err(error(failure));
        }
        self.prepared = None;
        Err(lost(&failure, commits))
    }

    fn control(&mut self, which: usize) -> Result<()> {
        let number = self.database.texts.len() + which;
        self.execute(number, &[], which == COMMIT, |_| Ok(())).map(drop)
    }

    fn try_run(&mut self, number: usize, parameters: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let Some(plan) = self.database.plans.get(number).copied() else {
            return Err(Error::Usage(format!("there is no statement {number}")));
        };
        match self.state {
            PostgresSessionState::Failed => {
                return Err(Error::Usage("a statement after an error".into()));
            }
            PostgresSessionState::Reading if plan.writes => {
                return Err(Error::Usage("a write in a reading transaction".into()));
            }
            PostgresSessionState::Idle
            | PostgresSessionState::Reading
            | PostgresSessionState::Writing => {}
        }
        self.database.stored[number].fits(parameters)?;
        rows.reset(plan.width.max(usize::from(plan.key.is_some())));
        let commits = plan.writes && self.state == PostgresSessionState::Idle;
        let count = self.execute(number, parameters, commits, |row| {
            (0..plan.width).try_for_each(|column| {
                rows.push(row.try_get(column)?);
                Ok(())
            })
        })?;
        if let Some(key) = plan.key {
            rows.push(parameters[key]);
        }
        Ok(count)
    }
}

impl Session for PostgresSession<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        if self.state != PostgresSessionState::Idle {
            self.state = PostgresSessionState::Failed;
            return Err(Error::Usage("begin inside a transaction".into()));
        }
        let (control, state) = match access {
            Access::Read => (BEGIN_READ, PostgresSessionState::Reading),
            Access::Write => (BEGIN_WRITE, PostgresSessionState::Writing),
        };
        self.control(control)?;
        self.state = state;
        Ok(())
    }

    fn run(&mut self, statement: usize, parameters: &[Value<'_>], rows: &mut Rows) -> Result<u64> {
        let answer = self.try_run(statement, parameters, rows);
        if answer.is_err() && self.state != PostgresSessionState::Idle {
            self.state = PostgresSessionState::Failed;
        }
        answer
    }

    fn commit(&mut self) -> Result<()> {
        match self.state {
            PostgresSessionState::Idle => Err(Error::Usage("commit outside a transaction".into())),
            PostgresSessionState::Failed => {
                self.rollback()?;
                Err(Error::Usage("commit after an error".into()))
            }
            PostgresSessionState::Reading | PostgresSessionState::Writing => {
                let wrote = self.state == PostgresSessionState::Writing;
                // The server has ended the transaction, whatever it answers.
                self.state = PostgresSessionState::Idle;
                match self.control(COMMIT) {
                    Err(Error::InDoubt(what)) if !wrote => Err(Error::Conflict(what)),
                    done => done,
                }
            }
        }
    }

    fn rollback(&mut self) -> Result<()> {
        let open = std::mem::replace(&mut self.state, PostgresSessionState::Idle)
            != PostgresSessionState::Idle;
        if !open || self.prepared.is_none() {
            // The server undoes the transaction of a connection that is lost.
            return Ok(());
        }
        match self.control(ROLLBACK) {
            Err(Error::Conflict(_)) => Ok(()),
            done => done,
        }
    }
}
