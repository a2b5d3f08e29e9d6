//! Sessions: a connection each, with every statement prepared on it, or checked on it and sent anew each time.
//!
//! A text that is sent anew goes in one round trip with its parameters, as an unnamed statement, which the server
//! parses and plans.

use postgres::Row;
use postgres::types::{ToSql, Type};

use super::cells::{AnsweredCell, is_readable};
use super::wire::PostgresWire;
use super::{PostgresDatabase, explain_failure, is_lost, to_error};
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

/// A statement as the server has described it.
struct DescribedStatement {
    parameters: Vec<Type>,
    width: usize,
    how: RunForm,
}

enum RunForm {
    Prepared(postgres::Statement),
    Text(String),
}

impl DescribedStatement {
    fn new(statement: postgres::Statement, text: &str, preparation: Preparation) -> Self {
        Self {
            parameters: statement.params().to_vec(),
            width: statement.columns().len(),
            how: match preparation {
                Preparation::OncePerSession => RunForm::Prepared(statement),
                // Its end is told to the server.
                Preparation::EachExecution => RunForm::Text(text.into()),
            },
        }
    }
}

struct PostgresConnection {
    wire: PostgresWire,
    statements: Vec<DescribedStatement>,
}

impl PostgresConnection {
    fn new(database: &PostgresDatabase) -> Result<Self> {
        let mut wire = database.connect_by(&database.client, PostgresWire::connect)?;
        let mut describe = |text: &str, written: Option<&SqlText>| {
            let prepared = prepare_statement(&mut wire, text, written)?;
            Ok(DescribedStatement::new(prepared, text, database.terms.preparation))
        };
        let mut statements = database.statements.prepare_each(&mut describe)?;
        for text in CONTROL {
            statements.push(describe(text, None)?);
        }
        Ok(Self { wire, statements })
    }

    /// Passes each row on, and returns the number of rows read or changed.
    fn run(
        &mut self,
        number: usize,
        parameters: &[Value<'_>],
        mut row: impl FnMut(&Row) -> std::result::Result<(), postgres::Error>,
    ) -> std::result::Result<u64, postgres::Error> {
        let DescribedStatement { parameters: types, width, how } = &self.statements[number];
        let parameters = parameters.iter().map(|value| value as &(dyn ToSql + Sync));
        let found = match how {
            RunForm::Prepared(statement) => {
                let parameters: Vec<_> = parameters.collect();
                if *width == 0 {
                    return self.wire.wait_for(|client| client.execute(statement, &parameters));
                }
                self.wire.wait_for(|client| client.query(statement, &parameters))?
            }
            RunForm::Text(text) => {
                let typed: Vec<_> = parameters.zip(types.iter().cloned()).collect();
                if *width == 0 {
                    return self.wire.wait_for(|client| client.execute_typed(text, &typed));
                }
                self.wire.wait_for(|client| client.query_typed(text, &typed))?
            }
        };
        found.iter().try_for_each(&mut row)?;
        Ok(found.len() as u64)
    }
}

fn prepare_statement(
    wire: &mut PostgresWire,
    text: &str,
    written: Option<&SqlText>,
) -> Result<postgres::Statement> {
    let prepared = wire.wait_for(|client| client.prepare(text));
    let statement = prepared.map_err(|failure| match written {
        _ if is_lost(&failure) => lost(&failure, false),
        Some(_) => Error::Usage(explain_failure(&failure)),
        None => to_error(failure),
    })?;
    let Some(written) = written else { return Ok(statement) };
    written.check_count(statement.params().len())?;
    for column in statement.columns() {
        let (name, kind) = (column.name(), column.type_());
        if !is_readable(kind) {
            return Err(Error::Usage(format!("its column {name} is a {kind}: cast it to text")));
        }
    }
    Ok(statement)
}

/// `commits`: whether the request may have taken effect.
fn lost(failure: &postgres::Error, commits: bool) -> Error {
    let what = format!("the connection was lost: {}", explain_failure(failure));
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
        row: impl FnMut(&Row) -> std::result::Result<(), postgres::Error>,
    ) -> Result<u64> {
        let prepared = self.prepared_connection()?;
        let (given, wanted) = (parameters.len(), prepared.statements[number].parameters.len());
        if given != wanted {
            return Err(Error::Usage(format!("{given} parameters for a statement of {wanted}")));
        }
        let failure = match prepared.run(number, parameters, row) {
            Ok(count) => return Ok(count),
            Err(failure) => failure,
        };
        if !is_lost(&failure) && !prepared.wire.is_closed() {
            return Err(to_error(failure));
        }
        self.prepared = None;
        Err(lost(&failure, commits))
    }

    fn run_control(&mut self, which: usize) -> Result<()> {
        let number = self.database.statements.texts.len() + which;
        self.execute_statement(number, &[], which == COMMIT, |_| Ok(())).map(drop)
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
            None => self.prepared_connection()?.statements[number].width,
        };
        rows.reset(width.max(usize::from(plan.key.is_some())));
        let commits = plan.writes && state == TransactionState::Idle;
        let count = self.execute_statement(number, parameters, commits, |row| {
            (0..width).try_for_each(|column| {
                rows.push(row.try_get::<_, AnsweredCell<'_>>(column)?.value());
                Ok(())
            })
        })?;
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
