//! Rows that are copied from elsewhere: from a database by URL, or from its dump.
//!
//! They go once through a rows file: a SQLite database outside of the run folder that its user
//! alone may read. Types come from the schema, never from data. A column that has a generator is
//! not copied.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use dump::{DumpTaker, read_dump};
pub use dump_text::DumpText;
pub use dump_value::DumpRow;
pub use fields::BytesForm;
pub use reader::{CopiedReader, SampledValue};
pub use request::CopyRequest;

mod checks;
mod copier;
mod database;
mod dump;
mod dump_text;
mod dump_value;
mod faults;
mod fields;
mod reader;
mod request;

/// A rows file, and what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopiedRows {
    /// The rows file.
    pub path: PathBuf,
    /// The source without a password.
    pub origin: String,
    /// Tells its contents apart. Who doesn't know it can't have the file read.
    pub fingerprint: String,
    /// Tables that were copied.
    pub tables: Vec<CopiedTable>,
    /// No earlier run has the same rows file.
    #[serde(skip)]
    pub is_new: bool,
}

/// A table that was copied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopiedTable {
    /// The number of the table in the schema.
    pub table: usize,
    /// The numbers of the columns that were copied.
    pub columns: Vec<usize>,
    /// How many rows it has.
    pub rows: i64,
    /// How many of them are in the sample for `\\pick` and `ref`.
    pub sampled: i64,
    /// Bytes of its values.
    pub bytes: u64,
}

impl CopiedRows {
    /// Where the rows are from, and how to delete them; for the report.
    pub fn describe(&self) -> String {
        format!(
            "copied from {} into a file of this machine (delete it with `rm '{}'`)",
            self.origin,
            self.path.display()
        )
    }
}

/// The name of a table's rows in a rows file.
fn name_rows(table: usize) -> String {
    format!("rows_{table}")
}

/// The name of a table's sample in a rows file.
fn name_sample(table: usize) -> String {
    format!("sample_{table}")
}

/// Columns of a rows file, by their numbers in the schema.
fn name_columns(columns: &[usize]) -> String {
    let names: Vec<String> = columns.iter().map(|column| format!("c{column}")).collect();
    names.join(", ")
}
