//! Reads columns: checks types, and that there is no more than a run can have.

use std::fmt;

use hdrhistogram::Histogram;
use rusqlite::Row;
use rusqlite::types::{Type, ValueRef};
use serde::de::{self, DeserializeOwned, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::error::SizeLimitError;
use crate::histogram::from_bytes;
use crate::outline::Outline;
use crate::text::{escape_unseen, visible_json};

/// The most rows of a table: ten for each trial of the largest run.
const MOST_ROWS: u64 = 1_000_000;

/// Seconds, bytes or whatever: more than any machine has or does, and its square is a number, too.
const LARGEST: f64 = 1e18;

/// Seconds: a picosecond. Nothing that is measured takes less.
const SMALLEST: f64 = 1e-12;

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
    let text = visible_json(row.get_ref(column)?.as_str()?);
    let known = serde_json::from_str(&text).map_err(|error| reject_column(column, error))?;
    let checked = serde_json::from_str::<FigureCheck>(&text);
    checked.map(|_| known).map_err(|error| reject_column(column, error))
}

/// Reads any JSON and keeps nothing; fails where a number is no figure.
struct FigureCheck;

impl<'de> Deserialize<'de> for FigureCheck {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for FigureCheck {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self, E> {
        match value.abs() <= LARGEST {
            true => Ok(self),
            false => Err(E::custom(format!("{value:e} is not a figure of a run"))),
        }
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Self, A::Error> {
        while items.next_entry::<IgnoredAny, Self>()?.is_some() {}
        Ok(self)
    }
}

/// A report divides by times and rates.
fn check_figure(name: &str, value: f64) -> Result<(), String> {
    let least = match name {
        _ if name.ends_with("mean_s") => SMALLEST,
        "per_second" if value != 0.0 => SMALLEST,
        _ => 0.0,
    };
    match (least..=LARGEST).contains(&value) {
        true => Ok(()),
        false => Err(format!("{name} is {value:?}, and that is not a figure of a run")),
    }
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

    /// Counts a row and checks its figures.
    pub(crate) fn take_row(&mut self, row: &Row) -> rusqlite::Result<()> {
        let mut bytes = 0;
        for column in 0..row.as_ref().column_count() {
            match row.get_ref(column)? {
                ValueRef::Text(value) | ValueRef::Blob(value) => bytes += value.len() as u64,
                ValueRef::Real(value) => check_figure(row.as_ref().column_name(column)?, value)
                    .map_err(|why| reject_column(column, why))?,
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
