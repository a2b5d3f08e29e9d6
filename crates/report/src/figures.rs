//! Figures in rows and columns, as text that is ready to be set.

use serde::Serialize;

use crate::words;

/// What stands where there is no figure.
pub const NONE: &str = "–";

/// The figures of one operation.
#[derive(Serialize)]
pub struct Figures {
    /// The columns that say something of at least one contender: what matters most comes first,
    /// where a narrow screen shows it.
    pub columns: Vec<Column>,
    /// A row for each setting and level.
    pub rows: Vec<Row>,
}

/// A column of figures.
#[derive(Serialize)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// How it is set: `n` is a number, `strong` what the eye looks for, `v` the verdict.
    pub class: &'static str,
}

/// One cell's figures of one operation.
#[derive(Serialize)]
pub struct Row {
    /// The levels of the factors that vary, in their order.
    pub setting: Vec<String>,
    /// The same in words, for a screen that has no room for their columns.
    pub place: String,
    /// Whether this is the setting's first row.
    pub first: bool,
    /// The compared factor's level.
    pub level: String,
    /// Its place among the levels.
    pub series: usize,
    /// What is wrong with the cell as a whole.
    pub marks: Vec<Mark>,
    /// A text for each column.
    pub cells: Vec<String>,
}

/// Something that is wrong with a cell as a whole.
#[derive(Clone, Copy, Serialize)]
pub struct Mark {
    /// What, in a word or two.
    pub text: &'static str,
    /// The section of a page that says more.
    pub section: &'static str,
}

/// Which columns have a text or figure in some row.
pub fn said<'a>(columns: usize, rows: impl Iterator<Item = &'a Vec<String>>) -> Vec<bool> {
    let mut said = vec![false; columns];
    for row in rows {
        for (said, cell) in said.iter_mut().zip(row) {
            *said |= !cell.is_empty() && cell != NONE;
        }
    }
    said
}

/// Drops what stands at the other places.
pub fn keep<T>(items: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    items.retain(|_| kept.next().copied().unwrap_or(true));
}

/// A latency, or that there is none.
pub fn latency(seconds: Option<f64>) -> String {
    latency_or_more(seconds, false)
}

/// A latency, or that it is more where operations were cut off, or that there is none.
pub fn latency_or_more(seconds: Option<f64>, cut_off: bool) -> String {
    seconds.map_or(NONE.into(), |seconds| words::seconds_or_more(seconds, cut_off))
}
