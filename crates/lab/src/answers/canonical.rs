//! A form of answers in which engines that keep their contract agree. Rows whose order is the
//! engine's choice are sorted; rows that the engine chooses are only counted.

use std::fmt::Write as _;

use bakeoff_engines::statement::{ReadOrder, TableRead, Yield};
use bakeoff_engines::{Action, Error, Rows, SqlText, Value};

use super::Digest;
use super::generated_keys::Ids;

/// Longer answers are cut to this many characters, with a digest.
const MOST: usize = 100;
/// Of their rows so many characters are kept, to show where two of them differ.
const MOST_KEPT: usize = 10_000;

pub fn is_unordered(action: &Action) -> bool {
    match action {
        Action::Read(read) => is_free(read),
        // Nobody knows whether its text asks for an order.
        Action::Sql(_) => true,
        _ => false,
    }
}

fn is_free(read: &TableRead) -> bool {
    read.order == ReadOrder::Any && matches!(read.yields, Yield::Columns(_))
}

pub fn sort_rows(rows: &mut Rows) {
    let unsorted = rows.clone();
    let mut order: Vec<usize> = (0..unsorted.len()).collect();
    order.sort_by_cached_key(|row| unsorted.row(*row).collect::<Vec<_>>());
    rows.reset(unsorted.width());
    order.iter().flat_map(|row| unsorted.row(*row)).for_each(|cell| rows.push(cell));
}

pub fn format_answer(action: &Action, count: u64, rows: &Rows) -> String {
    match action {
        Action::Read(read) if read.order == ReadOrder::Any && is_cut(read, count) => {
            format!("{count} of the rows")
        }
        Action::Read(_) => shorten_text(format!("{count} rows:{}", format_rows(rows))),
        Action::Insert { .. } => format!("inserted{}", format_rows(rows)),
        Action::Upsert { .. } | Action::Update { .. } | Action::Delete { .. } => {
            format!("{count} changed")
        }
        Action::Sql(text) if rows.width() == 0 && counts_replaced_twice(text) => {
            if count > 0 {
                "rows changed".into()
            } else {
                "0 changed".into()
            }
        }
        Action::Sql(_) if rows.width() == 0 => format!("{count} changed"),
        Action::Sql(_) => shorten_text(format!("{count} rows:{}", format_rows(rows))),
    }
}

/// MariaDB counts a row twice that an upsert has replaced.
fn counts_replaced_twice(text: &SqlText) -> bool {
    let words: Vec<String> = text.mysql.split_whitespace().map(str::to_ascii_uppercase).collect();
    words.windows(3).any(|three| three == ["ON", "DUPLICATE", "KEY"])
}

/// Whether a limit may have left out rows: then the engine chooses which rows it returns. The limit
/// of a sum or of distinct values can't be seen in the count.
fn is_cut(read: &TableRead, count: u64) -> bool {
    let full = |limit: u32| count >= u64::from(limit) || !matches!(read.yields, Yield::Columns(_));
    read.limit.is_some_and(full)
}

pub fn describe_error(error: &Error) -> &'static str {
    match error {
        Error::Duplicate(_) => "an error: the row is there already",
        Error::Conflict(_) => "an error: a conflict",
        Error::InDoubt(_) | Error::Usage(_) | Error::Engine(_) => "an error",
    }
}

fn format_rows(rows: &Rows) -> String {
    let mut text = String::new();
    for row in 0..rows.len() {
        let cells: Vec<String> = rows.row(row).map(format_value).collect();
        write!(text, " ({})", cells.join(", ")).expect("a string takes all");
    }
    text
}

/// The rows of an answer whose text was cut, up to [`MOST_KEPT`] characters.
pub fn keep_rows(text: &str, rows: &Rows) -> Vec<Vec<String>> {
    if text.chars().count() <= MOST {
        return Vec::new();
    }
    let (mut left, mut kept) = (MOST_KEPT, Vec::new());
    for row in 0..rows.len() {
        let mut cells = Vec::new();
        for value in rows.row(row) {
            let cell: String = format_value(value).chars().take(left).collect();
            left -= cell.chars().count();
            cells.push(cell);
        }
        kept.push(cells);
        if left == 0 {
            break;
        }
    }
    kept
}

fn format_value(value: Value<'_>) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Int(number) => Ids::key_number(number)
            .map_or_else(|| number.to_string(), |number| format!("new key {number}")),
        Value::Real(real) => format_real(real.get()),
        Value::Text(text) => format!("{text:?}"),
        // Some engines don't tell bytes from text.
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => format!("{text:?}"),
            Err(_) => format_hexadecimal(bytes),
        },
    }
}

/// To ten digits, or more if more are before the point: engines add in different orders.
fn format_real(real: f64) -> String {
    let before = if real.abs() >= 1.0 { real.abs().log10().floor() as usize + 1 } else { 0 };
    let digits = before.clamp(10, 15);
    let rounded = format!("{real:.*e}", digits - 1).parse::<f64>().map_or(Value::Null, Value::from);
    match rounded {
        Value::Int(whole) => whole.to_string(),
        Value::Real(real) => format!("{:?}", real.get()),
        Value::Null | Value::Text(_) | Value::Bytes(_) => real.to_string(),
    }
}

fn format_hexadecimal(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("X'{digits}'")
}

fn shorten_text(text: String) -> String {
    let Some((end, _)) = text.char_indices().nth(MOST) else { return text };
    let mut digest = Digest::default();
    digest.add(&text);
    format!("{}… ({} characters, digest {:016x})", &text[..end], text.chars().count(), digest.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_engines::statement::AccessPath;

    /// Which rows come where a limit is reached, and none is asked for first, is the engine's choice.
    #[test]
    fn rows_that_the_engine_chooses_are_counted_alone() {
        for (order, limit, yields, told) in [
            (ReadOrder::Any, Some(2), Yield::Columns(vec![0]), "2 of the rows"),
            (ReadOrder::Any, Some(1), Yield::Columns(vec![0]), "2 of the rows"),
            (ReadOrder::Any, Some(3), Yield::Columns(vec![0]), "2 rows: (1) (2)"),
            (ReadOrder::Any, None, Yield::Columns(vec![0]), "2 rows: (1) (2)"),
            (ReadOrder::Ascending, Some(2), Yield::Columns(vec![0]), "2 rows: (1) (2)"),
            (ReadOrder::Any, Some(9), Yield::Distinct(0), "2 of the rows"),
        ] {
            let read = TableRead::by_prefix(0, AccessPath::Key, 0, &[0]);
            let read = TableRead { order, limit, yields, ..read };
            let mut rows = Rows::new();
            rows.reset(1);
            [1, 2].into_iter().for_each(|cell| rows.push(Value::Int(cell)));
            assert_eq!(format_answer(&Action::Read(read.clone()), 2, &rows), told, "{read:?}");
        }
    }

    fn sql(mysql: &str) -> Action {
        let text = SqlText {
            sqlite: String::new(),
            mysql: mysql.into(),
            postgres: String::new(),
            place: "it.sql:1".into(),
            why: "it".into(),
            writes: true,
            parameters: 0,
        };
        Action::Sql(text)
    }

    #[test]
    fn numbers_that_differ_in_their_last_digits_are_the_same() {
        for (real, text) in [
            (0.1 + 0.2, "0.3"),
            (0.30000000004, "0.3"),
            (0.3001, "0.3001"),
            (3.0000000000001, "3"),
            (-2.9999999999999, "-3"),
            (12_345_678_901.000_001, "12345678901"),
            (99_999_999.99, "99999999.99"),
            (1e308, "1e308"),
            (1.5e-300, "1.5e-300"),
        ] {
            assert_eq!(format_value(Value::Real(real.into())), text, "{real}");
        }
        assert_eq!(format_value(Value::Int(3)), "3");
    }

    #[test]
    fn text_and_the_same_bytes_are_the_same_answer() {
        let told = |cells: [Value<'_>; 2]| {
            let mut rows = Rows::new();
            rows.reset(1);
            cells.into_iter().for_each(|cell| rows.push(cell));
            sort_rows(&mut rows);
            format_answer(&sql("SELECT 1"), 2, &rows)
        };
        let bytes = told([Value::Bytes(b"b"), Value::Bytes(&[1, 255])]);
        assert_eq!(bytes, told([Value::Bytes(&[1, 255]), Value::Text("b")]));
        assert!(bytes.contains("(X'01ff') (\"b\")"), "{bytes}");
    }

    #[test]
    fn rows_of_sql_are_sorted_and_changes_counted() {
        let mut rows = Rows::new();
        rows.reset(1);
        for cell in [Value::Int(2), Value::from(1.5), Value::Null, "a".into()] {
            rows.push(cell);
        }
        let select = sql("SELECT 1");
        assert!(is_unordered(&select));
        sort_rows(&mut rows);
        assert_eq!(format_answer(&select, 4, &rows), "4 rows: (null) (1.5) (2) (\"a\")");
        rows.reset(0);
        assert_eq!(format_answer(&select, 2, &rows), "2 changed");
        let upsert = sql("INSERT INTO t VALUES (1) on duplicate\nkey UPDATE a = 1");
        assert_eq!(format_answer(&upsert, 2, &rows), format_answer(&upsert, 1, &rows));
    }
}
