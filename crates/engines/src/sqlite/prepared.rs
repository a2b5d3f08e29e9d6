//! A connection with its statements, which take and give the engines' values.

use rusqlite::Connection;
use rusqlite::types::{Null, ValueRef};
use self_cell::self_cell;

use crate::sql::session::SqlStatements;
use crate::{Error, Preparation, Result, Rows, SqlText, Value};

/// By number.
pub(super) enum SqliteStatements<'connection> {
    Prepared(Vec<rusqlite::Statement<'connection>>),
    /// Each is prepared when it runs.
    Texts(Vec<String>),
}

self_cell!(
    pub(super) struct SqliteConnection {
        owner: Connection,
        #[not_covariant]
        dependent: SqliteStatements,
    }
);

pub(super) fn prepare_texts(connection: Connection, texts: &[String]) -> Result<SqliteConnection> {
    SqliteConnection::try_new(connection, |connection| {
        let prepared = texts.iter().map(|text| Ok(connection.prepare(text)?));
        Ok(SqliteStatements::Prepared(prepared.collect::<Result<_>>()?))
    })
}

pub(super) fn prepare_statements<P>(
    connection: Connection,
    statements: &SqlStatements<P>,
    preparation: Preparation,
) -> Result<SqliteConnection> {
    SqliteConnection::try_new(connection, |connection| {
        let prepare =
            |text: &str, written: Option<&SqlText>| prepare_statement(connection, text, written);
        let prepared = statements.prepare_each(prepare)?;
        Ok(match preparation {
            Preparation::OncePerSession => SqliteStatements::Prepared(prepared),
            Preparation::EachExecution => SqliteStatements::Texts(statements.texts.clone()),
        })
    })
}

pub(super) fn prepare_statement<'connection>(
    connection: &'connection Connection,
    text: &str,
    written: Option<&SqlText>,
) -> Result<rusqlite::Statement<'connection>> {
    let statement = connection.prepare(text)?;
    if let Some(written) = written {
        written.check_count(statement.parameter_count())?;
        if !written.writes && !statement.readonly() {
            return Err(Error::Usage("it writes, and is declared to read only".into()));
        }
    }
    Ok(statement)
}

impl SqliteConnection {
    pub fn execute(&mut self, number: usize, parameters: &[Value<'_>]) -> Result<u64> {
        self.use_statement(number, |statement| execute(statement, parameters))
    }

    fn use_statement<T>(
        &mut self,
        number: usize,
        run: impl FnOnce(&mut rusqlite::Statement<'_>) -> Result<T>,
    ) -> Result<T> {
        self.with_dependent_mut(|connection, statements| match statements {
            SqliteStatements::Prepared(prepared) => run(&mut prepared[number]),
            SqliteStatements::Texts(texts) => run(&mut connection.prepare(&texts[number])?),
        })
    }

    /// Runs what a user wrote: it answers with rows if it has columns.
    pub fn run_written(
        &mut self,
        number: usize,
        parameters: &[Value<'_>],
        rows: &mut Rows,
    ) -> Result<u64> {
        self.use_statement(number, |statement| {
            let width = statement.column_count();
            rows.reset(width);
            match width {
                0 => execute(statement, parameters),
                _ => query(statement, parameters, width, rows),
            }
        })
    }

    pub fn query(
        &mut self,
        number: usize,
        parameters: &[Value<'_>],
        width: usize,
        rows: &mut Rows,
    ) -> Result<u64> {
        self.use_statement(number, |statement| query(statement, parameters, width, rows))
    }
}

fn execute(statement: &mut rusqlite::Statement<'_>, parameters: &[Value<'_>]) -> Result<u64> {
    bind(statement, parameters)?;
    Ok(statement.raw_execute()? as u64)
}

fn query(
    statement: &mut rusqlite::Statement<'_>,
    parameters: &[Value<'_>],
    width: usize,
    rows: &mut Rows,
) -> Result<u64> {
    bind(statement, parameters)?;
    let mut found = statement.raw_query();
    while let Some(row) = found.next()? {
        for column in 0..width {
            rows.push(value(row.get_ref(column)?)?);
        }
    }
    Ok(rows.len() as u64)
}

fn bind(statement: &mut rusqlite::Statement<'_>, parameters: &[Value<'_>]) -> Result<()> {
    let wanted = statement.parameter_count();
    if parameters.len() != wanted {
        let given = parameters.len();
        return Err(Error::Usage(format!("{given} parameters for a statement of {wanted}")));
    }
    for (number, parameter) in (1..).zip(parameters) {
        match *parameter {
            Value::Null => statement.raw_bind_parameter(number, Null)?,
            Value::Int(int) => statement.raw_bind_parameter(number, int)?,
            Value::Real(real) => statement.raw_bind_parameter(number, real.get())?,
            Value::Text(text) => statement.raw_bind_parameter(number, text)?,
            Value::Bytes(bytes) => statement.raw_bind_parameter(number, bytes)?,
        }
    }
    Ok(())
}

fn value(cell: ValueRef<'_>) -> Result<Value<'_>> {
    match cell {
        ValueRef::Null => Ok(Value::Null),
        ValueRef::Integer(int) => Ok(Value::Int(int)),
        ValueRef::Text(text) => {
            Ok(Value::Text(std::str::from_utf8(text).map_err(Error::from_engine)?))
        }
        ValueRef::Real(real) => Ok(Value::from(real)),
        ValueRef::Blob(bytes) => Ok(Value::Bytes(bytes)),
    }
}
