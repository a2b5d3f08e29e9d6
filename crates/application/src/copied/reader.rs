//! Reads a rows file: all rows of a table in order, or its sample.

use std::sync::{Mutex, OnceLock, PoisonError};

use bakeoff_engines::{Schema, Value};
use bakeoff_workloads::{RowsError, SourceError, Take};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use super::copier::name_order;
use super::{CopiedRows, CopiedTable, name_columns, name_rows, name_sample};

/// A value that is kept in memory.
#[derive(Debug, PartialEq)]
pub enum SampledValue {
    Null,
    Int(i64),
    Real(f64),
    Text(Box<str>),
    Bytes(Box<[u8]>),
}

/// A rows file that is open. Samples are read when they are asked for.
#[derive(Debug)]
pub struct CopiedReader {
    tables: Vec<ReadTable>,
    rows: Mutex<Connection>,
    samples: Mutex<Connection>,
}

#[derive(Debug)]
struct ReadTable {
    copied: CopiedTable,
    /// How many columns it has with those that were not copied.
    width: usize,
    order: String,
    /// The rows' numbers, then one a column that was copied.
    sample: Vec<OnceLock<Vec<SampledValue>>>,
}

impl CopiedReader {
    /// Opens a rows file of an application with this schema.
    pub fn open(copied: &CopiedRows, schema: &Schema) -> Result<Self, String> {
        let path = &copied.path;
        let gone = |why: String| {
            format!(
                "the copied rows {} can't be read: {why}; copy them again, in a new run with \
                 --rows-from",
                path.display()
            )
        };
        let open = || {
            let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            connection.execute_batch("PRAGMA cache_size = -16384")?;
            let text = "SELECT fingerprint FROM about";
            let found: String = connection.query_row(text, [], |row| row.get(0))?;
            Ok((connection, found == copied.fingerprint))
        };
        let opened = |result: rusqlite::Result<(Connection, bool)>| match result {
            Ok((connection, true)) => Ok(connection),
            Ok((_, false)) => Err(gone("other rows are there now".into())),
            Err(error) => Err(gone(error.to_string())),
        };
        let (rows, samples) = (opened(open())?, opened(open())?);
        let read = |copied: &CopiedTable| {
            let table = schema.tables.get(copied.table)?;
            let width = table.columns.len();
            copied.columns.iter().all(|it| *it < width).then(|| ReadTable {
                width,
                order: name_order(&table.key, &copied.columns),
                sample: (0..=copied.columns.len()).map(|_| OnceLock::new()).collect(),
                copied: copied.clone(),
            })
        };
        let tables: Option<Vec<ReadTable>> = copied.tables.iter().map(read).collect();
        let tables = tables.ok_or_else(|| gone("they are of another schema".into()))?;
        Ok(Self { tables, rows: rows.into(), samples: samples.into() })
    }

    fn find_table(&self, table: usize) -> Option<&ReadTable> {
        self.tables.iter().find(|it| it.copied.table == table)
    }

    /// How many rows a table has, if it was copied.
    pub fn count_rows(&self, table: usize) -> Option<i64> {
        self.find_table(table).map(|it| it.copied.rows)
    }

    /// Whether the sample has all rows of a table.
    pub fn has_whole_sample(&self, table: usize) -> bool {
        self.find_table(table).is_some_and(|it| it.copied.rows == it.copied.sampled)
    }

    /// Whether a column was copied.
    pub fn has_column(&self, table: usize, column: usize) -> bool {
        self.find_table(table).is_some_and(|it| it.copied.columns.contains(&column))
    }

    /// Calls `take` with each row of a table in the order of its key; what was not copied is null.
    pub fn for_each_row(&self, table: usize, take: &mut Take<'_>) -> Result<(), RowsError> {
        let Some(read) = self.find_table(table) else { return Ok(()) };
        let broken = |error: rusqlite::Error| SourceError::new(format!("the copied rows: {error}"));
        let connection = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let columns = match &read.copied.columns[..] {
            [] => "NULL".to_owned(),
            some => name_columns(some),
        };
        let (from, order) = (name_rows(table), &read.order);
        let text = format!("SELECT {columns} FROM {from} ORDER BY {order}");
        let mut select = connection.prepare(&text).map_err(broken)?;
        let mut rows = select.query([]).map_err(broken)?;
        while let Some(row) = rows.next().map_err(broken)? {
            let mut values = vec![Value::Null; read.width];
            for (at, column) in read.copied.columns.iter().enumerate() {
                values[*column] = read_cell(row, at).map_err(broken)?;
            }
            take(&values)?;
        }
        Ok(())
    }

    /// The number of the row in the sample that stands for a row, and its place in the sample.
    pub fn find_sampled(&self, table: usize, row: i64) -> (i64, usize) {
        let Some(read) = self.find_table(table) else { return (row, 0) };
        let place = row.rem_euclid(read.copied.sampled.max(1)) as usize;
        match self.sampled_column(read, 0).get(place) {
            Some(SampledValue::Int(number)) => (*number, place),
            _ => (row, place),
        }
    }

    /// The value of a column that was copied, at a place of the sample.
    pub fn sampled_value(&self, table: usize, column: usize, place: usize) -> &SampledValue {
        let find = || {
            let read = self.find_table(table)?;
            let at = read.copied.columns.iter().position(|it| *it == column)?;
            self.sampled_column(read, at + 1).get(place)
        };
        find().unwrap_or(&SampledValue::Null)
    }

    /// A file that can't be read any more has no values.
    fn sampled_column<'r>(&self, read: &'r ReadTable, at: usize) -> &'r [SampledValue] {
        let column = match at {
            0 => "number".to_owned(),
            at => format!("c{}", read.copied.columns[at - 1]),
        };
        read.sample[at].get_or_init(|| {
            let connection = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
            let from = name_sample(read.copied.table);
            let text = format!("SELECT {column} FROM {from} ORDER BY rowid");
            let values = connection.prepare(&text).and_then(|mut select| {
                let values = select.query_map([], |row| Ok(keep_value(read_cell(row, 0)?)))?;
                values.collect()
            });
            values.unwrap_or_default()
        })
    }
}

fn read_cell<'r>(row: &'r Row<'_>, at: usize) -> rusqlite::Result<Value<'r>> {
    Ok(match row.get_ref(at)? {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(int) => Value::Int(int),
        ValueRef::Real(real) => Value::from(real),
        ValueRef::Text(text) => Value::from_text_or_bytes(text),
        ValueRef::Blob(bytes) => Value::Bytes(bytes),
    })
}

fn keep_value(value: Value<'_>) -> SampledValue {
    match value {
        Value::Null => SampledValue::Null,
        Value::Int(int) => SampledValue::Int(int),
        Value::Real(real) => SampledValue::Real(real.get()),
        Value::Text(text) => SampledValue::Text(text.into()),
        Value::Bytes(bytes) => SampledValue::Bytes(bytes.into()),
    }
}
