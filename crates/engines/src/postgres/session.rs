//! Sessions: a connection each, with every statement prepared on it, or checked on it and sent anew each time.
//!
//! A text that is sent anew goes in one round trip with its parameters, as an unnamed statement, which the server
//! parses and plans.

use super::PostgresDatabase;
use super::error::WireFailure;
use super::login::log_in;
use super::wire::{DescribedStatement, PostgresWire, StatementForm};
use crate::sql::session::{SqlClient, TransactionState};
use crate::statement::Action;
use crate::{Access, Error, Preparation, Result, Rows, Schema, SqlText, Value};

/// Prepared after the declared statements, in this order. The isolation level is a server setting,
/// see [`super::settings`].
pub(super) const CONTROL: [&str; 4] = ["BEGIN READ ONLY", "BEGIN", "COMMIT", "ROLLBACK"];
const BEGIN_READ: usize = 0;
const BEGIN_WRITE: usize = 1;
const COMMIT: usize = 2;
const ROLLBACK: usize = 3;

#[derive(Clone, Copy)]
pub(super) struct PostgresPlan {
    writes: bool,
    /// `None`: as the server says.
    width: Option<usize>,
    /// The parameter that an insert answers with, if the server gives no key.
    key: Option<usize>,
}

pub(super) fn plan_statement(schema: &Schema, action: &Action) -> PostgresPlan {
    match action {
        Action::Read(read) => {
            PostgresPlan { writes: false, width: Some(read.yields.width()), key: None }
        }
        Action::Insert { table } => {
            let table = &schema.tables[*table];
            match table.generated {
                true => PostgresPlan { writes: true, width: Some(1), key: None },
                false => PostgresPlan { writes: true, width: Some(0), key: Some(table.key[0]) },
            }
        }
        Action::Upsert { .. } | Action::Update { .. } | Action::Delete { .. } => {
            PostgresPlan { writes: true, width: Some(0), key: None }
        }
        Action::Sql(text) => PostgresPlan { writes: text.writes, width: None, key: None },
    }
}

struct PostgresConnection {
    wire: PostgresWire,
    statements: Vec<DescribedStatement>,
}

impl PostgresConnection {
    fn new(database: &PostgresDatabase) -> Result<Self> {
        let mut wire = PostgresWire::new(database.connect_by(&database.client, log_in)?);
        let mut names = (0..).map(|number| format!("s{number}"));
        let mut describe = |text: &str, written: Option<&SqlText>| {
            let form = match database.terms.preparation {
                Preparation::OncePerSession => StatementForm::Named(names.next().expect("a name")),
                Preparation::EachExecution => StatementForm::Unnamed(text.into()),
            };
            prepare_statement(&mut wire, text, form, written)
        };
        let mut statements = database.statements.prepare_each(&mut describe)?;
        for text in CONTROL {
            statements.push(describe(text, None)?);
        }
        Ok(Self { wire, statements })
    }
}

fn prepare_statement(
    wire: &mut PostgresWire,
    text: &str,
    form: StatementForm,
    written: Option<&SqlText>,
) -> Result<DescribedStatement> {
    let prepared = wire.prepare(text, form);
    let statement = prepared.map_err(|failure| match written {
        _ if failure.is_lost() => lost(&failure, false),
        Some(_) => Error::Usage(failure.explain()),
        None => failure.to_error(),
    })?;
    if let Some(written) = written {
        written.check_count(statement.count_parameters())?;
    }
    Ok(statement)
}

/// `commits`: whether the request may have taken effect.
fn lost(failure: &WireFailure, commits: bool) -> Error {
    let what = format!("the connection was lost: {}", failure.explain());
    if commits { Error::InDoubt(what) } else { Error::Conflict(what) }
}

pub(super) struct PostgresClient<'a> {
    database: &'a PostgresDatabase,
    prepared: Option<PostgresConnection>,
}

impl<'a> PostgresClient<'a> {
    pub(super) fn new(database: &'a PostgresDatabase) -> Result<Self> {
        let prepared = Some(PostgresConnection::new(database)?);
        Ok(Self { database, prepared })
    }

    fn prepared_connection(&mut self) -> Result<&mut PostgresConnection> {
        match &mut self.prepared {
            Some(prepared) => Ok(prepared),
            empty => Ok(empty.insert(PostgresConnection::new(self.database)?)),
        }
    }

    /// `commits`: whether the statement takes effect by itself if the connection is lost.
    fn execute_statement(
        &mut self,
        number: usize,
        parameters: &[Value<'_>],
        commits: bool,
        width: usize,
        rows: &mut Rows,
    ) -> Result<u64> {
        let PostgresConnection { wire, statements } = self.prepared_connection()?;
        let statement = &mut statements[number];
        let (given, wanted) = (parameters.len(), statement.count_parameters());
        if given != wanted {
            return Err(Error::Usage(format!("{given} parameters for a statement of {wanted}")));
        }
        let failure = match wire.execute(statement, parameters, width, rows) {
            Ok(count) => return Ok(count),
            Err(failure) => failure,
        };
        if !failure.is_lost() {
            return Err(failure.to_error());
        }
        self.prepared = None;
        Err(lost(&failure, commits))
    }

    fn run_control(&mut self, which: usize) -> Result<()> {
        let number = self.database.statements.texts.len() + which;
        self.execute_statement(number, &[], which == COMMIT, 0, &mut Rows::new()).map(drop)
    }
}

impl SqlClient for PostgresClient<'_> {
    fn begin(&mut self, access: Access) -> Result<()> {
        self.run_control(match access {
            Access::Read => BEGIN_READ,
            Access::Write => BEGIN_WRITE,
        })
    }

    fn run(
        &mut self,
        state: TransactionState,
        number: usize,
        parameters: &[Value<'_>],
        rows: &mut Rows,
    ) -> Result<u64> {
        let statements = &self.database.statements;
        let plan = *statements.find_plan(number)?;
        state.check_statement(plan.writes)?;
        statements.check_parameters(number, parameters)?;
        let width = match plan.width {
            Some(width) => width,
            None => self.prepared_connection()?.statements[number].width(),
        };
        rows.reset(width.max(usize::from(plan.key.is_some())));
        let commits = plan.writes && state == TransactionState::Idle;
        let count = self.execute_statement(number, parameters, commits, width, rows)?;
        if let Some(key) = plan.key {
            rows.push(parameters[key]);
        }
        Ok(count)
    }

    /// The server has ended the transaction, whatever it answers.
    fn commit(&mut self, access: Access) -> Result<()> {
        match self.run_control(COMMIT) {
            Err(Error::InDoubt(what)) if access == Access::Read => Err(Error::Conflict(what)),
            done => done,
        }
    }

    fn rollback(&mut self) -> Result<()> {
        if self.prepared.is_none() {
            // The server undoes the transaction of a lost connection.
            return Ok(());
        }
        match self.run_control(ROLLBACK) {
            Err(Error::Conflict(_)) => Ok(()),
            done => done,
        }
    }
}
