//! Reads the values of a column: checks their types, and that there are no more of them than a run
//! can have.

use hdrhistogram::Histogram;
use rusqlite::Row;
use rusqlite::types::{Type, ValueRef};
use serde::de::DeserializeOwned;

use crate::error::TooMuch;
use crate::histogram::from_bytes;
use crate::outline::Outline;
use crate::text::{visible, visible_json};

/// The most rows that are read of a table: ten for each trial of the largest run.
const MOST_ROWS: u64 = 1_000_000;

/// The most bytes of text that are read of a table, and so the most that is in memory at once.
const MOST_TEXT: u64 = 128 << 20;

/// The most bytes of histograms that are read for a report; one trial's at a time are in memory.
const MOST_HISTOGRAMS: u64 = 4 << 30;

/// A histogram.
pub(crate) fn histogram(row: &Row, column: usize) -> rusqlite::Result<Histogram<u64>> {
    let bytes = row.get_ref(column)?.as_blob()?;
    from_bytes(bytes).map_err(|why| unreadable(column, why))
}

/// What a histogram comes to.
pub(crate) fn outline(row: &Row, column: usize) -> rusqlite::Result<Outline> {
    let bytes = row.get_ref(column)?.as_blob()?;
    Outline::read(bytes).map_err(|why| unreadable(column, why))
}

/// A histogram, where there may be none.
pub(crate) fn optional_histogram(
    row: &Row,
    column: usize,
) -> rusqlite::Result<Option<Histogram<u64>>> {
    let bytes = row.get_ref(column)?.as_blob_or_null()?;
    bytes.map(from_bytes).transpose().map_err(|why| unreadable(column, why))
}

/// What a column says in JSON, its strings as they may be shown.
pub(crate) fn json<T: DeserializeOwned>(row: &Row, column: usize) -> rusqlite::Result<T> {
    let text = row.get_ref(column)?.as_str()?;
    serde_json::from_str(&visible_json(text)).map_err(|error| unreadable(column, error))
}

/// Words that somebody wrote, as they may be shown.
pub(crate) fn text(row: &Row, column: usize) -> rusqlite::Result<String> {
    Ok(visible(row.get_ref(column)?.as_str()?).into_owned())
}

/// The same, where there may be none.
pub(crate) fn optional_text(row: &Row, column: usize) -> rusqlite::Result<Option<String>> {
    let text = row.get_ref(column)?.as_str_or_null()?;
    Ok(text.map(|text| visible(text).into_owned()))
}

/// How much more is read of a table.
pub(crate) struct ReadBudget {
    rows: u64,
    bytes: u64,
}

impl ReadBudget {
    pub(crate) fn of_a_table() -> Self {
        Self { rows: MOST_ROWS, bytes: MOST_TEXT }
    }

    /// Of the histograms of a whole run.
    pub(crate) fn of_histograms() -> Self {
        Self { rows: MOST_ROWS, bytes: MOST_HISTOGRAMS }
    }

    /// Counts a row, and sees that its figures are numbers.
    pub(crate) fn take(&mut self, row: &Row) -> rusqlite::Result<()> {
        let mut bytes = 0;
        for column in 0..row.as_ref().column_count() {
            match row.get_ref(column)? {
                ValueRef::Text(value) | ValueRef::Blob(value) => bytes += value.len() as u64,
                ValueRef::Real(value) if !value.is_finite() => {
                    return Err(unreadable(column, format!("{value} is not a figure")));
                }
                _ => {}
            }
        }
        let too_much = |of| unreadable(0, TooMuch(format!("a table has more {of} than any run’s")));
        self.rows = self.rows.checked_sub(1).ok_or_else(|| too_much("rows"))?;
        self.bytes = self.bytes.checked_sub(bytes).ok_or_else(|| too_much("bytes"))?;
        Ok(())
    }
}

/// What stands in a column is not what is ever written there.
pub(crate) fn unreadable(
    column: usize,
    why: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, why.into())
}
