//! Answers in a form in which engines that keep their contract agree: rows whose order is the engine's
//! choice are sorted, and rows that are its choice are counted.

use std::fmt::Write as _;

use bakeoff_engines::statement::{ReadOrder, TableRead, Yield};
use bakeoff_engines::{Action, Error, Rows, Value};

use super::Digest;
use super::ids::Ids;

/// Characters of an answer that are kept as they are; of a longer one so many, and a digest.
const MOST: usize = 100;

/// Whether a read leaves the order of its rows to the engine.
pub fn is_unordered(action: &Action) -> bool {
    matches!(action, Action::Read(read) if is_free(read))
}

/// A sum is one row, and distinct values ascend.
fn is_free(read: &TableRead) -> bool {
    read.order == ReadOrder::Any && matches!(read.yields, Yield::Columns(_))
}

/// Sorts the rows of an answer by their cells.
pub fn sort(rows: &mut Rows) {
    let unsorted = rows.clone();
    let mut order: Vec<usize> = (0..unsorted.len()).collect();
    order.sort_by_cached_key(|row| unsorted.row(*row).collect::<Vec<_>>());
    rows.reset(unsorted.width());
    order.iter().flat_map(|row| unsorted.row(*row)).for_each(|cell| rows.push(cell));
}

/// An answer to a statement in words: how many rows were read or changed, and which.
pub fn answer(action: &Action, count: u64, rows: &Rows) -> String {
    match action {
        Action::Read(read) if read.order == ReadOrder::Any && is_cut(read, count) => {
            format!("{count} of the rows")
        }
        Action::Read(_) => shortened(format!("{count} rows:{}", cells(rows))),
        Action::Insert { .. } => format!("inserted{}", cells(rows)),
        Action::Upsert { .. } | Action::Update { .. } | Action::Delete { .. } => {
            format!("{count} changed")
        }
    }
}

/// Whether a limit may have left out rows, so that which of them are answered is the engine's choice.
/// What is looked at for a sum or for distinct values is not seen.
fn is_cut(read: &TableRead, count: u64) -> bool {
    let full = |limit: u32| count >= u64::from(limit) || !matches!(read.yields, Yield::Columns(_));
    read.limit.is_some_and(full)
}

/// The kind of an error, in words.
pub fn error(error: &Error) -> &'static str {
    match error {
        Error::Duplicate(_) => "an error: the row is there already",
        Error::Conflict(_) => "an error: a conflict",
        Error::InDoubt(_) | Error::Usage(_) | Error::Engine(_) => "an error",
    }
}

fn cells(rows: &Rows) -> String {
    let mut text = String::new();
    for row in 0..rows.len() {
        let cells: Vec<String> = rows.row(row).map(cell).collect();
        write!(text, " ({})", cells.join(", ")).expect("a string takes all");
    }
    text
}

fn cell(value: Value<'_>) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Int(number) => Ids::number(number)
            .map_or_else(|| number.to_string(), |number| format!("new key {number}")),
        Value::Text(text) => format!("{text:?}"),
    }
}

fn shortened(text: String) -> String {
    let Some((end, _)) = text.char_indices().nth(MOST) else { return text };
    let mut digest = Digest::default();
    digest.add(&text);
    format!("{}… ({} characters, digest {:016x})", &text[..end], text.chars().count(), digest.0)
}
