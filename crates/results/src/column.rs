//! Reads columns: checks types, and that there is no more than a run can have.

use hdrhistogram::Histogram;
use rusqlite::Row;
use rusqlite::types::{Type, ValueRef};
use serde::de::DeserializeOwned;

use crate::error::SizeLimitError;
use crate::histogram::from_bytes;
use crate::outline::Outline;
use crate::text::{escape_unseen, visible_json};

/// The most rows of a table: ten for each trial of the largest run.
const MOST_ROWS: u64 = 1_000_000;

/// Bytes of a table's texts, and so the most in memory at once.
const MOST_TEXT: u64 = 128 << 20;

/// Bytes for a report; only one trial's are in memory.
const MOST_HISTOGRAMS: u64 = 4 << 30;

pub(crate) fn read_histogram(row: &Row, column: usize) -> rusqlite::Result<Histogram<u64>> {
    let bytes = row.get_ref(column)?.as_blob()?;
    from_bytes(bytes).map_err(|why| reject_column(column, why))
}

pub(crate) fn read_outline(row: &Row, column: usize) -> rusqlite::Result<Outline> {
    let bytes = row.get_ref(column)?.as_blob()?;
    Outline::from_bytes(bytes).map_err(|why| reject_column(column, why))
}

pub(crate) fn optional_histogram(
    row: &Row,
    column: usize,
) -> rusqlite::Result<Option<Histogram<u64>>> {
    let bytes = row.get_ref(column)?.as_blob_or_null()?;
    bytes.map(from_bytes).transpose().map_err(|why| reject_column(column, why))
}

pub(crate) fn read_json<T: DeserializeOwned>(row: &Row, column: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    serde_json::from_str(&visible_json(text)).map_err(|error| reject_column(column, error))
}

pub(crate) fn read_text(row: &Row, column: usize) -> rusqlite::Result<String> {
    Ok(escape_unseen(row.get_ref(column)?.as_str()?).into_owned())
}

pub(crate) fn optional_text(row: &Row, column: usize) -> rusqlite::Result<Option<String>> {
    let text = row.get_ref(column)?.as_str_or_null()?;
    Ok(text.map(|text| escape_unseen(text).into_owned()))
}

pub(crate) struct ReadBudget {
    rows: u64,
    bytes: u64,
}

impl ReadBudget {
    pub(crate) fn of_a_table() -> Self {
        Self { rows: MOST_ROWS, bytes: MOST_TEXT }
    }

    pub(crate) fn of_histograms() -> Self {
        Self { rows: MOST_ROWS, bytes: MOST_HISTOGRAMS }
    }

    /// Counts a row and checks that its numbers are finite.
    pub(crate) fn take_row(&mut self, row: &Row) -> rusqlite::Result<()> {
        let mut bytes = 0;
        for column in 0..row.as_ref().column_count() {
            match row.get_ref(column)? {
                ValueRef::Text(value) | ValueRef::Blob(value) => bytes += value.len() as u64,
                ValueRef::Real(value) if !value.is_finite() => {
                    return Err(reject_column(column, format!("{value} is not a figure")));
                }
                _ => {}
            }
        }
        let too_much =
            |of| reject_column(0, SizeLimitError(format!("a table has more {of} than any run’s")));
        self.rows = self.rows.checked_sub(1).ok_or_else(|| too_much("rows"))?;
        self.bytes = self.bytes.checked_sub(bytes).ok_or_else(|| too_much("bytes"))?;
        Ok(())
    }
}

pub(crate) fn reject_column(
    column: usize,
    why: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, why.into())
}
