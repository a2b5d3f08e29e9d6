//! Reads a database that somebody else runs: its tables and rows, in one snapshot. It changes
//! nothing.

use std::ops::Range;

use crate::configuration::ReportedSettings;
use crate::external::panics::catch_panic;
use crate::{mysql, postgres, survey};

/// A table of the database, before it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableEstimate {
    /// Its name.
    pub name: String,
    /// The server's own estimate, if it has one.
    pub rows: Option<u64>,
    /// On the server's disk.
    pub bytes: u64,
}

/// Takes the values of a row: as texts, or as the bytes that the server holds.
pub type FieldsCallback<'a> = dyn FnMut(&[Option<&[u8]>]) -> Result<(), String> + 'a;

/// A connection that only reads. Every error is a message for the user, without a password.
pub trait DatabaseReader {
    /// The database's name: its URL without the password.
    fn name(&self) -> &str;

    /// All tables that the user may know of.
    fn estimate_tables(&mut self) -> Result<Vec<TableEstimate>, String>;

    /// Whether there is such a table. An error says why these columns of it can't be read.
    fn try_columns(&mut self, table: &str, columns: &[&str]) -> Result<bool, String>;

    /// From here on all rows are those of one moment.
    fn begin_snapshot(&mut self) -> Result<(), String>;

    /// Gives these columns of all rows, in any order. No other column is asked for.
    fn read_rows(
        &mut self,
        table: &str,
        columns: &[&str],
        take: &mut FieldsCallback<'_>,
    ) -> Result<(), String>;

    /// Its tables and indexes, as its own dump has them.
    fn describe_schema(&mut self) -> Result<String, String>;

    /// The statements that it has counted, each with its calls. The error says why there are none.
    fn list_statements(&mut self) -> Result<Vec<(String, u64)>, String>;

    /// The server's version, and every setting that the user may see.
    fn read_settings(&mut self) -> Result<ReportedSettings, String>;
}

/// Whether it is a URL, which a path is not.
pub fn is_url(text: &str) -> bool {
    text.contains("://")
}

/// Connects to the database of a URL.
///
/// # Errors
///
/// The URL is wrong, or the server refuses the session.
pub fn open_reader(url: &str) -> Result<Box<dyn DatabaseReader>, String> {
    let open = || match url.split_once("://") {
        Some(("mysql" | "mariadb", _)) => mysql::reader::open_reader(url),
        Some(("postgres" | "postgresql", _)) => postgres::reader::open_reader(url),
        _ => Err("a database's URL begins with mysql:// or postgres://".into()),
    };
    catch_panic(open).unwrap_or_else(|_| Err(survey::NO_SENSE.into()))
}

pub(crate) fn explain_broken(table: &str, what: &str) -> String {
    format!(
        "the server ended, or the connection broke, while {table} was read ({what}): nothing was \
         kept; run the command again when the server runs"
    )
}

/// Splits a line of PostgreSQL's `COPY … TO STDOUT` into the ranges of its values in `text`, which
/// takes their bytes; a null has none. The line has no end of line.
pub fn split_copy_line(line: &[u8], text: &mut Vec<u8>, fields: &mut Vec<Option<Range<usize>>>) {
    text.clear();
    fields.clear();
    for field in line.split(|byte| *byte == b'\t') {
        let start = text.len();
        if field == b"\\N" {
            fields.push(None);
            continue;
        }
        let mut rest = field;
        while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
            text.extend_from_slice(&rest[..at]);
            let (byte, length) = read_escape(&rest[at + 1..]);
            text.extend(byte);
            rest = &rest[at + 1 + length..];
        }
        text.extend_from_slice(rest);
        fields.push(Some(start..text.len()));
    }
}

/// The byte that stands behind a backslash, and the length of its name.
fn read_escape(rest: &[u8]) -> (Option<u8>, usize) {
    let digits = |from: usize, most: usize, radix: u32| {
        let of = rest.iter().skip(from).take(most);
        of.take_while(|byte| char::from(**byte).is_digit(radix)).count()
    };
    let number = |from: usize, length: usize, radix: u32| {
        let text = std::str::from_utf8(&rest[from..from + length]).unwrap_or_default();
        u32::from_str_radix(text, radix).ok().map(|number| number as u8)
    };
    match rest.first() {
        None => (None, 0),
        Some(b'b') => (Some(8), 1),
        Some(b'f') => (Some(12), 1),
        Some(b'n') => (Some(b'\n'), 1),
        Some(b'r') => (Some(b'\r'), 1),
        Some(b't') => (Some(b'\t'), 1),
        Some(b'v') => (Some(11), 1),
        Some(b'x') if digits(1, 2, 16) > 0 => {
            let length = digits(1, 2, 16);
            (number(1, length, 16), 1 + length)
        }
        Some(b'0'..=b'7') => {
            let length = digits(0, 3, 8);
            (number(0, length, 8), length)
        }
        Some(other) => (Some(*other), 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_copy_is_its_values() {
        let (mut text, mut fields) = (Vec::new(), Vec::new());
        let line = b"00012\t\\N\t\ta\\tb\\nc\\\\N\t\\x41\\101\\q\t\\\\x00ff\\";
        split_copy_line(line, &mut text, &mut fields);
        let found: Vec<Option<&[u8]>> =
            fields.iter().map(|it| it.clone().map(|range| &text[range])).collect();
        let expected: [Option<&[u8]>; 6] =
            [Some(b"00012"), None, Some(b""), Some(b"a\tb\nc\\N"), Some(b"AAq"), Some(b"\\x00ff")];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_no_url_of_a_database_is_refused_without_its_password() {
        for (url, said) in [
            ("http://me:secret@host/db", "mysql:// or postgres://"),
            ("postgres://me:sec@ret@host/db", "more than one @"),
            ("mysql://me:sec/ret@host/db", "before its @"),
            ("postgres://me:secret@host", "no database"),
            ("postgres://me:sec%4gret@host/db", "two hexadecimal digits"),
        ] {
            let told = open_reader(url).err().unwrap();
            assert!(told.contains(said) && !told.contains("ret"), "{told}");
        }
    }
}
