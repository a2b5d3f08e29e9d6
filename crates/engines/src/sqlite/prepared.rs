//! A connection with its prepared statements, which take and give the engines' values.

use rusqlite::Connection;
use rusqlite::types::{Null, ValueRef};
use self_cell::self_cell;

use crate::{Error, Result, Rows, Value};

type SqliteStatements<'connection> = Vec<rusqlite::Statement<'connection>>;

self_cell!(
    /// A connection and the statements that are prepared on it.
    pub(super) struct SqliteConnection {
        owner: Connection,
        #[not_covariant]
        dependent: SqliteStatements,
    }
);

/// Prepares statements on a connection.
pub(super) fn prepare(connection: Connection, texts: &[String]) -> Result<SqliteConnection> {
    SqliteConnection::try_new(connection, |connection| {
        texts.iter().map(|text| Ok(connection.prepare(text)?)).collect()
    })
}

impl SqliteConnection {
    pub fn execute(&mut self, number: usize, parameters: &[Value<'_>]) -> Result<u64> {
        self.with_dependent_mut(|_, statements| {
            bind(&mut statements[number], parameters)?;
            Ok(statements[number].raw_execute()? as u64)
        })
    }

    pub fn query(
        &mut self,
        number: usize,
        parameters: &[Value<'_>],
        width: usize,
        rows: &mut Rows,
    ) -> Result<u64> {
        self.with_dependent_mut(|_, statements| {
            bind(&mut statements[number], parameters)?;
            let mut found = statements[number].raw_query();
            while let Some(row) = found.next()? {
                for column in 0..width {
                    rows.push(value(row.get_ref(column)?)?);
                }
            }
            Ok(rows.len() as u64)
        })
    }
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
            Value::Text(text) => statement.raw_bind_parameter(number, text)?,
        }
    }
    Ok(())
}

fn value(cell: ValueRef<'_>) -> Result<Value<'_>> {
    match cell {
        ValueRef::Null => Ok(Value::Null),
        ValueRef::Integer(int) => Ok(Value::Int(int)),
        ValueRef::Text(text) => Ok(Value::Text(std::str::from_utf8(text).map_err(Error::engine)?)),
        ValueRef::Real(_) | ValueRef::Blob(_) => {
            Err(Error::engine("SQLite answered with what is neither an integer nor text"))
        }
    }
}
